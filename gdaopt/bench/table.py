"""The tables of a study of solvers: a line a program, a line a solver, a line a whole run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.backends import ANALYTIC
from gdaopt.backends.catalogue import tolerance_options
from gdaopt.bench.judging import (
    SHIFT,
    VERDICTS,
    charged,
    mean_residual,
    shifted_geometric_mean,
)
from gdaopt.bench.options import BenchOptions, algorithm_of, version_of
from gdaopt.studies.versions import machine, versions
from gdaopt.support.text import markdown as markdown_text
from gdaopt.trace import relative_gap

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["STAGES", "markdown", "programs_frame", "runs_frame", "summary"]

Row = Mapping[str, Any]

STAGES = ("write", "canonicalize", "solve", "unpack")

_OF_CELL = ("data", "solver", "start", "tolerance", "repeat")
_GROUP = ["data", "program", "solver", "start", "tolerance"]
_FAILED = {"time_limit": "timed_out"}  # verdicts of all programs of a cell that did not end


def programs_frame(
    rows: Mapping[str, Row], lines: Mapping[str, Path], recorded: Mapping[str, Row], cap: float
) -> pd.DataFrame:
    """Return a line for each program of each cell, also for programs that were not reached.

    Rows of cells, and the parquet files that finished cells have written, are by key; rows of
    recordings are by the name of their data. A program that was not reached counts `cap` seconds.
    """
    import pandas as pd

    frames = []
    for key, row in rows.items():
        if "start" not in row:
            continue
        kinds = recorded[row["data"]]["kinds"]
        verdict, message = _FAILED.get(row["status"], "failed"), row["message"]
        found = pd.DataFrame()
        if row["status"] == "finished":
            found, verdict, message = pd.read_parquet(lines[key]), "unreached", ""
        left = range(len(found), len(kinds))
        rest = pd.DataFrame(
            {
                "index": list(left),
                "program": [kinds[i] for i in left],
                "verdict": verdict,
                "solver_status": "",
                "message": message,
                "residual": math.inf,
                "seconds": cap,
            }
        )
        whole = pd.concat([part for part in (found, rest) if len(part)], ignore_index=True)
        for position, name in enumerate(_OF_CELL):
            whole.insert(position, name, row[name])
        frames.append(whole)
    return pd.concat(frames, ignore_index=True)


def summary(programs: pd.DataFrame, options: BenchOptions) -> pd.DataFrame:
    """Return a line for each kind of programs, solver, start and tolerance of `programs_frame`."""
    import pandas as pd

    loosest = max(options.tolerances)
    lines = []
    for values, group in programs.groupby(_GROUP, sort=False):
        about: dict[str, Any] = dict(zip(_GROUP, values, strict=True))
        tolerance, solver = about["tolerance"], about["solver"]
        verified = group["verdict"] == "verified"
        in_time = group["verdict"].isin(("verified", "wrong", "inaccurate"))
        counts = group["verdict"].value_counts()
        # The median over repeats, program by program.
        seconds = (
            group.assign(charged=charged(group["seconds"], verified, options.cap))
            .groupby("index")["charged"]
            .median()
        )
        residual = group["residual"].where(in_time, math.inf)
        finite = residual[np.isfinite(residual)]
        lines.append(
            {
                **about,
                "version": version_of(solver),
                "algorithm": algorithm_of(solver),
                "options": _text(tolerance_options(solver, tolerance)),
                "programs": len(seconds),
                "verified_share": float(verified.mean()),
                f"share_within_{loosest:g}": float((residual <= loosest).mean()),
                **{name: int(counts.get(name, 0)) for name in VERDICTS},
                "mean_residual": mean_residual(residual, tolerance),
                "worst_residual": float(finite.max()) if len(finite) else math.inf,
                "restarts": int(group["restarts"].fillna(0).sum()) if "restarts" in group else 0,
                "mean_seconds": shifted_geometric_mean(seconds),
                **{
                    f"{name}_seconds": float(group[f"{name}_seconds"].median())
                    for name in (*STAGES, "reported")
                    if f"{name}_seconds" in group
                },
            }
        )
    frame = pd.DataFrame(lines)
    frame["machine"] = machine()
    for name, version in versions().items():
        frame[f"version_{name}"] = version
    return frame


def runs_frame(rows: Mapping[str, Row], recorded: Mapping[str, Row]) -> pd.DataFrame:
    """Return a line for each whole run, with its excess over the certified bound.

    The excess is a share of the objective. The rows of the recordings have the bounds.
    """
    import pandas as pd

    names = [
        *("data", "method", "solver", "tolerance", "objective", "excess", "iterations"),
        *("oracle_calls", "repair_distance", "seconds", "status", "message"),
    ]
    lines = []
    for row in rows.values():
        if "method" in row:
            bound, objective = recorded[row["data"]]["lower_bound"], row.get("objective")
            excess = None
            if bound is not None and objective is not None:
                excess = relative_gap(objective, bound)
            lines.append({name: {**row, "excess": excess}.get(name) for name in names})
    return pd.DataFrame(lines, columns=names)


def markdown(frame: pd.DataFrame, runs: pd.DataFrame, options: BenchOptions) -> str:
    """Return a page of the summary, in a table for each tolerance, data and kind, and the runs."""
    loosest = max(options.tolerances)
    used = ", ".join(f"{name} {version}" for name, version in versions().items())
    asked = " and ".join(f"{tolerance:g}" for tolerance in options.tolerances)
    lines = [
        "# Solvers on recorded programs",
        "",
        "Each program was solved again by each solver, which was asked for a tolerance by its own",
        "options where they are known (the column `options` of `summary.csv`). *Verified*: the",
        "point, as the solver returned it, is feasible and optimal up to the tolerance.",
        "*Wrong*: it is not, and the solver calls it optimal; *inaccurate*: nor does the solver.",
        "*Infeasible*: the solver calls the program infeasible, which none is. *ms*: shifted",
        f"geometric mean (shift {1e3 * SHIFT:g} ms) of the wall time of a call; a program that is",
        f"not verified counts {options.cap:g} s. *× analytic*: the ratio of these means.",
        "*Residual*: geometric mean, each at least the tolerance, 1 for a failure. Of the stages,",
        "*wrapper* is the median time outside of the solver's call, and *reported* the solver's",
        "own. *Cold*: everything anew; *re-solve*: what was compiled is kept; *hot*: started from",
        "the last answer.",
        "",
        f"Tolerances: {asked}. At most {options.most} programs of each kind, spread evenly over",
        f"those of a run of at most {options.steps} steps; repeats: {options.repeats}; budget of a",
        f"cell {options.budget:g} s. {machine()}. Versions: {used}.",
    ]
    heads = [
        *("solver", "version", "start", "verified", f"within {loosest:g}", "wrong", "inaccurate"),
        *("infeasible", "failed", "late", "worst residual", "residual", "ms", "× analytic"),
        *("wrapper ms", "reported ms"),
    ]
    for (data, program, tolerance), group in frame.groupby(
        ["data", "program", "tolerance"], sort=False
    ):
        reference = group.loc[group["solver"] == ANALYTIC, "mean_seconds"].min()
        title = f"{markdown_text(str(data))}, {program} programs, tolerance {tolerance:g}"
        lines += ["", f"## {title}", "", f"{group['programs'].iloc[0]} programs.", ""]
        lines += _table(heads, 3, _cells(group, reference, loosest))
    if len(runs):
        lines += [
            *("", "## Whole runs", ""),
            f"At most {options.steps} steps. *Excess*: over a certified lower bound of the",
            "optimum, as a share of the objective. *Moved*: the largest change that brought an",
            "answer back into its polytope.",
            "",
        ]
        names = ["data", "method", "solver", "tolerance", "excess", "steps", "moved", "seconds"]
        cells = [
            [
                *(markdown_text(str(row[name])) for name in ("data", "method", "solver")),
                f"{row['tolerance']:g}",
                "" if _missing(row["excess"]) else f"{100 * row['excess']:.3g} %",
                "" if _missing(row["iterations"]) else f"{row['iterations']:.0f}",
                "" if _missing(row["repair_distance"]) else f"{row['repair_distance']:.1e}",
                "" if _missing(row["seconds"]) else f"{row['seconds']:.3g}",
                str(row["status"]),
            ]
            for row in runs.to_dict("records")
        ]
        lines += _table([*names, "status"], 3, cells)
    return "\n".join(lines) + "\n"


def _cells(group: pd.DataFrame, reference: float, loosest: float) -> list[list[str]]:
    """Return the lines of one table as text, the fastest first."""
    cells = []
    for row in group.sort_values("mean_seconds").to_dict("records"):
        outside = sum(row[f"{name}_seconds"] for name in STAGES if name != "solve")
        reported = row["reported_seconds"]
        cells.append(
            [
                *(markdown_text(row[name]) for name in ("solver", "version", "start")),
                f"{100 * row['verified_share']:.1f} %",
                f"{100 * row[f'share_within_{loosest:g}']:.1f} %",
                *(str(row[name]) for name in ("wrong", "inaccurate", "infeasible", "failed")),
                str(row["timed_out"] + row["unreached"]),
                f"{row['worst_residual']:.1e}",
                f"{row['mean_residual']:.1e}",
                f"{1e3 * row['mean_seconds']:#.3g}",
                f"{row['mean_seconds'] / reference:#.3g}",
                "" if _missing(outside) else f"{1e3 * outside:#.3g}",
                "" if _missing(reported) else f"{1e3 * reported:#.3g}",
            ]
        )
    return cells


def _table(heads: list[str], words: int, cells: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table, whose first columns hold words."""
    rule = ["---" if position < words else "--:" for position in range(len(heads))]
    return [f"| {' | '.join(line)} |" for line in (heads, rule, *cells)]


def _missing(value: Any) -> bool:
    """Say whether a value of a frame is missing."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _text(options: Mapping[str, Any]) -> str:
    """Return options as text."""
    return ", ".join(f"{name}={value}" for name, value in options.items())
