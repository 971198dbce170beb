"""MPS files as people have them: read as they were written, or refused with the reason."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from gdaopt.bench import ProgramSequence
from gdaopt.bench.recorded import save_programs
from gdaopt.errors import InvalidInputError
from tests.bench.cases import mps

GOOD = mps()


def optimum(sign: float = 1.0, **changed: object) -> float:
    """Return SciPy's optimum of the program above, with changed bounds or rows."""
    given: dict[str, Any] = {
        "A_ub": [[1, 2], [-1, -1]],
        "b_ub": [4, -1],
        "bounds": [(0, 0.5), (0, None)],
    }
    solved = linprog(sign * np.array([-1.5, 2.0]), **(given | changed))
    return sign * float(solved.fun) + 7.0


def fixed_format(text: str) -> str:
    """Return a file with its names in the columns of fixed format, each with a blank in it."""
    lines = []
    for line in text.splitlines():
        words = [re.sub(r"^([XR])(\d)$", r"\1 \2", word) for word in line.split()]
        if len(words) < 2 or words[0] == "NAME":
            lines.append(line)
        elif words[0] in ("UP", "N", "L", "G"):
            lines.append(f" {words[0]:<2} " + "  ".join(f"{word:<8}" for word in words[1:]))
        else:
            lines.append("    " + "  ".join(f"{word:<8}" for word in words))
    return "\n".join(lines) + "\n"


def with_line(after: str, line: str) -> str:
    assert after in GOOD
    return GOOD.replace(after, f"{after}\n{line}", 1)


