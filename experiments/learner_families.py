"""Choose the defaults of the learners on synthetic families, by one rule that was stated before.

Each of 27 families makes 150 training samples and 2000 test samples for each of the seeds 0 to 3.
Over graph metrics four objectives are learned with five trace bounds C, multiples of the automatic
one, and two smallest eigenvalues ρ, from all training samples and from those of five folds; 5
nearest neighbours classify the test samples and those of the folds.

**The rule.** A family's gain is the test accuracy above that of no learning, the mean over its
seeds; the standard error of a mean gain over the families is that of the 27 gains. Of several
choices the one of the largest mean gain wins, except that among all choices whose paired difference
from it is within one standard error, the one with the fewest families below no learning (by more
than one standard error over the seeds) is taken, then the one of the fewest fits, then the one of
the larger mean. By this rule are chosen

* the default of `MetricLearner`: objective, C and ρ, one fit;
* of `MetricLearnerCV`: the bounds of the paths, ρ, the score of a fold (accuracy, or the share of
  neighbours of the right class), and how a choice is made from the scores (see `RULES`).

A second round was added after the first was looked at, and before it was measured: with what the
first has chosen for `MetricLearnerCV`, the automatic C of neighbourhood components times 1, 2.6 or
6.9, as the largest bounds had won, and the tolerance of fits on folds, 0.01 or 0.03. The rule is
the same, with CPU seconds of the search in the place of the number of fits.

A third round was added after these two, and before it was measured: by what standard error no
learning counts as near the best, with 600 training samples beside 150, as errors fall with their
number and the first round has one number only. New are standard errors over the held-out samples of
all folds: that of the mean of their differences in score from the best ("samples, paired"). The
rule is the same, over the 54 families of both sizes.

These rounds chose the search of the first version, a grid with the rule of one standard error. The
race that took its place has its rule in ``experiments/search.py``.

No number of a real data set is used.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import sem
from sklearn.datasets import make_circles, make_classification, make_gaussian_quantiles, make_moons
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from experiments.pages import Experiment, MeasuredRows, Page, header
from gdaopt.estimators.cross_validated import path_fits
from gdaopt.support.validation import FloatArray

SEEDS = range(4)
TRAINING, LARGE, TESTED, FOLDS, NEIGHBORS = 150, 600, 2000, 5, 5
OBJECTIVES = ("mcml", "nca", "lmnn", "glr")
STEP = 48**0.25
FACTORS = tuple(STEP**place / 16 for place in range(7))  # of the automatic C; searches have five
SHARES = (0.1, 0.3)  # ρ as a share of C/K
PATHS = tuple((objective, share, 5) for objective, share in product(OBJECTIVES, SHARES))
"""Objectives, ρ, and how many of FACTORS."""
FURTHER = tuple((objective, SHARES[0], 7 if objective == "nca" else 5) for objective in OBJECTIVES)
ROUNDS = {  # what is measured, the tolerance on folds, and how many training samples there are
    "nca": (FURTHER[1:2], 1e-2, TRAINING),
    "loose": (FURTHER, 3e-2, TRAINING),
    "first": (PATHS, 1e-2, TRAINING),
    "large": (FURTHER, 3e-2, LARGE),
}
BOUNDS = ((0, 1, 2, 3, 4), (0, 2, 4), (1, 2, 3), (1, 3), (2, 3), (3,))  # places in FACTORS
RULES = tuple(
    (score, bar, multiple, toward)
    for score in ("accuracy", "shares")  # of neighbours of the right class
    for bar, multiple in (("own", 0.0), ("own", 1.0), *product(("paired",), (0.5, 1.0, 2.0)))
    for toward in ("less", "none")
)
"""How a choice is made from the scores on folds.

