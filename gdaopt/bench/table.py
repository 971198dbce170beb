"""How solvers are judged, and the tables of a study: a line a program, a solver, a whole run.

Solvers are judged by residuals at the point, not by the status that they report. A program is
*verified* when the point, as the solver returned it, is feasible and optimal up to the tolerance
that was asked. All else counts as if it had taken the cap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from gdaopt.bench.replayed import Replayed
from gdaopt.bench.sequences import BenchOptions
from gdaopt.studies.named_options import SolverSpec
from gdaopt.studies.study_directory import machine, versions
from gdaopt.support.text import format_cell, latex_page, latex_table, markdown_table
from gdaopt.support.text import markdown as markdown_text
from gdaopt.support.validation import FloatArray
from gdaopt.trace import relative_gap

if TYPE_CHECKING:
    import pandas as pd

SHIFT = 1e-3
"""Seconds that are added to times before their geometric mean. These programs take about 1 ms; the
10 s that is common for large ones would make all solvers alike."""

VERDICTS = ("verified", "wrong", "inaccurate", "infeasible", "failed", "timed_out", "unreached")
"""What can be said of one answer. *Wrong*: called optimal, and not within the tolerance.
*Inaccurate*: not within the tolerance, and not called optimal either. *Infeasible*: the solver
calls the program so, which none is. *Unreached*: the budget of the cell was used up before."""

Row = Mapping[str, Any]
STAGES = ("write", "canonicalize", "solve", "unpack")
_OUTSIDE = [name for name in STAGES if name != "solve"]
_OF_CELL = ("data", "solver", "start", "tolerance")
_GROUP = ["data", "program", "solver", "start", "tolerance"]
_WORDS = ("solver", "version", "start")  # columns of text; all others hold numbers
_OF_PAPERS = ("solver", "start", "verified", "residual", "ms", "× best", "solve ms", "wrapper ms")
_FAILED = {"time_limit": "timed_out"}  # verdicts of all programs of a cell that did not end


def verdict(replayed: Replayed, tolerance: float, cap: float) -> str:
    """Return what is to be said of an answer, one of `VERDICTS`."""
    if replayed.seconds.total > cap:
        return "timed_out"
    if replayed.calls_infeasible:
        return "infeasible"
    if replayed.failure or replayed.answer is None:
        return "failed"
    if replayed.is_verified(tolerance):
        return "verified"
    return "wrong" if replayed.answer.status == "optimal" else "inaccurate"


def charge_cap(seconds: npt.ArrayLike, verified: npt.ArrayLike, cap: float) -> FloatArray:
    """Return the seconds that count: the cap for all that is not verified."""
    return np.where(np.asarray(verified, bool), np.asarray(seconds, float), cap)


def shifted_geometric_mean(values: npt.ArrayLike, shift: float = SHIFT) -> float:
    """Return the geometric mean of the values plus a shift, minus the shift; NaN of none."""
    array = np.asarray(values, dtype=np.float64)
    if not len(array):
        return float("nan")
    # log1p and expm1 keep what is small beside the shift.
    mean = shift * np.expm1(np.log1p(array / shift).mean())
    return float(np.clip(mean, array.min(), array.max()))  # equal times have this mean exactly


def confidence_interval(values: npt.ArrayLike, shift: float = SHIFT) -> tuple[float, float]:
    """Return the 95 % interval of the shifted geometric mean, by Student's t; NaN of fewer than 2.

    It is the interval of programs like these, as if they had been drawn one by one.
    """
    logarithms = np.log1p(np.asarray(values, dtype=np.float64) / shift)
    count = len(logarithms)
    if count < 2:
        return math.nan, math.nan
    margin = stdtrit(count - 1, 0.975) * logarithms.std(ddof=1) / math.sqrt(count)
    low, high = (shift * np.expm1(logarithms.mean() + side * margin) for side in (-1, 1))
    return max(float(low), 0.0), float(high)


def mean_residual(residuals: npt.ArrayLike, tolerance: float) -> float:
    """Return the geometric mean of residuals between the tolerance and 1, that of failures."""
    array = np.nan_to_num(np.asarray(residuals, dtype=np.float64), nan=1.0, posinf=1.0)
    return float(np.exp(np.log(np.clip(array, tolerance, 1.0)).mean()))


def performance_profile(
    seconds: Mapping[str, npt.ArrayLike],
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return the performance profiles of Dolan and Moré (2002), by solver.

    These are ratios τ in ascending order, and the share solved within τ times the least time.
    """
    arrays = {name: np.asarray(times, dtype=np.float64) for name, times in seconds.items()}
    least = np.min(list(arrays.values()), axis=0)
    profiles = {}
    for name, times in arrays.items():
        is_solved = np.isfinite(times)
        ratios = np.sort(times[is_solved] / least[is_solved])
        profiles[name] = ratios, np.arange(1, len(ratios) + 1) / len(times)
    return profiles


