"""The learners beside those of scikit-learn and metric-learn: CPU seconds of a fit, 5-NN errors.

Run ``python experiments/learners.py`` from the top of a checkout (20 minutes); it prints the tables
and writes ``figures/learners.md`` and ``.png``. metric-learn runs in an environment of its own,
which is built on first use (see ``learners_fits.py``). A run that was stopped goes on where it was:
the finished fits are kept in ``--out`` until all are finished.

Without that environment, or with ``--datasets``, the tables are printed only; without it the exit
code is 3.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, stdev
from textwrap import fill
from typing import Any

import numpy as np
import sklearn
from learners_fits import (
    DATA,
    FOLDS,
    LEARNERS,
    LIMIT,
    NO_LEARNING,
    REQUIREMENTS,
    SEEDS,
    Environment,
    folds,
    run_fits,
)
from sklearn.neighbors import KNeighborsClassifier

from gdaopt.io import write_atomically, write_text
from gdaopt.plotting.style import BLUE, COLOURS, GREY, SHADE
from gdaopt.studies.versions import versions
from gdaopt.validation import FloatArray

FIGURES = Path(__file__).parent.parent / "figures"
WORK = Path(tempfile.gettempdir()) / "gdaopt-learners"
NEIGHBORS = 5
NO_ENVIRONMENT = 3  # exit code
OURS = [learner.name for learner in LEARNERS if learner.is_ours]
BASELINES = ("metric-learn LMNN", "metric-learn ITML")
BY_NAME = "GDA, MCML, graph"  # the row with targets of its own
MOST_ERRORS = {"iris": 3.2, "wine": 2.2, "breast_cancer": 4.3, "digits": 2.7}  # %
MOST_SECONDS = {"digits": 15.0}


@dataclass(frozen=True)
class Score:
    """A row: what a learner needs and gives on one data set; or why there is nothing to say."""

    remark: str = ""
    seconds: float | None = None
    error: float | None = None  # %, and its standard error
    spread: float = 0.0
    is_late: bool = False


Scores = dict[str, dict[str, Score]]
"""By data set and learner."""


def score(data: str, row: Mapping[str, Any], matrices: list[FloatArray]) -> Score:
    """Return what the fits of a learner amount to."""
    if row["status"] != "finished":
        is_late = row["status"] == "time_limit"
        return Score("time limit" if is_late else f"failed: {row['message']}", is_late=is_late)
    errors = []
    for fold, matrix in zip(folds(data), matrices, strict=True):
        classifier = KNeighborsClassifier(NEIGHBORS).fit(fold.X @ matrix.T, fold.y)
        errors.append(100 * (1 - classifier.score(fold.queries @ matrix.T, fold.answers)))
    # The folds of one seed are no independent figures: what is a test sample in one trains another.
    repetitions = [mean(errors[n : n + FOLDS]) for n in range(0, len(errors), FOLDS)]
    unfinished = row["unfinished"]
    return Score(
        f"{unfinished} of {len(errors)} fits end before they converge" if unfinished else "",
        median(row["seconds"]) if row["seconds"] else None,
        mean(repetitions),
        stdev(repetitions) / len(repetitions) ** 0.5,
    )


def measure(path: Path, names: list[str], environment: Environment | None) -> Scores:
    """Fit what is not fitted yet, and score all of it."""

    def show(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
        if row is not None:
            print(f"{done} of {total}: {key} {row['message']}", flush=True)

    scores: Scores = {}
    for data in names:
        size = folds(data)[0].X.shape[1]
        nothing = {"status": "finished", "seconds": [], "unfinished": 0}
        plain = score(data, nothing, [np.eye(size)] * (len(SEEDS) * FOLDS))
        scores[data] = {NO_LEARNING: plain}
    for data, name, row, matrices in run_fits(path, names, environment, show):
        if row["status"] == "died":  # it says nothing of the learner
            raise SystemExit(f"{name} on {data}: {row['message']}; run this again to go on")
        scores[data][name] = score(data, row, matrices)
    return scores


def best_of(found: Mapping[str, Score]) -> tuple[str, Score]:
    """Return the learner of the smallest error."""
    return min(found.items(), key=lambda item: item[1].error if item[1].error is not None else 100)


def table(data: str, found: Mapping[str, Score]) -> Iterator[str]:
    """Yield the lines of the table of a data set."""
    first = folds(data)[0]
    n_samples, n_features = len(first.y) + len(first.answers), first.X.shape[1]
    yield f"## {data}: {n_samples} samples, {n_features} features, {len(set(first.y))} classes"
    yield ""
    yield f"| learner | fit, s | × {OURS[0]} | {NEIGHBORS}-NN error, % | |"
    yield "|---|--:|--:|--:|---|"
    unit = found[OURS[0]].seconds
    best = best_of(found)[0]
    for name, line in found.items():
        ratio = "" if line.seconds is None or unit is None else times(line.seconds / unit)
        error = "" if line.error is None else f"{line.error:.2f} ± {line.spread:.2f}"
        seconds = f"> {LIMIT:g}" if line.is_late else ""
        seconds = seconds if line.seconds is None else f"{line.seconds:.3g}"
        error = f"**{error}**" if name == best else error
        yield f"| {name} | {seconds} | {ratio} | {error} | {line.remark.replace('|', '/')} |"
    yield ""


def times(ratio: float) -> str:
    """Return a ratio with two digits, or all before the point."""
    return f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.2g}"


def faster(ours: Score, baseline: Score | None) -> str:
    """Return whether our fit takes less time than a baseline's."""
    if (
        ours.seconds is None
        or baseline is None
        or (baseline.seconds is None and not baseline.is_late)
    ):
        return "no comparison"
    ratio = (LIMIT if baseline.seconds is None else baseline.seconds) / ours.seconds
    least = "at least " if baseline.seconds is None else ""
    return f"{'reached' if ratio > 1 else 'MISSED'}, {least}{times(ratio)}×"


