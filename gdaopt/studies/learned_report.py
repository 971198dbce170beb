"""What `gdaopt learn` says of its metrics: parts of a report, for a terminal and as a page."""

from __future__ import annotations

import math
from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from gdaopt.methods import METHODS, Certified
from gdaopt.result import Result
from gdaopt.status import ENDS
from gdaopt.studies.comparison_table import share_above
from gdaopt.studies.importance import Importance
from gdaopt.studies.measuring import MOST_LEARNED, NEIGHBORS, Judgement
from gdaopt.support.text import html_table, percent, plain

_MOST_ROWS = 60  # of a ranking
_ALIKE = 1e-6  # shares of features that differ by less are as without learning
_LARGE = 1e-2
"""An objective that is above its bound by a larger share makes another method worth a word."""

_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.15em .7em;text-align:right;"
    "border-bottom:1px solid #ccc}th:first-child{text-align:left}caption{text-align:left;"
    "font-weight:bold}img{max-width:100%}"
)


@dataclass(frozen=True)
class Table:
    """Rows of texts below a header; a terminal shows the first rows of it."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    is_for_terminals: bool = True


@dataclass(frozen=True)
class Part:
    """Sentences below a heading, and tables."""

    heading: str
    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()


# --- How good it is ------------------------------------------------------------------------------


def describe_judgement(judgement: Judgement, what: str, searched: bool) -> Part:
    """Return how good metrics are, with a sentence where learning does not help."""
    learned, plain_share = judgement.accuracy, judgement.without_learning
    sentences = [
        f"{_points(*learned)} of {len(judgement.truth)} samples have the class of their "
        f"{NEIGHBORS} nearest neighbours under what is learned, {_points(*plain_share)} without "
        f"learning: {_gain(judgement)} ({what})"
    ]
    if not judgement.helps:
        sentences.append(_say_no_help(judgement, searched))
    confused = _confusions(judgement)
    rows = [
        (name, str(count), f"{100 * right:.1f}", f"{100 * before:.1f}", confused.get(name, ""))
        for name, (count, right, before) in judgement.of_classes.items()
    ]
    header = ("class", "samples", "% right", "without", "most often taken for")
    confusion = Table(
        ("class", *judgement.classes),
        [
            (name, *(str(count) for count in line))
            for name, line in zip(judgement.classes, judgement.confusion.tolist(), strict=True)
        ],
        "Which class the samples of each class get",
        is_for_terminals=False,
    )
    return Part("How good it is", sentences, [Table(header, rows), confusion])


def describe_folds(n_samples: int, n_folds: int) -> str:
    """Return how a cross-validation was made."""
    is_drawn = n_samples * (n_folds - 1) > MOST_LEARNED * n_folds
    few = f" from {MOST_LEARNED} samples" if is_drawn else ""
    return (
        f"{n_folds}-fold cross-validation, in which metrics are learned{few} without those judged"
    )


def _points(share: float, error: float) -> str:
    return f"{100 * share:.1f} ± {100 * error:.1f} %"


def _gain(judgement: Judgement) -> str:
    gain, error = judgement.gain
    return f"{100 * gain:+.1f} ± {100 * error:.1f} points"


def _say_no_help(judgement: Judgement, searched: bool) -> str:
    gain, error = judgement.gain
    worse = gain < -error
    said = (
        f"Learning makes it worse here, by {100 * -gain:.1f} ± {100 * error:.1f} points"
        if worse
        else f"Learning does not help here by more than chance ({_gain(judgement)})"
    )
    if searched:
        return f"{said}: take distances without learning, or more samples, or other features"
    return (
        f"{said}. Try --search, which compares objectives and says if none of them helps; else "
        "take distances without learning"
    )


def _confusions(judgement: Judgement) -> dict[str, str]:
    """Return for each class what its samples are most often taken for."""
    wrong = judgement.confusion - np.diag(np.diagonal(judgement.confusion))
    return {
        name: f"{judgement.classes[line.argmax()]} ({line.max()})"
        for name, line in zip(judgement.classes, wrong, strict=True)
        if line.any()
    }


# --- What matters --------------------------------------------------------------------------------


def describe_importance(importance: Importance) -> Part:
    """Return the rankings of features and edges."""
    size = len(importance.feature_names)
    tables = []
    for table in importance.tables().values():
        lines = [
            (name, f"{share:.3f}", " to ".join(f"{end:.3f}" for end in ends))
            for name, share, *ends in table.head(_MOST_ROWS).itertuples(index=False)
        ]
        header = (table.columns[0], "share", "in the folds")[: 3 if importance.folds else 2]
        if lines:
            tables.append(Table(header, [line[: len(header)] for line in lines]))
    sentence = (
        "Shares of the metric's trace, of features in units of their spread; without learning "
        f"each of {size} has {1 / size:.2g}"
    )
    if np.ptp(importance.shares) < _ALIKE:
        sentence = (
            "No feature matters more than another: nothing was learned, or was found to be no "
            "better than chance"
        )
        tables = []
    return Part("What matters", [sentence], tables)


# --- How it was learned --------------------------------------------------------------------------


def describe_fits(
    rows: Mapping[str, Mapping[str, Any]], results: Collection[Result], method: str
) -> Part:
    """Return how the fits ended, what they solved, and what may lead further."""
    sentences = [f"{name}: {outcome(row)}" for name, row in rows.items()]
    sentences.append(f"Solved: {work(results)}")
    further = advice(results, method)
    return Part("How it was learned", [*sentences, *([] if further is None else [further])])


def outcome(row: Mapping[str, Any]) -> str:
    """Return how a fit ended, and how far its objective can be above the optimum."""
    if row["chosen_objective"] == "none":
        return "no learning, which the search chose"
    end = ENDS[row["status"]]
    above = share_above(row["objective"], row["lower_bound"])
    if row["status"] == "converged":
        end += f" to {percent(above)}"
    elif above < math.inf:
        end += f"; at most {percent(above)} above the optimum"
    else:
        end += "; how far above the optimum is not known"
    change = f"from {row['objective_start']:.6g} to {row['objective']:.6g}"
    return f"{row['chosen_objective']}, {end}; objective {change}"


def work(results: Collection[Result]) -> str:
    """Return what runs of one method solved, who solved it, and in how many seconds."""
    programs = sum((Counter(result.solved_by) for result in results), Counter[str]())
    calls = sum(result.oracle_calls for result in results)
    projections = sum(result.eigen_decompositions for result in results)
    kinds = {getattr(METHODS.get(result.method), "cone", None) or "linear" for result in results}
    kind = " or ".join(sorted(kinds))
    if programs:
        solved = [
            f"{count} {kind} program{'s' * (count > 1)} "
            + ("in closed form" if name == "analytic" else f"by {name}")
            for name, count in programs.items()
        ]
    elif projections:
        solved = [f"{projections} projections by eigen-decomposition"]
    else:
        solved = [f"{calls} linear minimisations over the set, in closed form"]
    seconds = sum(result.seconds for result in results)
    inside = sum(float(np.nansum(result.trace.column("solve_seconds"))) for result in results)
    return f"{', '.join(solved)}, in {seconds:.2g} s. Solving them took {inside:.2g} s of this time"


def advice(results: Collection[Result], method: str) -> str | None:
    """Return how to reach the optimum if it may be far."""
    far = any(
        share_above(result.objective, result.lower_bound) > _LARGE
        and result.frank_wolfe_gap is None
        for result in results
    )
    if not far or method == Certified.name:
        return None
    return "Better: --method certified reaches the optimum, with a proof of the gap"


# --- As a page -----------------------------------------------------------------------------------


def html_page(title: str, parts: Iterable[Part], pictures: Mapping[Path, str]) -> str:
    """Return one page with all parts, and with the pictures inside; texts are escaped."""
    title = escape(plain(title))
    lines = [
        "<!DOCTYPE html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>",
    ]
    for part in parts:
        lines.append(f"<h2>{escape(part.heading)}</h2>")
        lines += [f"<p>{escape(plain(sentence))}.</p>" for sentence in part.sentences]
        lines += [
            html_table(table.rows, caption=table.caption, header=table.header)
            for table in part.tables
        ]
    lines.append("<h2>Pictures</h2>")
    for path, what in pictures.items():
        data = b64encode(path.read_bytes()).decode("ascii")
        lines.append(
            f'<figure><figcaption>{escape(what)}</figcaption><img alt="{escape(what)}" '
            f'src="data:image/png;base64,{data}"></figure>'
        )
    return "\n".join([*lines, "</body></html>", ""])
