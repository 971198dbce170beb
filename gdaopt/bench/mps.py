"""MPS files: written to the last bit, and read as HiGHS reads them.

A file that HiGHS reads as another program is refused.
HiGHS reads on where a file is damaged, and leaves out what it does not understand. It says most of
that in warnings in its log. Of numbers that are none, of variables that only bounds name, and of
files that are cut it says nothing, and so the lines are checked as well.
"""

from __future__ import annotations

import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array

from gdaopt.backends import LinearArrays
from gdaopt.backends.highspy import load_highspy
from gdaopt.errors import InvalidInputError
from gdaopt.support.files import DamagedError, allowance, unpack
from gdaopt.support.text import cut, plain, reason, shortened

MPS_ENDING = re.compile(r"\.mps(\.gz)?$", re.IGNORECASE)
"""How the names of MPS files end."""

_LONGEST = 300  # characters of HiGHS' words in a message
_SMALLEST = 1e-12  # of coefficients: HiGHS takes no smaller value of its option
# HiGHS 1.16 says without a mark before it that bounds contradict each other.
_COMPLAINT = re.compile(r"^(?:WARNING:|ERROR:|(?=.*inconsistent bounds))(.+)$", re.MULTILINE)
_FIXED_FORMAT = "fixed format"  # in warnings that names have blanks; these alone are no complaints
_FIELDS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))  # of lines in fixed format
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([ed][+-]?\d+)?|inf(inity)?)", re.IGNORECASE)
_WITHOUT_NUMBER = ("FR", "MI", "PL", "BV")  # types of bounds


class MpsProgram(NamedTuple):
    """What a file says: the linear relaxation, to be minimised, and how its values are counted.

    The value in the file's words is `sign` times the cost plus `constant`; the sign is -1 where the
    file maximises.
    """

    arrays: LinearArrays
    sign: float
    constant: float


def read_mps(path: Path) -> MpsProgram:
    """Return the program of an MPS file; refuse one that HiGHS reads as another program."""
    highspy = load_highspy()
    try:
        content = unpack(path.read_bytes(), allowance(path)).removeprefix(BOM_UTF8)
    except (OSError, DamagedError) as error:
        raise InvalidInputError(
            f"{path} cannot be read: {reason(error)}; copy or download it again"
        ) from error
    model: Any = highspy.Highs()
    with TemporaryDirectory() as folder:
        file, log = Path(folder) / "model.mps", Path(folder) / "log.txt"
        file.write_bytes(content)
        model.setOptionValue("log_to_console", False)
        model.setOptionValue("log_file", str(log))
        model.setOptionValue("small_matrix_value", _SMALLEST)
        status = model.readModel(str(file))
        model.setOptionValue("log_file", "")  # which closes it
        said = log.read_text("utf-8", errors="replace").replace(str(file), path.name)
    complaints: list[str] = _COMPLAINT.findall(said)
    if status == highspy.HighsStatus.kError:
        raise InvalidInputError(f"{path} is no MPS file that HiGHS can read: {_join(complaints)}")
    if any(_FIXED_FORMAT not in complaint for complaint in complaints):
        raise InvalidInputError(
            f"{path} says other things than HiGHS reads: {_join(complaints)}; correct the file"
        )
    lp = model.getLp()
    misread = next(_misread(content.decode("latin-1"), bool(complaints)), None)
    if misread is not None:
        raise InvalidInputError(f"{path}{misread}")
    whole = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
    if any(kind not in whole for kind in lp.integrality_):
        raise InvalidInputError(
            f"{path} has semi-continuous variables; only linear programs are compared: give them "
            "bounds of the types LO and UP"
        )
    if model.getModel().hessian_.dim_:
        raise InvalidInputError(f"{path} has a quadratic objective; only linear ones are compared")
    sign = -1.0 if lp.sense_ == highspy.ObjSense.kMaximize else 1.0
    columns = lp.a_matrix_
    parts: Any = tuple(map(np.array, (columns.value_, columns.index_, columns.start_)))
    try:
        arrays = LinearArrays.of(
            sign * np.array(lp.col_cost_),
            csc_array(parts, shape=(lp.num_row_, lp.num_col_)),
            np.array(lp.row_lower_),
            np.array(lp.row_upper_),
            np.array(lp.col_lower_),
            np.array(lp.col_upper_),
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}; correct the file") from error
    return MpsProgram(arrays, sign, float(lp.offset_))


def _join(complaints: list[str]) -> str:
    return cut(plain("; ".join(" ".join(one.split()) for one in complaints)), _LONGEST)


