"""Linear programs of others, to compare solvers on: by arrays, and in MPS files.

Each gets a reference before any solver is timed: the answer of HiGHS, whose multipliers have to
prove that it is optimal, and which has to have the optimum that a manifest states.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from gdaopt.backends import LinearArrays
from gdaopt.backends.highspy import HighsModel, load_highspy
from gdaopt.bench.recorded import LinearPolytope, RecordedProgram
from gdaopt.errors import InvalidInputError
from gdaopt.support.files import parse_json
from gdaopt.support.text import shortened
from gdaopt.support.validation import check_instance, number

_PROVEN = 1e-7  # of the largest bound, or of the value's terms: how accurate references are
_STATED = 1e-6  # of the value's terms: how near stated optima have to be to these


def given_program(arrays: LinearArrays, name: str, optimum: float | None = None) -> RecordedProgram:
    """Return a program with its reference; refuse one whose optimum cannot be proven."""
    check_instance(name, arrays, LinearArrays)
    solved = HighsModel({}).minimize(arrays, hot=False)
    if solved.status != "optimal":
        raise InvalidInputError(
            f"{name} has no reference: HiGHS calls it {solved.status}; leave it out"
        )
    off = arrays.residuals(solved.point, solved.row_duals)
    finite = [bounds[np.isfinite(bounds)] for bounds in (arrays.lower_bounds, arrays.upper_bounds)]
    largest = float(np.abs(np.concatenate([[1.0], *finite])).max())
    if not max(off.feasibility / largest, abs(off.gap)) <= _PROVEN:
        raise InvalidInputError(
            f"{name} has no reference: HiGHS' answer breaks a bound by {off.feasibility:.3g}, and "
            f"its multipliers leave a gap of {off.gap:.3g}; leave it out"
        )
    terms = arrays.cost * solved.point
    value, size = float(terms.sum()), max(float(np.abs(terms).sum()), 1.0)
    if optimum is not None and not abs(value - optimum) <= _STATED * size:
        raise InvalidInputError(
            f"{name} has the optimum {value!r}, as multipliers prove, and not {optimum!r}, as is "
            "stated; correct the manifest"
        )
    polytope = LinearPolytope(
        arrays.lower_bounds,
        arrays.upper_bounds,
        arrays.pattern.starts,
        arrays.pattern.columns,
        arrays.coefficients,
        solved.point,
    )
    return RecordedProgram(
        kind="linear", cost=arrays.cost, polytope=polytope, point=solved.point, gap=0.0
    )


def read_mps(path: Path) -> tuple[LinearArrays, float]:
    """Return the linear relaxation that an MPS file holds, to be minimised, and its constant."""
    highspy = load_highspy()
    model: Any = highspy.Highs()
    model.setOptionValue("log_to_console", False)
    if model.readModel(str(path)) == highspy.HighsStatus.kError:
        raise InvalidInputError(f"{path} is no MPS file that HiGHS can read")
    if model.getModel().hessian_.dim_:
        raise InvalidInputError(f"{path} has a quadratic objective; only linear ones are compared")
    lp = model.getLp()
    sign = -1.0 if lp.sense_ == highspy.ObjSense.kMaximize else 1.0
    columns = lp.a_matrix_
    parts: Any = tuple(map(np.array, (columns.value_, columns.index_, columns.start_)))
    return LinearArrays.of(
        sign * np.array(lp.col_cost_),
        csc_array(parts, shape=(lp.num_row_, lp.num_col_)),
        np.array(lp.row_lower_),
        np.array(lp.row_upper_),
        np.array(lp.col_lower_),
        np.array(lp.col_upper_),
    ), sign * float(lp.offset_)


def read_folder(folder: Path) -> list[RecordedProgram]:
    """Return the programs of a folder of MPS files, in order, with their references.

    A ``manifest.json`` with ``{"programs": [{"file": …, "optimum": …}, …]}`` says which files, in
    which order, and the optima that are known. Else a file that ends with ``.test`` names them, as
    in the series of the MIP workshop's competition of 2023; else all are taken, by name. Integers
    are taken for real numbers.
    """
    programs = []
    for path, stated in _listed(folder):
        if not path.is_file():
            raise InvalidInputError(f"{folder} names {path.name}, which is not there")
        arrays, constant = read_mps(path)
        optimum = None if stated is None else stated - constant
        programs.append(given_program(arrays, str(path), optimum))
    if not programs:
        raise InvalidInputError(f"{folder} has no files that end with .mps or .mps.gz")
    return programs


def _listed(folder: Path) -> Sequence[tuple[Path, float | None]]:
    """Return the files of a folder in order, with the optima that are known."""
    manifest = folder / "manifest.json"
    if manifest.is_file():
        try:
            entries = parse_json(manifest.read_text(encoding="utf-8"))["programs"]
            return [(folder / str(one["file"]), _stated(one.get("optimum"))) for one in entries]
        except (LookupError, TypeError, AttributeError, json.JSONDecodeError) as error:
            raise InvalidInputError(
                f'{manifest} must have the form {{"programs": [{{"file": …, "optimum": …}}, …]}}, '
                f"got {shortened(manifest.read_text(encoding='utf-8'))}"
            ) from error
    names: Iterable[str] = (path.name for path in folder.glob("*.mps*"))
    for series in sorted(folder.glob("*.test")):
        names = [Path(word).name for word in series.read_text(encoding="utf-8").split()]
        return [(folder / name, None) for name in names if _is_mps(name)]
    return [(folder / name, None) for name in sorted(names) if _is_mps(name)]


def _stated(optimum: object) -> float | None:
    """Return an optimum of a manifest."""
    return None if optimum is None else number("an optimum of the manifest", optimum)


def _is_mps(name: str) -> bool:
    """Say whether a file is one, by its name."""
    return re.search(r"\.mps(\.gz)?$", name) is not None
