"""A small linear program as an MPS file."""


def mps(demand: float = 1.0, constant: float = 7.0) -> str:
    """Return a program of two variables, each entry in a line of its own, to be damaged alone."""
    return f"""NAME MINE
ROWS
 N  COST
 L  R1
 G  R2
COLUMNS
    X1  COST  -1.5
    X1  R1  1.0
    X1  R2  1.0
    X2  COST  2.0
    X2  R1  2.0
    X2  R2  1.0
RHS
    RHS  R1  4.0
    RHS  R2  {demand}
    RHS  COST  {-constant}
BOUNDS
 UP BND X1 0.5
ENDATA
"""