def close(ours: Score, found: Mapping[str, Score]) -> str:
    """Return whether our error is within a standard error of the best."""
    name, best = best_of(found)
    if ours.error is None or best.error is None:
        return "no comparison"
    if ours is best:
        return "reached, the best"
    word = "reached" if ours.error <= best.error + best.spread else "MISSED"
    return f"{word}, +{ours.error - best.error:.2f} to {name} ± {best.spread:.2f}"


def verdicts(scores: Scores) -> Iterator[str]:
    """Yield the lines that say which targets are reached."""
    yield "## Targets"
    yield ""
    asked = " | ".join(f"faster than {baseline.split()[-1]}" for baseline in BASELINES)
    yield f"| learner | data | {asked} | error near the least |"
    yield f"|---|---|{'---|' * len(BASELINES)}---|"
    for name in OURS:
        for data, found in scores.items():
            words = [faster(found[name], found.get(baseline)) for baseline in BASELINES]
            yield f"| {' | '.join([name, data, *words, close(found[name], found)])} |"
    yield ""
    yield f"| {BY_NAME} | error at most | | fit at most | |"
    yield "|---|--:|---|--:|---|"
    for data, found in scores.items():
        line, most, seconds = found[BY_NAME], MOST_ERRORS[data], MOST_SECONDS.get(data)
        told = "" if seconds is None else within(line.seconds, seconds, "s", ".3g")
        limit = "" if seconds is None else f"{seconds:g} s"
        yield f"| {data} | {most:g} % | {within(line.error, most, '%', '.2f')} | {limit} | {told} |"


def within(found: float | None, most: float, unit: str, digits: str) -> str:
    """Return whether a number is at most a target."""
    if found is None:
        return "no number"
    return f"{'reached' if found <= most else 'MISSED'}, {found:{digits}} {unit}"


