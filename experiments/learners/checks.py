"""What the comparison is to show, and whether it does: said for each data set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from learners.fits import LIMIT
from learners.rows import DEFAULTS, NO_LEARNING, OURS, named
from learners.scores import Score, Scores, best_of, excess

__all__ = ["below_no_learning", "checks", "is_near_best"]

_SHARE = 0.75  # of the data sets on which the best of ours is to be near the best of all
_BASELINES = ("metric-learn LMNN", "metric-learn ITML")
_BY_NAME = named("graph", "mcml")  # the row with targets of its own
_MOST_ERRORS = {"iris": 3.2, "wine": 2.2, "breast_cancer": 4.3, "digits": 2.7}  # %
_MOST_SECONDS = {"digits": 15.0}


def checks(scores: Scores) -> Iterator[str]:
    """Yield the lines that say which checks hold on which data sets."""
    yield "## Checks"
    yield ""
    yield from _no_learning(scores)
    yield from _best(scores)
    yield from _times(scores)
    yield from _targets(scores)


def below_no_learning(found: Mapping[str, Score], plain: str) -> dict[str, float]:
    """Return our learners with defaults whose error exceeds no learning's by a standard error.

    Returns
    -------
    dict of str to float
        By how many percentage points.
    """
    told = {}
    for name in DEFAULTS:
        difference = excess(found[name], found[plain]) if name in found else None
        if difference is not None and difference[0] > difference[1]:
            told[name] = difference[0]
    return told


def is_near_best(found: Mapping[str, Score]) -> bool | None:
    """Return whether the best of ours is within a standard error of the best; None: no number."""
    ours, best = best_of(found, OURS), best_of(found, found)
    difference = None if ours is None or best is None else excess(found[ours], found[best])
    return None if difference is None else difference[0] <= difference[1]


def _no_learning(scores: Scores) -> Iterator[str]:
    yield "Our learners with defaults that have more errors than no learning has, by more than one"
    yield "standard error of the difference:"
    yield ""
    heads = [f"than {name}" for name in NO_LEARNING.values()]
    yield f"| data | {' | '.join(heads)} | without number |"
    yield f"|---|{'---|' * (len(heads) + 1)}"
    missed: dict[str, list[str]] = {name: [] for name in NO_LEARNING.values()}
    for data, found in scores.items():
        cells = []
        for plain in NO_LEARNING.values():
            worse = below_no_learning(found, plain)
            if worse:
                missed[plain].append(data)
            told = ", ".join(f"{name} +{points:.2f}" for name, points in worse.items())
            cells.append(f"missed: {told}" if worse else "holds")
        absent = [name for name in DEFAULTS if name in found and found[name].error is None]
        yield f"| {data} | {' | '.join(cells)} | {', '.join(absent)} |"
    yield ""
    for plain, places in missed.items():
        where = f"missed on {', '.join(places)}" if places else "holds on all"
        yield f"* No learner with defaults is below {plain}: {where}."
    yield ""


def _best(scores: Scores) -> Iterator[str]:
    yield "The best of ours beside the best of all, to one standard error of the difference:"
    yield ""
    yield "| data | best of ours | best of all | difference | |"
    yield "|---|---|---|--:|---|"
    near = 0
    for data, found in scores.items():
        ours, best = best_of(found, OURS), best_of(found, found)
        if ours is None or best is None:
            yield f"| {data} | no number | {best} | | missed |"
            continue
        verdict, told = "the best", ""
        if ours != best:
            points, error = excess(found[ours], found[best]) or (0.0, 0.0)
            verdict = "holds" if points <= error else "missed: ours is not the best"
            told = f"{points:+.2f} ± {error:.2f}"
        near += bool(is_near_best(found))
        cells = (f"{name}, {found[name].error:.2f} %" for name in (ours, best))
        yield f"| {data} | {' | '.join(cells)} | {told} | {verdict} |"
    yield ""
    word = "holds" if near >= _SHARE * len(scores) else "missed"
    where = f"on {near} of {len(scores)}"
    yield f"* Near the best on at least three quarters of the data sets: {word}, {where}."
    yield ""


def _times(scores: Scores) -> Iterator[str]:
    rows = [named(metrics) for metrics in ("graph", "diagonal", "definite")]
    yield "How many times as long as ours with defaults other learners take:"
    yield ""
    heads = [f"{base.split()[-1]} / {row}" for row in rows for base in _BASELINES]
    yield f"| data | {' | '.join(heads)} |"
    yield f"|---|{'---|' * len(heads)}"
    for data, found in scores.items():
        cells = [faster(found[row], found.get(base)) for row in rows for base in _BASELINES]
        yield f"| {data} | {' | '.join(cells)} |"
    yield ""


def faster(ours: Score, baseline: Score | None) -> str:
    """Return how many times as long as ours a baseline's fit takes; less than once is missed."""
    if ours.seconds is None or baseline is None:
        return "no comparison"
    if baseline.seconds is None and not baseline.is_late:
        return "no comparison"
    ratio = (LIMIT if baseline.seconds is None else baseline.seconds) / ours.seconds
    shown = f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.2g}"
    least = "at least " if baseline.seconds is None else ""
    return f"{least}{shown}×" + ("" if ratio > 1 else ", missed")


def _targets(scores: Scores) -> Iterator[str]:
    known = [data for data in scores if data in _MOST_ERRORS]
    yield f"| {_BY_NAME} | error at most | | fit at most | |"
    yield "|---|--:|---|--:|---|"
    for data in known:
        line, seconds = scores[data][_BY_NAME], _MOST_SECONDS.get(data)
        cells: Iterable[str] = (
            f"{_MOST_ERRORS[data]:g} %",
            within(line.error, _MOST_ERRORS[data], "%", ".2f"),
            "" if seconds is None else f"{seconds:g} s",
            "" if seconds is None else within(line.seconds, seconds, "s", ".3g"),
        )
        yield f"| {data} | {' | '.join(cells)} |"


def within(found: float | None, most: float, unit: str, digits: str) -> str:
    """Return whether a number is at most a target.

    Examples
    --------
    >>> within(3.1, 3.2, "%", ".2f"), within(None, 3.2, "%", ".2f")
    ('holds, 3.10 %', 'no number')
    """
    if found is None:
        return "no number"
    return f"{'holds' if found <= most else 'missed'}, {found:{digits}} {unit}"