Near the best mean score is what differs from it by at most a multiple of a standard error over the
folds: of the best score itself ("own"), or of the difference ("paired"). Of what is near, "less"
takes the first place on the paths, no learning before all, and of several the best; "none" takes no
learning if it is near, and else the best.
"""
ERRORS = (
    ("shares", "own", 0.0),
    ("shares", "own", 1.0),
    *product(("shares",), ("paired",), (0.5, 1.0, 2.0)),
    *product(("samples",), ("paired",), (0.5, 1.0, 2.0, 3.0)),
)
"""Standard errors and multiples of them, within which no learning is near the best; of "samples"
over the held-out samples of all folds, in place of folds."""
LEARNER = (BOUNDS[0], SHARES[:1], "shares", "own", 1.0, "none")
"""What `MetricLearnerCV` has: the choice of a first run, see the table."""
PLACES = np.array([-1, *(list(range(5)) * len(OBJECTIVES))])
"""The place on its path of no learning, and of each choice that the learner has."""
NAMES = ("bounds", "shares", "score", "bar", "multiple", "toward")

Samples = tuple[FloatArray, Any]
Family = Callable[[int, Any], Samples]
"""A function of the number of samples and of a generator of random numbers."""


# --- The families -------------------------------------------------------------------------------


def clouds(
    n_features: int, n_classes: int, distance: float, shape: float = 1.0, shares: Any = None
) -> Family:
    """One cloud a class; features have spreads from 1 to `shape`, then all are rotated."""

    def draw(count: int, rng: Any) -> Samples:
        turn = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
        centres = rng.standard_normal((n_classes, n_features))
        centres *= distance / np.linalg.norm(centres, axis=1)[:, None]
        y = rng.choice(n_classes, count, p=shares)
        spread = rng.standard_normal((count, n_features)) * np.geomspace(1, shape, n_features)
        return centres[y] + spread @ turn, y

    return draw


def classification(n_features: int, n_informative: int, **options: Any) -> Family:
    """The clouds of scikit-learn at corners of a cube."""

    def draw(count: int, rng: Any) -> Samples:
        settings = {"n_redundant": 0, "n_clusters_per_class": 2, **options}
        X, y = make_classification(
            count,
            n_features,
            n_informative=n_informative,
            random_state=int(rng.integers(2**31)),
            **settings,
        )
        return X, y

    return draw


def with_noise(make: Callable[..., Samples], n_noise: int, **options: Any) -> Family:
    """Samples of scikit-learn beside features of noise with about the same spread."""

    def draw(count: int, rng: Any) -> Samples:
        X, y = make(n_samples=count, random_state=int(rng.integers(2**31)), **options)
        return np.column_stack([X, rng.standard_normal((count, n_noise)) * X.std()]), y

    return draw


def labelled(
    label: Callable[[FloatArray], Any], n_features: int, levels: int = 0, flipped: float = 0.0
) -> Family:
    """Uniform features, of so many levels if any, and labels that follow from them."""

    def draw(count: int, rng: Any) -> Samples:
        X = rng.uniform(-1, 1, (count, n_features))
        if levels:
            X = rng.integers(levels, size=X.shape).astype(np.float64)
        y = np.asarray(label(X)).astype(int)
        return X, np.where(rng.random(count) < flipped, 1 - y, y)

    return draw


def spectra(count: int, rng: Any) -> Samples:
    """Smooth curves, some with a bump."""
    y = rng.integers(2, size=count)
    curves = np.cumsum(rng.standard_normal((count, 30)), axis=1) / 3
    return curves + y[:, None] * np.exp(-0.5 * ((np.arange(30) - 12) / 1.5) ** 2), y


def factors(count: int, rng: Any) -> Samples:
    """Three hidden factors, and a class by the weakest of them."""
    hidden = rng.standard_normal((count, 3)) * (3.0, 2.0, 1.0)
    X = hidden @ rng.standard_normal((3, 15)) + 0.3 * rng.standard_normal((count, 15))
    return X, (hidden[:, 2] > 0).astype(int)


def difference(count: int, rng: Any) -> Samples:
    """A class by the difference of two features that are nearly equal."""
    X = rng.standard_normal((count, 6))
    X[:, 1] = X[:, 0] + 0.5 * X[:, 1]
    return X, (X[:, 1] > X[:, 0]).astype(int)


FAMILIES: dict[str, Family] = {
    "one cloud, 2 classes": clouds(5, 2, 1.5),
    "one cloud, 3 classes, long": clouds(6, 3, 2.5, shape=4.0),
    "one cloud, 5 classes": clouds(10, 5, 2.5),
    "one cloud, 9 to 1": clouds(6, 2, 1.8, shares=(0.9, 0.1)),
    "clouds of different size": with_noise(make_gaussian_quantiles, 2, n_features=4, n_classes=2),
    "2 clouds, 4 features": classification(4, 4),
    "2 clouds, 3 classes": classification(8, 5, n_classes=3),
    "3 clouds, 2 classes": classification(8, 4, n_clusters_per_class=3),
    "exclusive or": labelled(lambda X: X[:, 0] * X[:, 1] > 0, 6),
    "checkerboard": labelled(lambda X: np.floor(1.5 * (X[:, :2] + 1)).sum(axis=1) % 2 == 0, 4),
    "moons": with_noise(make_moons, 6, noise=0.25),
    "circles": with_noise(make_circles, 6, noise=0.15, factor=0.4),
    "equal or one": labelled(lambda X: (X[:, 0] == X[:, 1]) | (X[:, 4] == 0), 6, 3),
    "exactly two": labelled(lambda X: (X == 0).sum(axis=1) == 2, 6, 3),
    "either pair, 5 % flipped": labelled(
        lambda X: ((X[:, 4] == 2) & (X[:, 3] == 0)) | ((X[:, 4] != 3) & (X[:, 1] != 2)), 6, 4, 0.05
    ),
    "parity of three": labelled(lambda X: X[:, :3].sum(axis=1) % 2 == 0, 6, 2),
    "the larger of two": labelled(lambda X: np.abs(X[:, 0]) > np.abs(X[:, 1]), 6),
    "16 of 20 noise": classification(20, 4),
    "26 of 30 noise": classification(30, 4),
    "15 of 20 noise, 4 classes": classification(20, 5, n_classes=4, n_clusters_per_class=1),
    "nothing but noise": labelled(lambda X: np.arange(len(X)) % 2 == 0, 8),
    "a fifth of labels wrong": classification(10, 5, flip_y=0.4),
    "12 combinations": classification(16, 4, n_redundant=12),
    "10 combinations, 5 noise, 4 classes": classification(
        20, 5, n_redundant=10, n_classes=4, n_clusters_per_class=1
    ),
    "spectra": spectra,
    "weakest factor": factors,
    "difference of two": difference,
}


# --- What is measured ---------------------------------------------------------------------------


def neighbours(
    X: FloatArray, y: Any, queries: FloatArray, answers: Any
) -> tuple[float, FloatArray]:
    """Return the accuracy, and for each query the share of its neighbours of the right class."""
    model = KNeighborsClassifier(NEIGHBORS).fit(X, y)
    shares, places = model.predict_proba(queries), np.searchsorted(model.classes_, answers)
    right = shares.argmax(axis=1) == places
    return float(right.mean()), shares[np.arange(len(answers)), places]


def graphs(share: float) -> Callable[[float, float], gda.sets.FeasibleSet]:
    """Return a function of C and of the automatic ρ that makes the set of another ρ."""
    return lambda bound, least: gda.GraphMetrics(bound, share / 0.1 * least)


def along_paths(
    paths: Any, tolerance: float, X: FloatArray, y: Any, queries: FloatArray, answers: Any
) -> dict[str, Any]:
    """Return what no learning and each bound of each path find, and their CPU seconds.

    That is the accuracy and the mean share of neighbours of the right class, and for each query how
    many of its neighbours are of the right class.
    """
    scores, seconds = [neighbours(X, y, queries, answers)], [0.0]
    classes, codes = np.unique(y, return_inverse=True)
    for objective, share, n_bounds in paths:
        start = time.process_time()
        learner = gda.MetricLearner(objective, metrics=graphs(share), tolerance=tolerance)
        learner.classes_, learner.n_features_in_ = classes, X.shape[1]
        ruler = gda.MetricLearner("mcml") if objective == "nca" else learner
        middle = ruler._bound(*ruler._make_problem(X, codes)[:2])
        bounds = middle.trace_bound * np.array(FACTORS[:n_bounds])
        for result, _ in path_fits(learner, X, codes, bounds):
            seconds.append(time.process_time() - start)
            _, components = learner._in_units(result)
            scores.append(neighbours(X @ components.T, y, queries @ components.T, answers))
            start = time.process_time()
    means = [(accuracy, shares.mean()) for accuracy, shares in scores]
    return {
        "found": np.round(means, 5).tolist(),
        "seconds": np.round(seconds, 5).tolist(),
        "right": [np.rint(shares * NEIGHBORS).astype(int).tolist() for _, shares in scores],
    }


def measure_family(
    make: Family, seed: int, paths: Any, tolerance: float, n_training: int, n_tested: int = TESTED
) -> dict[str, Any]:
    """Return what paths find on the test samples, and on the samples of each fold."""
    X, y = make(n_training + n_tested, np.random.default_rng(seed))
    scaler = StandardScaler().fit(X[:n_training])
    X, y = scaler.transform(X), np.asarray(y)
    train, tests = (X[:n_training], y[:n_training]), (X[n_training:], y[n_training:])
    of_tests = along_paths(paths, 1e-2, *train, *tests)
    return {
        "test": {name: of_tests[name] for name in ("found", "seconds")},
        "folds": [
            along_paths(paths, tolerance, *(part[at] for at in fold for part in train))
            for fold in StratifiedKFold(FOLDS).split(*train)
        ],
    }


def rows_of(
    path: Path,
    families: Sequence[str],
    seeds: Sequence[int],
    rounds: Mapping[str, tuple[Any, ...]],
) -> dict[str, list[dict[str, Any]]]:
    """Return what is measured in each round, by family and seed; the file keeps it."""
    rows = MeasuredRows(path)
    return {
        which: [
            rows.get_or_measure(
                partial(measure_family, FAMILIES[family], seed, *settings),
                **{"round": which, "family": family, "seed": seed},
            )
            for family, seed in product(families, seeds)
        ]
        for which, settings in rounds.items()
    }


# --- The rule -----------------------------------------------------------------------------------


def gains_of(accuracies: FloatArray, n_seeds: int) -> FloatArray:
    """Return accuracies above those of no learning in points, of shape (families, seeds, choices).

    `accuracies` has the shape (rows, choices), and no learning comes first.
    """
    gains = 100 * (accuracies - accuracies[:, :1])
    return np.asarray(gains.reshape(len(gains) // n_seeds, n_seeds, -1))


def chosen(gains: FloatArray, costs: Any) -> tuple[int, pd.DataFrame]:
    """Return the place of the choice by the rule, and a table of all choices.

    `gains` has the shape (choices, families, seeds), `costs` (choices,).
    """
    families = gains.mean(axis=2)
    best = families[families.mean(axis=1).argmax()]
    behind = (best - families).mean(axis=1)
    table = pd.DataFrame(
        {
            "gain": families.mean(axis=1),
            "below": (families < -sem(gains, axis=2) - 1e-9).sum(axis=1),
            "cost": costs,
        }
    )
    near = table[behind <= sem(best - families, axis=1) + 1e-9]
    order = near.sort_values(["below", "cost", "gain"], ascending=[True, True, False])
    return int(order.index[0]), table


def by_rule(scores: FloatArray, places: Any, bar: str, multiple: float, toward: str) -> int:
    """Return the choice from scores of shape (folds, choices); the first learns nothing."""
    means = scores.mean(axis=0)
    best = means.argmax()
    spread = scores[:, [best]] - (scores if bar == "paired" else 0.0)
    near = means >= means[best] - multiple * sem(spread, axis=0) - 1e-12
    if toward == "none":
        return 0 if near[0] else int(best)
    first = near & (places == places[near].min())
    return int(np.where(first, means, -np.inf).argmax())


class Measured:
    """What the rounds have found, as arrays; no learning is the first choice.

    `gains` on the test samples have the shape (families, seeds, choices), `scores` on folds, by
    "accuracy" and "shares", (rows, folds, choices), and by "samples" (rows, samples, choices).
    `seconds` of the choices are the mean over the rows of what all folds take.
    """

    def __init__(self, parts: list[tuple[list[dict[str, Any]], slice | list[int]]]) -> None:
        tests, folds, seconds = (
            np.concatenate(arrays, axis=axis)
            for axis, arrays in (
                (
                    1,
                    [np.array([row["test"]["found"] for row in rows])[:, at] for rows, at in parts],
                ),
                (2, [_of_folds(rows, "found")[:, :, at] for rows, at in parts]),
                (2, [_of_folds(rows, "seconds")[:, :, at] for rows, at in parts]),
            )
        )
        n_seeds = len({row["seed"] for row in parts[0][0]})
        self.gains = gains_of(tests[..., 0], n_seeds)
        self.plain = 100 * tests[:, 0, 0].reshape(-1, n_seeds).mean(axis=1)
        self.scores = {"accuracy": folds[..., 0], "shares": folds[..., 1]}
        self.scores["samples"] = np.concatenate([_of_samples(*part) for part in parts], axis=2)
        self.seconds = seconds.sum(axis=1).mean(axis=0)

    def search(self, choices: list[int], places: Any, rule: tuple[Any, ...]) -> FloatArray:
        """Return the gains of a search among some choices, of shape (families, seeds)."""
        score, *others = rule
        picks = [choices[by_rule(one[:, choices], places, *others)] for one in self.scores[score]]
        flat = self.gains.reshape(len(picks), -1)
        gains: FloatArray = flat[np.arange(len(picks)), picks].reshape(self.gains.shape[:2])
        return gains


def _of_folds(rows: list[dict[str, Any]], name: str) -> FloatArray:
    return np.array([[fold[name] for fold in row["folds"]] for row in rows])


def _of_samples(rows: list[dict[str, Any]], at: slice | list[int]) -> FloatArray:
    """Return the shares of neighbours of the right class, of the held-out samples of all folds."""
    right = [np.concatenate([np.array(f["right"])[at].T for f in row["folds"]]) for row in rows]
    return np.array(right) / NEIGHBORS


def first_round(measured: Measured) -> pd.DataFrame:
    """Return all ways of a search, the one that is chosen marked."""
    names, gains, fits = [], [], []
    for bounds, shares in product(BOUNDS, (SHARES[:1], SHARES[1:], SHARES)):
        choices, places = [0], [-1]
        for number, (_, share, n_bounds) in enumerate(PATHS):
            if share in shares:
                choices += [1 + number * n_bounds + bound for bound in bounds]
                places += range(len(bounds))
        for rule in RULES:
            names.append((bounds, shares, *rule))
            gains.append(measured.search(choices, np.array(places), rule))
            fits.append(FOLDS * (len(choices) - 1))
    return marked(names, NAMES, gains, fits).rename(columns={"cost": "fits"})


def second_round(rows: dict[str, list[dict[str, Any]]]) -> pd.DataFrame:
    """Return the bounds of neighbourhood components and tolerances, the chosen ones marked."""
    exact = Measured(
        [
            (rows["first"], slice(6)),
            (rows["nca"], slice(1, None)),
            (rows["first"], [*range(21, 26), *range(31, 36)]),
        ]
    )
    loose = Measured([(rows["loose"], slice(None))])
    names, gains, seconds = [], [], []
    for (tolerance, measured), shift in product(((1e-2, exact), (3e-2, loose)), range(3)):
        choices = choices_of(shift)
        names.append((STEP**shift, tolerance))
        gains.append(measured.search(choices, PLACES, LEARNER[2:]))
        seconds.append(measured.seconds[choices].sum())
    table = marked(names, ("nca", "tolerance"), gains, np.array(seconds) / seconds[0])
    return table.rename(columns={"cost": "CPU time"})


def choices_of(shift: int) -> list[int]:
    """Return the choices of `FURTHER` with five bounds for each objective, those of NCA shifted."""
    return [*range(6), *range(6 + shift, 11 + shift), *range(13, 23)]


def third_round(rows: dict[str, list[dict[str, Any]]]) -> pd.DataFrame:
    """Return the standard errors, the chosen one marked, over both numbers of samples."""
    both = [Measured([(rows[which], slice(None))]) for which in ("loose", "large")]
    gains = [
        np.concatenate(
            [measured.search(choices_of(1), PLACES, (*error, "none")) for measured in both]
        )
        for error in ERRORS
    ]
    table = marked(ERRORS, NAMES[2:5], gains, 1)
    for size, part in zip((TRAINING, LARGE), np.split(np.array(gains), 2, axis=1), strict=True):
        of_size = chosen(part, 1)[1]
        table[f"gain, {size}"] = of_size.gain.map("{:.2f}".format)
        table[f"families below, {size}"] = of_size.below
    return table


def marked(names: Any, columns: Sequence[str], gains: list[FloatArray], costs: Any) -> pd.DataFrame:
    """Return a table of choices with their gains, the chosen one marked."""
    place, table = chosen(np.array(gains), costs)
    table = pd.concat([pd.DataFrame(names, columns=list(columns)), table], axis=1)
    return table.assign(chosen=table.index == place)


# --- The table ----------------------------------------------------------------------------------


def lines_of(rows: dict[str, list[dict[str, Any]]], families: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the tables."""
    first = Measured([(rows["first"], slice(None))])
    nca = Measured([(rows["nca"], slice(None))]).gains[..., 6:]
    yield from (__doc__ or "").split("\n\n", 1)[1].split("\n")
    yield "## One fit"
    yield ""
    yield "Mean gain over the families in points, and on how many it is below no learning."
    yield ""
    yield from header(f"objective, ρ K/C | {' | '.join(f'{factor:.3g} C' for factor in FACTORS)}")
    singles = np.moveaxis(np.concatenate([first.gains, nca], axis=2), 2, 0)
    place, table = chosen(singles, 1)
    cells = [f"{gain:.2f} ({below})" for gain, below in zip(table.gain, table.below, strict=True)]
    cells[place] = f"**{cells[place]}**"
    for number, (objective, share, n_bounds) in enumerate(PATHS):
        start = 1 + number * n_bounds
        row = cells[start : start + n_bounds]
        row += cells[-2:] if (objective, share) == ("nca", SHARES[0]) else ["", ""]
        yield f"| {objective.upper()}, {share:g} | {' | '.join(row)} |"
    yield ""
    yield "C is the automatic bound, for NCA that of MCML. The rule takes the number in bold type:"
    yield "3 C is the automatic bound of `gda.NCA` since then. `MetricLearner` stays with MCML: it"
    yield "is convex, has a certificate, and takes a fraction of the time."
    yield ""
    yield "## The search: first round"
    yield ""
    table = first_round(first)
    best: Any
    (best,) = table[table["chosen"]].itertuples()
    is_learner = (table[list(NAMES)] == LEARNER).all(axis=1)
    (learner,) = table[is_learner].itertuples()
    yield f"In this run the rule takes: bounds {best.bounds}, ρ = {best.shares} C/K, score"
    yield f"{best.score}, error {best.bar} × {best.multiple:g}, toward {best.toward}: gain"
    yield f"{best.gain:.2f}, below on {best.below}, {best.fits} fits. In a first run, whose bounds"
    yield "differed in the last bit, it took all bounds, ρ = 0.1 C/K, score shares, error own × 1,"
    yield f"toward none, and `MetricLearnerCV` has that (here gain {learner.gain:.2f}, below on"
    yield f"{learner.below}, {learner.fits} fits). The other rules with its bounds and ρ:"
    yield ""
    yield from grid(_alike(table, NAMES[:2]), NAMES[2:], "fits")
    yield ""
    yield "Other bounds and ρ with its score and error:"
    yield ""
    yield from grid(_alike(table, NAMES[2:]), NAMES[:2], "fits")
    yield ""
    yield "## The search: second round"
    yield ""
    yield "The learner has the tolerance of the choice, in bold type; its paths follow the"
    yield "automatic bound of NCA, which is that of a single fit, 3 C. CPU times are relative to"
    yield "that of the first row."
    yield ""
    yield from grid(second_round(rows), ("nca", "tolerance"), "CPU time")
    yield ""
    yield "## The search: third round"
    yield ""
    third = third_round(rows)
    (best,) = third[third["chosen"]].itertuples()
    (learner,) = third[(third[list(NAMES[2:5])] == LEARNER[2:5]).all(axis=1)].itertuples()
    yield "Within how many standard errors no learning is near the best, with 150 and with 600"
    yield "training samples; the choice of the rule is in bold type. `MetricLearnerCV` stays with"
    yield f"own × 1: it gains {best.gain - learner.gain:.2f} points less, and is below no learning"
    yield f"on {learner.below} of the {2 * len(families)} families, the choice of the rule on"
    yield f"{best.below}; never to be below it is what that learner promises."
    yield ""
    yield from grid(third, NAMES[2:5], *third.columns[-4:])
    yield ""
    yield "## Families"
    yield ""
    yield "Accuracy of no learning in percent, and gains in points, ± standard errors of the seeds:"
    yield "MCML with 1.14 C, NCA with 3 C, the best of all choices in hindsight, and the search of"
    yield "`MetricLearnerCV` in the first round."
    yield ""
    yield from header("family | no learning | MCML | NCA | best in hindsight | search")
    choices = [1 + 10 * number + bound for number in range(len(OBJECTIVES)) for bound in range(5)]
    search = first.search([0, *choices], PLACES, LEARNER[2:])
    columns = [first.gains[..., 4], first.gains[..., 15], first.gains.max(axis=2), search]
    told = [
        [
            f"{mean:.1f} ± {error:.1f}"
            for mean, error in zip(g.mean(axis=1), sem(g, axis=1), strict=True)
        ]
        for g in columns
    ]
    for family, plain, *texts in zip(families, first.plain, *told, strict=True):
        yield f"| {family} | {plain:.1f} | {' | '.join(texts)} |"


