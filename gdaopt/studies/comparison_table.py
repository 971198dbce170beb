"""The table of a comparison: as text for people, and as a data frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gdaopt.result import Result
from gdaopt.status import ENDS, FAILURES
from gdaopt.support.text import format_cell, latex_page, latex_table, markdown_table, percent
from gdaopt.support.text import markdown as markdown_text
from gdaopt.trace import relative_gap

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]

_KINDS = {
    **dict.fromkeys(("class", "method", "options", "solver"), "string"),
    **dict.fromkeys(("objective", "lower_bound", "excess"), "Float64"),
    **dict.fromkeys(("relative_gap", "eigenvalue_slack"), "Float64"),
    **dict.fromkeys(("components", "edges"), "Int64"),
    **dict.fromkeys(("seconds", "tracing_seconds"), "Float64"),
    **dict.fromkeys(("iterations", "oracle_calls", "eigen_decompositions"), "Int64"),
    "repair_distance": "Float64",
    "peak_memory": "Int64",
    **dict.fromkeys(("status", "message"), "string"),
}
"""The columns of the data frame with their types, which allow missing values."""

_LEGEND = (
    "excess: how far the objective can be above the optimum, by the largest lower bound that any "
    "method found and as a share of it; gap: the same by the method's own bound, as a share of the "
    "objective; "
    "λ_min - ρ: by how much the smallest eigenvalue exceeds its bound; comp: components of the "
    "metric's graph; edges: edges above the set's threshold; seconds: the time of the method, "
    "without the time that measuring it took (tracing s); steps: iterations of the method; oracle "
    "calls: linear minimisations, by a program or in closed form; eigen-decompositions: full ones, "
    "for projections; repair distance: how far the solver's last point was moved into the set "
    "(largest entry); MB: the most memory that its process held during the run, with Python and "
    "libraries (except on Linux, also during the runs before it)"
)


def add_excess(rows: Mapping[str, Row], results: Mapping[str, Result]) -> list[dict[str, Any]]:
    """Return the rows with their excess over the best lower bound of their class."""
    bounds: dict[str, float] = {}
    for key, result in results.items():
        if result.lower_bound is not None:
            name = rows[key]["class"]
            bounds[name] = max(bounds.get(name, -math.inf), result.lower_bound)
    whole = []
    for key, row in rows.items():
        excess = math.inf
        if key in results:
            excess = share_above(results[key].objective, bounds.get(row["class"]))
        whole.append({**row, "excess": excess if excess < math.inf else None})
    return whole


def share_above(objective: float, lower_bound: float | None) -> float:
    """Return how far an objective can be above its lower bound, as a share of the bound's size."""
    return math.inf if lower_bound is None else relative_gap(-lower_bound, -objective)


def to_pandas(rows: Sequence[Row]) -> pd.DataFrame:
    """Return all columns as a data frame; a value that a row lacks is missing in the frame."""
    import pandas as pd  # on demand: it is slow to import

    frame = pd.DataFrame([{name: row.get(name) for name in _KINDS} for row in rows], dtype=object)
    return frame.reindex(columns=list(_KINDS)).astype(_KINDS)


def spec_of(row: Row) -> str:
    """Return a row's method with its options."""
    return ":".join(filter(None, (row["method"], row["options"])))


def spec_among(row: Row, rows: Iterable[Row]) -> str:
    """Return a row's method, with its options if other rows of the method differ in them."""
    options = {other["options"] for other in rows if other["method"] == row["method"]}
    return str(spec_of(row) if options - {row["options"]} else row["method"])


def name_among(row: Row, rows: Iterable[Row]) -> str:
    """Return a row's method, with its options and its solver if other rows differ in them."""
    same = [row, *(other for other in rows if other["method"] == row["method"])]
    solvers = {other["solver"] for other in same if other["options"] == row["options"]}
    name = spec_among(row, same)
    return name if len(solvers) == 1 else f"{name}, {row['solver']}"


_NEAR = 1e-3  # above the optimum: less of it counts as reached
_SOLVERS = {"analytic": "closed form"}


def _as(form: str, name: str, scale: float = 1) -> Callable[[Row], str]:
    return lambda row: format_cell(f"{{:{form}}}", row.get(name), scale)


