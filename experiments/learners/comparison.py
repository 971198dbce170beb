"""Where our learners stand beside no learning, the best of all, and the baselines' seconds."""

from collections.abc import Iterator, Mapping

from experiments.learners.fits import LIMIT
from experiments.learners.rows import DEFAULTS, NO_LEARNING, OURS, named
from experiments.learners.scores import Score, Scores, best_of, excess, is_near_best

_BASELINES = ("metric-learn LMNN", "metric-learn ITML")


def comparison(scores: Scores) -> Iterator[str]:
    """Yield the lines of the comparison, by data set."""
    yield "## Ours beside the others"
    yield ""
    yield from _no_learning(scores)
    yield from _best(scores)
    yield from _times(scores)


def below_no_learning(by_learner: Mapping[str, Score], plain: str) -> dict[str, float]:
    """Return our learners with defaults whose error exceeds no learning's by a standard error.

    They are told with the percentage points by which they do.
    """
    told = {}
    for name in DEFAULTS:
        difference = excess(by_learner[name], by_learner[plain]) if name in by_learner else None
        if difference is not None and difference[0] > difference[1]:
            told[name] = difference[0]
    return told


def _no_learning(scores: Scores) -> Iterator[str]:
    yield "Our learners with defaults that have more errors than no learning has, by more than one"
    yield "standard error of the difference, in percentage points:"
    yield ""
    heads = [f"than {name}" for name in NO_LEARNING.values()]
    yield f"| data | {' | '.join(heads)} | without number |"
    yield f"|---|{'---|' * (len(heads) + 1)}"
    places: dict[str, list[str]] = {name: [] for name in NO_LEARNING.values()}
    for data, by_learner in scores.items():
        cells = []
        for plain in NO_LEARNING.values():
            worse = below_no_learning(by_learner, plain)
            if worse:
                places[plain].append(data)
            told = ", ".join(f"{name} +{points:.2f}" for name, points in worse.items())
            cells.append(told or "none")
        absent = [
            name for name in DEFAULTS if name in by_learner and by_learner[name].error is None
        ]
        yield f"| {data} | {' | '.join(cells)} | {', '.join(absent)} |"
    yield ""
    for plain, where in places.items():
        yield f"* Some of them are worse than {plain} on: {', '.join(where) or 'no data set'}."
    yield ""


def _best(scores: Scores) -> Iterator[str]:
    yield "The best of ours beside the best of all, to one standard error of the difference:"
    yield ""
    yield "| data | best of ours | best of all | difference | ours is |"
    yield "|---|---|---|--:|---|"
    near = 0
    for data, by_learner in scores.items():
        ours, best = best_of(by_learner, OURS), best_of(by_learner, by_learner)
        if ours is None or best is None:
            yield f"| {data} | no number | {best} | | without a number |"
            continue
        place, told = "the best", ""
        if ours != best:
            points, error = excess(by_learner[ours], by_learner[best]) or (0.0, 0.0)
            is_near = is_near_best(by_learner, ours)
            place = "within one standard error" if is_near else "not the best"
            told = f"{points:+.2f} ± {error:.2f}"
        near += place != "not the best"
        cells = (f"{name}, {by_learner[name].error:.2f} %" for name in (ours, best))
        yield f"| {data} | {' | '.join(cells)} | {told} | {place} |"
    yield ""
    yield f"* The best, or within one standard error of it, on {near} of {len(scores)} data sets."
    yield ""


def _times(scores: Scores) -> Iterator[str]:
    rows = [named(metrics) for metrics in ("graph", "diagonal", "definite")]
    yield "How many times as long as ours with defaults others take; below 1 ours is slower:"
    yield ""
    heads = [f"{base.split()[-1]} / {row}" for row in rows for base in _BASELINES]
    yield f"| data | {' | '.join(heads)} |"
    yield f"|---|{'---|' * len(heads)}"
    for data, by_learner in scores.items():
        cells = [
            _times_as_long(by_learner[row], by_learner.get(base))
            for row in rows
            for base in _BASELINES
        ]
        yield f"| {data} | {' | '.join(cells)} |"


def _times_as_long(ours: Score, baseline: Score | None) -> str:
    if ours.seconds is None or baseline is None:
        return "no comparison"
    if baseline.seconds is None and not baseline.is_late:
        return "no comparison"
    ratio = (LIMIT if baseline.seconds is None else baseline.seconds) / ours.seconds
    shown = f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.2g}"
    return f"{'at least ' if baseline.seconds is None else ''}{shown}×"