def _alike(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the ways of a search that share some of their names with `MetricLearnerCV`."""
    alike = [table[name] == LEARNER[NAMES.index(name)] for name in names]
    return table[np.logical_and.reduce(alike)]


def grid(table: pd.DataFrame, names: Sequence[str], *others: str) -> Iterator[str]:
    """Yield the lines of a table of choices: names, gain, families below, and other columns."""
    heads = " | ".join([*names, "gain", "families below", *others])
    yield from header(heads, len(names))
    for _, row in table.iterrows():
        shown, further = (
            [
                f"{row[each]:.3g}" if isinstance(row[each], float) else f"{row[each]}"
                for each in part
            ]
            for part in (names, others)
        )
        gain = f"**{row['gain']:.2f}**" if row["chosen"] else f"{row['gain']:.2f}"
        yield f"| {' | '.join([*shown, gain, str(row['below']), *further])} |"


def run(quick: bool, out: Path) -> None:
    """Measure what is missing, with `quick` two small families, and write the page."""
    families, seeds = list(FAMILIES), SEEDS
    rounds: Mapping[str, tuple[Any, ...]] = ROUNDS
    if quick:
        families, seeds = families[:2], SEEDS[:2]
        rounds = {which: (paths, 0.1, 30, 100) for which, (paths, *_) in ROUNDS.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits that end early, and metrics as without learning
        rows = rows_of(out / "learner_families.jsonl", families, seeds, rounds)
        page = Page(
            out,
            "learner_families",
            "The defaults of the learners, chosen on synthetic families",
            "A rule that was stated before anything was measured, and what it chooses.",
        )
        page.add(*lines_of(rows, families))
    page.write()


EXPERIMENT = Experiment(
    "the defaults of the learners, chosen by a rule on 27 synthetic families",
    minutes=180,
    files=("learner_families.md",),
    run=run,
)