_COLUMNS: Mapping[str, Callable[[Row], str]] = {
    "class": lambda row: str(row["class"]),
    "method": spec_of,
    "solver": lambda row: str(row["solver"]),
    "objective": _as("#.7g", "objective"),
    "lower bound": _as("#.7g", "lower_bound"),
    "excess": _as(".1e", "excess"),
    "gap": _as(".1e", "relative_gap"),
    "λ_min - ρ": _as(".1e", "eigenvalue_slack"),
    "comp": _as("d", "components"),
    "edges": _as("d", "edges"),
    "seconds": _as("#.3g", "seconds"),
    "tracing s": _as("#.3g", "tracing_seconds"),
    "steps": _as("d", "iterations"),
    "oracle calls": _as("d", "oracle_calls"),
    "eigen-decompositions": _as("d", "eigen_decompositions"),
    "repair distance": _as(".1e", "repair_distance"),
    "MB": _as(".0f", "peak_memory", 1e-6),
    "status": lambda row: str(row["status"]),
}
_WORDS = ("class", "method", "solver", "status")  # columns of text; all others hold numbers
_OF_PAPERS = (
    *("method", "solver", "objective", "lower bound", "excess", "gap", "seconds", "steps"),
    "status",
)
"""The columns that a page of a paper has room for."""

BRIEF = {"method": False, "solver": False, "objective": True, "above\noptimum": True}
BRIEF |= {"seconds": True, "how it ended": False}
"""The columns for a terminal, and whether they hold numbers."""


def brief_cells(row: Row, rows: Iterable[Row]) -> list[str]:
    """Return the cells of `BRIEF` of a row of `add_excess`, which is one of the rows."""
    excess = row.get("excess")
    return [
        spec_among(row, rows),
        _SOLVERS.get(str(row["solver"]), str(row["solver"])),
        _COLUMNS["objective"](row),
        "" if excess is None else percent(excess),
        _COLUMNS["seconds"](row),
        ENDS.get(str(row["status"]), str(row["status"])),
    ]


def verdict(rows: Sequence[Row]) -> str | None:
    """Return how far above the optimum the methods end, or how soon they reach it; in a sentence.

    It speaks of the methods that ended for all classes.
    """
    names = dict.fromkeys(name_among(row, rows) for row in rows)
    ended = {name: [row for row in rows if name_among(row, rows) == name] for name in names}
    far, near = {}, {}
    for name, same in ended.items():
        excess = [row["excess"] for row in same if row.get("excess") is not None]
        if len(excess) < len(same):
            continue
        if max(excess) > _NEAR:
            low, high = percent(min(excess)).removesuffix(" %"), percent(max(excess))
            far[name] = high if f"{low} %" == high else f"{low} to {high}"
        else:
            near[name] = sum(row["seconds"] for row in same)
    above = [f"{name} {shares}" for name, shares in far.items()]
    soonest = sorted(near, key=near.__getitem__)
    reached = [f"{name} in {near[name]:.2g} s" for name in soonest]
    parts = [f"above the optimum end {', '.join(above)}"] if above else []
    parts += [f"the optimum is reached by {', '.join(reached)}"] if reached else []
    sentence = "; ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}" if sentence else None


def markdown(rows: Sequence[Row], title: str, statement: str, left_out: Sequence[str]) -> str:
    """Return a page with a table of `add_excess` for each class."""
    names = [name for name in _COLUMNS if name != "class"]
    lines = [f"# {markdown_text(title)}: methods compared", "", markdown_text(statement), ""]
    for label in dict.fromkeys(row["class"] for row in rows):
        same = [row for row in rows if row["class"] == label]
        cells = [[markdown_text(_COLUMNS[name](row)) for name in names] for row in same]
        lines += [f"## {markdown_text(label)}", ""]
        lines += markdown_table(names, cells, _WORDS)
        notes = [row for row in same if "objective" not in row or row["status"] in FAILURES]
        lines += ["", *(_note(row) for row in notes), *([""] if notes else [])]
    lines += [f"{_LEGEND[0].upper()}{_LEGEND[1:]}.", ""]
    if left_out:
        lines += ["Left out, since they do not go together:", ""]
        lines += [*(f"* {markdown_text(sentence)}" for sentence in left_out), ""]
    return "\n".join(lines)


def latex(rows: Sequence[Row], title: str) -> str:
    """Return a table of LaTeX for each class, with the columns that a page has room for."""
    tables = []
    for label in dict.fromkeys(row["class"] for row in rows):
        same = [row for row in rows if row["class"] == label]
        cells = [[_COLUMNS[name](row) for name in _OF_PAPERS] for row in same]
        tables.append(latex_table(_OF_PAPERS, cells, _WORDS, f"{title}, {label}."))
    return latex_page(tables)


def _note(row: Row) -> str:
    again = "; run the same command again to try it again" if row["status"] == "died" else ""
    where = f"{spec_of(row)}, {row['solver']}"
    return f"* {markdown_text(where)}: {row['status']}: {markdown_text(row['message'])}{again}"
