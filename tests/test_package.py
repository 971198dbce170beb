"""What `import gdaopt` costs, and what it offers."""

import subprocess
import sys

import gdaopt


def test_import_loads_nothing_that_is_not_used() -> None:
    solvers = ("clarabel", "cvxpy", "ecos", "highspy")
    others = ("matplotlib", "pandas", "psutil", "sklearn", "threadpoolctl", "unlzw3")
    of_scipy = ("scipy.optimize", "scipy.sparse.linalg", "scipy.spatial", "scipy.special")
    own = ("gdaopt.datasets", "gdaopt.plotting")
    heavy = (*solvers, *others, *of_scipy, *own)
    # An older SciPy loads some of its other packages with `scipy.sparse`.
    code = (
        "import scipy.sparse, sys; before = set(sys.modules); import gdaopt; "
        f"print(*[name for name in {heavy} if name in sys.modules and name not in before])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_the_door_is_small() -> None:
    """What a first week needs; the rest is in the packages."""
    assert len(gdaopt.__all__) <= 44
    assert {"errors", "estimators", "methods", "programs", "solve"} <= set(gdaopt.__all__)