def are_undominated(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Say of each point whether no other is as small in one coordinate and smaller in the other."""
    return [
        not any(
            other[0] <= x and other[1] <= y and (other[0] < x or other[1] < y) for other in points
        )
        for x, y in points
    ]


def programs_frame(
    rows: Mapping[str, Row], lines: Mapping[str, Path], recorded: Mapping[str, Row], cap: float
) -> pd.DataFrame:
    """Return a line for each program of each cell, also for programs that were not reached.

    Of several repeats it is the quickest, or one that was not verified; `seconds_1`, `seconds_2`
    and so on are the times of all.
    """
    import pandas as pd

    answers: list[dict[str, Any]] = []
    repeats: dict[tuple[Any, ...], list[str]] = {}
    for key, row in rows.items():
        if "start" in row:
            repeats.setdefault(tuple(row[name] for name in _OF_CELL), []).append(key)
    for keys in repeats.values():
        # The repeat that did not end, if there is one
        row = next((rows[key] for key in keys if rows[key]["status"] != "finished"), rows[keys[0]])
        kinds = recorded[row["data"]]["kinds"]
        verdict, message = _FAILED.get(row["status"], "failed"), row["message"]
        reached: dict[int, dict[Any, Any]] = {}
        if row["status"] == "finished":
            quickest = _choose_quickest([pd.read_parquet(lines[key]) for key in keys])
            reached = {answer["index"]: answer for answer in quickest.to_dict("records")}
            verdict, message = "unreached", ""
        for index, kind in enumerate(kinds):
            missing = {
                "index": index,
                "is_first": False,
                "program": kind,
                "verdict": verdict,
                "solver_status": "",
                "message": message,
                "residual": math.inf,
                "seconds": cap,
            }
            about = {name: row[name] for name in _OF_CELL}
            answers.append({**about, **reached.get(index, missing)})
    # Whole numbers stay whole beside missing ones.
    programs = pd.DataFrame(answers, dtype=object).infer_objects()
    # Which programs something is compiled for, those know that reached them.
    first = programs["is_first"].astype(bool)
    return programs.assign(
        is_first=first.groupby([programs["data"], programs["index"]]).transform("any")
    )


def _choose_quickest(repeats: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the repeat of each program that counts, with the seconds of all and their spread."""
    import pandas as pd

    answers = pd.concat(repeats)
    ordered = answers.assign(is_verified=answers["verdict"] == "verified")
    ordered = ordered.sort_values(["index", "is_verified", "seconds"])
    seconds = answers.groupby("index")["seconds"]
    quickest = ordered.drop_duplicates("index").drop(columns="is_verified")
    quickest = quickest.assign(spread=(seconds.max() / seconds.min()).to_numpy())
    for number, repeat in enumerate(repeats, 1):
        times = repeat.set_index("index")["seconds"].reindex(quickest["index"])
        quickest[f"seconds_{number}"] = times.to_numpy()
    return quickest


def leave_out_firsts(programs: pd.DataFrame) -> pd.DataFrame:
    """Return the programs whose times count: all but the first of several of one structure."""
    return programs[~programs["is_first"].astype(bool)]


def summary(programs: pd.DataFrame, options: BenchOptions) -> pd.DataFrame:
    """Return a line for each kind of programs, solver, start and tolerance of `programs_frame`."""
    import pandas as pd

    loosest = max(options.tolerances)
    lines = []
    for values, group in programs.groupby(_GROUP, sort=False):
        about: dict[str, Any] = dict(zip(_GROUP, values, strict=True))
        tolerance, spec = about["tolerance"], SolverSpec.parse(about["solver"])
        verified = group["verdict"] == "verified"
        in_time = group["verdict"].isin(("verified", "wrong", "inaccurate"))
        counts = group["verdict"].value_counts()
        residual = group["residual"].where(in_time, math.inf)
        finite = residual[np.isfinite(residual)]
        proofs = group.reindex(columns=["infeasibility", "duality_gap"]).abs()
        has_duals = proofs["duality_gap"].notna().any()
        is_proven = (proofs <= tolerance).all(axis=1)
        timed, first = leave_out_firsts(group), group[group["is_first"].astype(bool)]
        means = {
            name: charge_cap(part["seconds"], part["verdict"] == "verified", options.cap)
            for name, part in (("mean", timed), ("first", first))
        }
        low, high = confidence_interval(means["mean"])
        stages = timed[timed["verdict"] == "verified"].reindex(
            columns=[f"{name}_seconds" for name in (*STAGES, "reported")]
        )
        spreads = timed.get("spread", pd.Series()).dropna().astype(float)
        stages["wrapper_seconds"] = stages[[f"{name}_seconds" for name in _OUTSIDE]].sum(axis=1)
        lines.append(
            {
                **about,
                "version": spec.entry.version,
                "algorithm": spec.algorithm,
                "options": ", ".join(f"{k}={v}" for k, v in spec.asking(tolerance).items()),
                "programs": len(group),
                "verified_share": float(verified.mean()),
                f"share_within_{loosest:g}": float((residual <= loosest).mean()),
                **{name: int(counts.get(name, 0)) for name in VERDICTS},
                "mean_residual": mean_residual(residual, tolerance),
                "proven_share": float(is_proven.mean()) if has_duals else math.nan,
                "worst_duality_gap": float(proofs["duality_gap"].max()),
                "worst_residual": float(finite.max()) if len(finite) else math.inf,
                "restarts": int(group["restarts"].fillna(0).sum()) if "restarts" in group else 0,
                **{f"{name}_seconds": shifted_geometric_mean(part) for name, part in means.items()},
                "mean_low_seconds": low,
                "mean_high_seconds": high,
                **{
                    str(name): shifted_geometric_mean(column.dropna().astype(float))
                    for name, column in stages.items()
                },
                "spread": float(spreads.median()) if len(spreads) else math.nan,
            }
        )
    frame = pd.DataFrame(lines)
    frame["machine"] = machine()
    for name, version in versions().items():
        frame[f"version_{name}"] = version
    return frame


def runs_frame(rows: Mapping[str, Row], recorded: Mapping[str, Row]) -> pd.DataFrame:
    """Return a line for each whole run, with its relative excess over the certified bound."""
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
        "*Infeasible*: the solver calls the program infeasible, which none is.",
        "",
        "We judge the largest violation of a bound or a row, and the excess of the cost over the",
        "size of its terms. Solvers mean other things by a tolerance: simplex methods the largest",
        "violation and the largest reduced cost, interior-point methods a gap as well, first-order",
        "methods norms over all rows, relative to the data. So an answer that keeps a solver's own",
        "tolerance can still be wrong here.",
        "",
        "All times are shifted geometric means (shift "
        f"{1e3 * SHIFT:g} ms) over the programs, of the least of {options.repeats}",
        f"repeats. *ms*: of the call; a program that is not verified counts {options.cap:g} s.",
        "*× best*: the ratio to the least of the table. *95 %*: the confidence interval of *ms*,",
        "by Student's t of the logarithms, as if the programs had been drawn one by one. *Solve*,",
        "*wrapper* and *reported* are the solver's call, the rest, and what the solver says, of",
        "the verified programs. *First*: the first of several programs of one structure, for which",
        "something is compiled; it is in no other time. *Spread*: the median over the programs of",
        "the largest time over the least. *Residual*: geometric mean, each at least the tolerance,",
        "1 for a failure. *Proven*: the solver's own multipliers prove the optimum up to the",
        "tolerance; empty where it returns none. *Cold*: everything anew; *re-solve*: what was",
        "compiled is kept; *hot*: started from the last answer.",
        "",
        f"Tolerances: {asked}. At most {options.most} programs of each kind, spread evenly over",
        f"those of a run of at most {options.steps} steps; budget of a cell {options.budget:g} s. "
        f"{machine()}. Versions: {used}.",
    ]
    for title, group in _groups(frame):
        rows = _cells(group, loosest)
        cells = [[markdown_text(cell) for cell in row.values()] for row in rows]
        lines += [
            "",
            f"## {markdown_text(title)}",
            "",
            f"{group['programs'].iloc[0]} programs.",
            "",
        ]
        lines += markdown_table(list(rows[0]), cells, _WORDS)
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
                format_cell("{:.3g} %", row["excess"], 100),
                format_cell("{:.0f}", row["iterations"]),
                format_cell("{:.1e}", row["repair_distance"]),
                format_cell("{:.3g}", row["seconds"]),
                str(row["status"]),
            ]
            for row in runs.to_dict("records")
        ]
        lines += markdown_table([*names, "status"], cells, names[:3])
    return "\n".join(lines) + "\n"