def _misread(text: str, is_fixed: bool) -> Iterator[str]:
    """Yield what HiGHS reads as something else without a word, with its line."""
    section, objective, variables, free_rows = "", "", set[str](), list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        words, where = line.split(), f", line {number}: "
        if not words or line.startswith("*") or "'MARKER'" in words:
            continue
        if len(words) == 1:
            objective = words[0] if section == "OBJNAME" else objective
            section = words[0]
            continue
        fields = [line[start:end].strip() for start, end in _FIELDS] if is_fixed else words
        fields = [field for field in fields if field] or words
        if is_fixed and "\t" in line:
            yield f"{where}HiGHS reads no tabs where names have blanks; write blanks instead"
        elif words[0] == "OBJSENSE" and words[1] not in ("MIN", "MAX"):
            yield f"{where}HiGHS takes no {shortened(words[1])} here; write MIN or MAX"
        elif section == "ROWS" and fields[0] == "N":
            free_rows.append(fields[-1])
            if objective not in ("", free_rows[0]):
                yield f"{where}HiGHS takes it for the objective; put {objective} before it"
        elif section == "COLUMNS":
            variables.add(fields[0])
        elif section == "RHS" and not set(free_rows[1:]).isdisjoint(fields):
            yield f"{where}HiGHS takes it for the constant of the objective; leave it out"
        elif section == "BOUNDS" and variables.isdisjoint(fields):
            yield f"{where}it names no variable of COLUMNS; correct the name"
        if section in ("COLUMNS", "RHS", "RANGES") and len(fields) > 5:
            yield f"{where}HiGHS reads two of its entries; write each in a line of its own"
        for value in _numbers(section, fields):
            if not _NUMBER.fullmatch(value):
                yield f"{where}{shortened(value)} is no number; correct it"
    if section != "ENDATA":
        yield " ends without ENDATA: a part is missing; copy or download it again"


def _numbers(section: str, fields: list[str]) -> list[str]:
    """Return the fields of a line that have to be numbers."""
    if section == "BOUNDS":
        return [] if fields[0] in _WITHOUT_NUMBER else fields[-1:]
    if section == "COLUMNS":
        return fields[2::2]
    # The name of the right-hand sides, or of the ranges, may be missing.
    return fields[1 + len(fields) % 2 :: 2] if section in ("RHS", "RANGES") else []


# --- Writing --------------------------------------------------------------------------------------


def mps_text(arrays: LinearArrays, name: str) -> str:
    """Return the text of an MPS file; numbers read back to the last bit, but for rounded ranges.

    HiGHS writes 15 digits before its version 1.16, and drops coefficients up to 1e-9.
    """
    return "\n".join([f"NAME {name}", *_mps_lines(arrays), "ENDATA"])


def _mps_lines(arrays: LinearArrays) -> Iterator[str]:
    rows = [*zip(arrays.row_lower.tolist(), arrays.row_upper.tolist(), strict=True)]
    kinds = [_row_kind(low, high) for low, high in rows]
    yield from ("ROWS", " N cost")
    yield from (f" {kind} r{i}" for i, kind in enumerate(kinds))
    yield "COLUMNS"
    columns = arrays.matrix.tocsc()
    for j, cost in enumerate(arrays.cost.tolist()):
        yield f" c{j} cost {cost!r}"
        entries = slice(columns.indptr[j], columns.indptr[j + 1])
        for i, value in zip(columns.indices[entries], columns.data[entries].tolist(), strict=True):
            if value:
                yield f" c{j} r{i} {value!r}"
    yield "RHS"
    for i, (kind, (low, high)) in enumerate(zip(kinds, rows, strict=True)):
        if kind != "N":
            yield f" rhs r{i} {(high if kind == 'L' else low)!r}"
    yield "RANGES"
    for i, (kind, (low, high)) in enumerate(zip(kinds, rows, strict=True)):
        if kind == "G" and math.isfinite(high):
            yield f" ranges r{i} {high - low!r}"
    yield "BOUNDS"
    for j, (low, high) in enumerate(zip(arrays.lower.tolist(), arrays.upper.tolist(), strict=True)):
        if low == high:
            yield f" FX bounds c{j} {low!r}"
            continue
        if low:
            yield f" LO bounds c{j} {low!r}" if math.isfinite(low) else f" MI bounds c{j}"
        yield f" UP bounds c{j} {high!r}" if math.isfinite(high) else f" PL bounds c{j}"


def _row_kind(low: float, high: float) -> str:
    if low == high:
        return "E"
    return "G" if math.isfinite(low) else "L" if math.isfinite(high) else "N"