def preface(environment: Environment | None) -> list[str]:
    """Return what was done, and by which versions."""
    here = versions()
    lines = [
        "# Learners beside those of scikit-learn and metric-learn",
        "",
        fill(
            f"{len(SEEDS)} × {FOLDS} stratified folds (seeds {SEEDS[0]} to {SEEDS[-1]}), the same "
            "for all, in z-scores by the training samples. Defaults everywhere, nothing is tuned; "
            "random_state=0 where there is one. Our learners minimise GLR; the rows of GDA are the "
            "same learners with another objective. metric-learn's ITML and MMC are "
            "ITML_Supervised and MMC_Supervised. Fit: median over the "
            f"{len(SEEDS) * FOLDS} folds of the CPU seconds in `fit`, one at a time, one thread. "
            f"Error of {NEIGHBORS} nearest neighbours in the learned metric: mean, ± its standard "
            f"error over {len(SEEDS)} repetitions (each the mean of {FOLDS} folds), which says how "
            "much it varies with the folds and not with the samples; the least in bold. A learner "
            f"of which a fit takes more than {LIMIT:g} s is stopped. Targets: faster than LMNN and "
            "ITML, by the ratio of the medians; an error not above that of the best row and its "
            "standard error. Written by `python experiments/learners.py`.",
            100,
            break_on_hyphens=False,
        ),
        "",
        f"Here: Python {platform.python_version()}, gdaopt {here['gdaopt']}, numpy "
        f"{here['numpy']}, scipy {here['scipy']}, scikit-learn {sklearn.__version__}, "
        f"{platform.machine()}.",
    ]
    if environment is not None:
        there = ", ".join(f"{name} {version}" for name, version in environment.versions.items())
        lines.append(f"{REQUIREMENTS[0].replace('==', ' ')}: {there}.")
    return [*lines, ""]


def draw(scores: Scores) -> None:
    """Draw errors above seconds: a column of panels for each data set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 1.5 + 0.5 * len(LEARNERS)), layout="constrained")
    axes = figure.subplots(2, len(scores), sharey=True)
    names = [NO_LEARNING, *(learner.name for learner in LEARNERS)]
    for (above, below), (data, found) in zip(axes.T, scores.items(), strict=True):
        if below is not axes[1, 0]:
            below.sharex(axes[1, 0])
        _, best = best_of(found)
        assert best.error is not None
        above.axvspan(best.error - best.spread, best.error + best.spread, color=SHADE, lw=0)
        for height, name in enumerate(names):
            look = looks(name)
            line = found[name]
            if line.error is not None:
                above.errorbar(line.error, height, xerr=line.spread, capsize=3, **look)
            if line.seconds is not None:
                below.plot(line.seconds, height, **look)
            if line.error is None:
                for ax in (above, below):
                    place = ax.get_yaxis_transform()
                    words = line.remark.partition(":")[0]
                    ax.text(0.5, height, words, transform=place, ha="center", va="center")
        above.set_title(data.replace("_", " "))
        above.set_xlabel(f"{NEIGHBORS}-NN error, %")
        above.set_xlim(left=0)
        below.set_xlabel("seconds of a fit")
        below.set_xscale("log")
        for ax in (above, below):
            ax.grid(axis="x", alpha=0.3)
    for ax in axes[:, 0]:
        ax.set_yticks(range(len(names)), names)
    axes[0, 0].invert_yaxis()  # all share it
    figure.suptitle("Grey: within one standard error of the least error", fontsize="medium")
    path = FIGURES / "learners.png"
    write_atomically(path, lambda file: figure.savefig(file, format="png", dpi=150))


def looks(name: str) -> dict[str, Any]:
    """Return how a learner is drawn: by whose it is."""
    if name == NO_LEARNING:
        return {"marker": "X", "color": GREY}
    if name in OURS:
        return {"marker": "o", "color": BLUE}
    is_sklearn = name.startswith("scikit-learn")
    return {"marker": "s" if is_sklearn else "^", "color": COLOURS[1 if is_sklearn else 2]}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--datasets", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--out", type=Path, default=WORK, help="where what is finished is kept")
    options = parser.parse_args()
    environment, problem = None, ""
    try:
        environment = Environment()
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", "") or "").strip() or str(error)
        problem = f"No environment with {REQUIREMENTS[0]}, no rows of it: {said.splitlines()[-1]}"
        print(problem, file=sys.stderr, flush=True)
    scores = measure(options.out, options.datasets, environment)
    lines = preface(environment)
    for data, found in scores.items():
        lines += table(data, found)
    lines += verdicts(scores)
    print("\n".join(lines))
    if environment is None:
        print(f"{problem}\nNothing is written.", file=sys.stderr)
        raise SystemExit(NO_ENVIRONMENT)
    if options.datasets != list(DATA):
        print("\nNot all data sets: nothing is written.", file=sys.stderr)
        return
    write_text(FIGURES / "learners.md", "\n".join(lines) + "\n")
    draw(scores)
    if options.out == WORK:  # the next run measures anew
        shutil.rmtree(WORK)


if __name__ == "__main__":
    main()