def instead(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


MARKED = GOOD.replace("COLUMNS\n", "COLUMNS\n    M  'MARKER'  'INTORG'\n").replace(
    "RHS\n", "    M  'MARKER'  'INTEND'\nRHS\n", 1
)
READ = {
    "as it is": (GOOD, optimum()),
    "fixed format": (fixed_format(GOOD), optimum()),
    "no names of sets": (re.sub(r"(RHS|BND) +(R\d|COST|X1)", r"\2", GOOD), optimum()),
    "lines of Windows": (GOOD.replace("\n", "\r\n"), optimum()),
    "a mark of the byte order": ("\ufeff" + GOOD.removeprefix("NAME MINE\n"), optimum()),
    "accents": (GOOD.replace("X1", "Prämie"), optimum()),
    "what is maximised": (instead("ROWS\n", "OBJSENSE\n    MAX\nROWS\n"), optimum(-1.0)),
    "in one line": (instead("ROWS\n", "OBJSENSE MAX\nROWS\n"), optimum(-1.0)),
    "exponents of Fortran": (instead("R1  2.0", "R1  2.0D0"), optimum()),
    "a free row": (
        with_line(" N  COST", " N  OTHER").replace("X1  R1", "X1 OTHER 3.0 R1"),
        optimum(),
    ),
    "no bound as 1e30": (instead("X1 0.5", "X1 1e30"), optimum(bounds=[(0, None), (0, None)])),
    "a range": (
        with_line("-7.0", "RANGES\n    RNG  R1  1.0"),
        optimum(A_ub=[[1, 2], [-1, -1], [-1, -2]], b_ub=[4, -1, -3]),
    ),
    "no lower bound": (
        with_line(" UP BND X1 0.5", " MI BND X1\n LO BND X2 3"),
        optimum(bounds=[(None, 0.5), (3, None)]),
    ),
    "integers, as real numbers": (MARKED, optimum(bounds=[(0, 0.5), (0, 1)])),
    "tiny coefficients": (
        instead("X1  R1  1.0", "X1  R1  1e-10"),
        optimum(A_ub=[[0, 2], [-1, -1]]),
    ),
}


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("ending", [".mps", ".MPS.GZ"])
def test_what_is_right_is_solved(name: str, ending: str, tmp_path: Path) -> None:
    """To the optimum that SciPy finds, as the author counts it; a manifest can state it."""
    text, value = READ[name]
    content = text.encode()
    file = tmp_path / f"my file{ending}"
    file.write_bytes(gzip.compress(content) if ending == ".MPS.GZ" else content)
    (program,) = ProgramSequence.from_mps(tmp_path).programs
    assert program.value == pytest.approx(value, rel=1e-9)
    stated: dict[str, Any] = {"programs": [{"file": file.name, "optimum": value}]}
    (tmp_path / "manifest.json").write_text(json.dumps(stated))
    again = ProgramSequence.from_mps(tmp_path)
    assert again.programs[0].value == program.value
    path = save_programs(tmp_path / "kept.npz", again.programs)
    assert ProgramSequence.from_recorded(path).programs[0].value == program.value
    stated["programs"][0]["optimum"] = -value
    (tmp_path / "manifest.json").write_text(json.dumps(stated))
    says = re.escape(f"has the optimum {program.value!r}, as multipliers prove, and not {-value!r}")
    with pytest.raises(InvalidInputError, match=says):
        ProgramSequence.from_mps(tmp_path)


FIXED = fixed_format(GOOD)
DAMAGED = {
    # What HiGHS warns of in its log
    "an undefined row": (
        instead("X2  R1  2.0\n    X2  R2", "X2 R1 2.0 R9"),
        'Row name "R9" in COLUMNS section is not defined',
    ),
    "an undefined row alone": (instead("X2  R2", "X2  R9"), "exceeds fixed format name length"),
    "an undefined right-hand side": (instead("RHS  R2", "RHS  R9"), '"R9" in RHS section is not'),
    "an undefined range": (with_line("-7.0", "RANGES\n    RNG  R9  1.0"), '"R9" in RANGES section'),
    "a coefficient twice": (with_line("X2  R2  1.0", "    X2  R2  5.0"), "duplicate nonzero 5 in"),
    "a cost twice": (with_line("X2  COST  2.0", "    X2  COST  5.0"), "1 duplicate cost values"),
    "two right-hand sides": (with_line("RHS  R1  4.0", "    RHS2  R1  3.0"), "duplicate value 3"),
    "a bound twice": (with_line("X1 0.5", " UP BND X1 0.75"), "duplicate upper bound definition"),
    "a row twice": (with_line(" G  R2", " L  R2"), 'have the same name "R2"'),
    "a variable twice": (with_line("X2  R2  1.0", "    X1  R2  3.0"), 'have the same name "X1"'),
    "names with blanks": (re.sub(r"([XR])(\d)", r"\1 \2", GOOD), "with row not in ROWS"),
    "comments": (instead("X1  COST  -1.5", "X1  COST  -1.5 $ a comment"), 'Row name "$"'),
    "coefficients of 1e-13": (
        instead("R2  1.0\nRHS", "R2  1e-13\nRHS"),
        "1 |value| in [1e-13, 1e-13]",
    ),
    # Its errors
    "special ordered sets": (
        instead("ENDATA", "SOS\n S1 SOS SOS1 5\nENDATA"),
        "SOS not supported by HiGHS",
    ),
    "an unknown bound": (instead(" UP", " XX"), 'section of MPS file is of type "XX"'),
    "coefficients of 1e30": (
        instead("R2  1.0\nRHS", "R2  1e30\nRHS"),
        "1 |value| in [1e+30, 1e+30]",
    ),
    "nothing": ("", "Parser error reading a.mps"),
    "the half": (GOOD[: len(GOOD) // 2], "Parser error reading a.mps"),
    # What it reads without a word
    "semi-continuous": (instead(" UP", " SC"), "semi-continuous variables"),
    "semi-integer": (instead(" UP BND X1 0.5", " SI BND X1 2"), "semi-continuous variables"),
    "a bound of no variable": (instead("BND X1", "BND X9"), "line 18: it names no variable"),
    "text in the place of a number": (instead("X2  R2  1.0", "X2  R2  x"), "line 12: 'x' is no"),
    "a decimal comma": (instead("X1 0.5", "X1 0,5"), "line 18: '0,5' is no number"),
    "a right-hand side of text": (instead("R1  4.0", "R1  4.o"), "line 14: '4.o' is no number"),
    "nan": (instead("X1  COST  -1.5", "X1  COST  nan"), "line 7: 'nan' is no number"),
    "three entries": (
        instead("X1  R1  1.0\n    X1  R2  1.0", "X1 R1 1 R2 1 COST 0"),
        "line 8: HiGHS reads two of its entries",
    ),
    "another word for MAX": (
        instead("ROWS\n", "OBJSENSE MAXIMIZE\nROWS\n"),
        "line 2: HiGHS takes no 'MAXIMIZE' here; write MIN or MAX",
    ),
    "another objective": (
        with_line(" N  COST", " N  OTHER").replace("ROWS\n", "OBJNAME\n    OTHER\nROWS\n"),
        "line 5: HiGHS takes it for the objective; put OTHER before it",
    ),
    "a right-hand side of a free row": (
        with_line(" N  COST", " N  OTHER").replace("RHS  COST", "RHS  OTHER"),
        "line 17: HiGHS takes it for the constant",
    ),
    "the half in fixed format": (FIXED[: FIXED.index("RHS")], "ends without ENDATA"),
    "a comma in fixed format": (FIXED.replace("0.5", "0,5"), "'0,5' is no number"),
    "tabs in fixed format": (
        FIXED.replace("    X 1  ", "\tX 1     "),
        "line 7: HiGHS reads no tabs",
    ),
    "an infinite cost": (instead("COST  2.0", "COST  1e30"), "cost holds inf"),
    "an upper bound below 0": (
        instead("X1 0.5", "X1 -0.5"),
        "has inconsistent bounds [ 0, -0.5]; correct",
    ),
    "a quadratic objective": (
        instead("ENDATA", "QUADOBJ\n    X1  X1  1.0\nENDATA"),
        "has a quadratic objective",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_damaged_is_refused(name: str, tmp_path: Path) -> None:
    """In one sentence, with the name of the file, and HiGHS' words where it has any."""
    text, says = DAMAGED[name]
    file = tmp_path / "a.mps"
    file.write_bytes(text.encode())
    with pytest.raises(InvalidInputError, match=re.escape(says)) as caught:
        ProgramSequence.from_mps(tmp_path)
    message = str(caught.value)
    assert message.startswith(str(file))
    assert "model.mps" not in message
    assert "\n" not in message


def test_packed_files_that_are_cut(tmp_path: Path) -> None:
    content = gzip.compress(GOOD.encode())
    (tmp_path / "a.mps.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(InvalidInputError, match=r"a\.mps\.gz cannot be read: .*; copy or download"):
        ProgramSequence.from_mps(tmp_path)
    (tmp_path / "a.mps.gz").write_bytes(content)
    assert ProgramSequence.from_mps(tmp_path).programs[0].value == pytest.approx(optimum())