def latex(frame: pd.DataFrame, options: BenchOptions) -> str:
    """Return the tables of `markdown` in LaTeX, with the columns that a page has room for."""
    tables = []
    for title, group in _groups(frame):
        rows = _cells(group, max(options.tolerances))
        cells = [[row[head] for head in _OF_PAPERS] for row in rows]
        tables.append(latex_table(_OF_PAPERS, cells, _WORDS, f"{title}."))
    return latex_page(tables)


def _groups(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the lines of each table of the summary with its title."""
    for (data, program, tolerance), group in frame.groupby(
        ["data", "program", "tolerance"], sort=False
    ):
        yield f"{data}, {program} programs, tolerance {tolerance:g}", group


def _cells(group: pd.DataFrame, loosest: float) -> list[dict[str, str]]:
    """Return the cells of each line of a table by their heads, the quickest first."""
    best = group["mean_seconds"].min()
    return [
        {
            **{name: str(row[name]) for name in ("solver", "version", "start")},
            "verified": f"{100 * row['verified_share']:.1f} %",
            f"within {loosest:g}": f"{100 * row[f'share_within_{loosest:g}']:.1f} %",
            **{name: str(row[name]) for name in ("wrong", "inaccurate", "infeasible", "failed")},
            "late": str(row["timed_out"] + row["unreached"]),
            "worst residual": f"{row['worst_residual']:.1e}",
            "residual": f"{row['mean_residual']:.1e}",
            "ms": format_cell("{:#.3g}", row["mean_seconds"], 1e3),
            "× best": f"{row['mean_seconds'] / best:#.3g}",
            "95 %": " to ".join(
                format_cell("{:#.3g}", row[f"mean_{end}_seconds"], 1e3) for end in ("low", "high")
            ).removeprefix(" to "),
            **{
                f"{name} ms": format_cell("{:#.3g}", row[f"{name}_seconds"], 1e3)
                for name in ("solve", "wrapper", "reported", "first")
            },
            "spread": format_cell("{:.2f}", row["spread"]),
            "proven": format_cell("{:.1f} %", row["proven_share"], 100),
        }
        for row in group.sort_values("mean_seconds").to_dict("records")
    ]
