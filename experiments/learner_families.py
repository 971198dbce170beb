"""Choose the defaults of the learners on synthetic families, by rules that were stated before.

Each of 27 families makes 150 training samples and 2000 test samples for each of the seeds 0 to 3.
Accuracy is that of 5 nearest neighbours; a family's gain is the accuracy above that of no learning,
the mean over its seeds, and the standard error of a mean gain over the families is that of their
gains. No number of a real data set is used.

**One fit.** Over graph metrics four objectives are learned with five trace bounds C, multiples of
the automatic one of MCML, and two smallest eigenvalues ρ. Of all choices the one of the largest
mean gain wins, except that among all whose paired difference from it is within one standard error,
the one with the fewest families below no learning (by more than one standard error over the seeds)
is taken, then the one of the larger mean.

**The search.** `MetricLearnerCV` is a race of MCML and neighbourhood components, with some
multiples of their automatic bounds each, over folds. Its constants are chosen among all
combinations of

* 2 or 3 folds, of at most 200 or 400 training samples;
* the bounds: see `MULTIPLES`;
* the tolerance of neighbourhood components on folds, 0.1, 0.3 or 1, which ends the quasi-Newton
  steps at gains of 1e-4, 3e-4 or 1e-3;
* the standard errors behind the best at which a candidate leaves, 0.5, 1 or 2;
* whether after the first fold each objective goes on with its best bound alone;
* the chance below which no learning can be left, 0.01, 0.02 or 0.05.

Each family makes 600 training samples, too, so that there are 54. Noise has the five shapes of
``experiments/search.py``, with 25 other seeds. The combination of the largest mean gain sets the
bar. Of those whose paired difference from it is within one standard error, and which choose a
learner in at most 6 % of the noise and 12 % of a shape, the one of the least time is taken: the
mean over the families of the processor time of the fits in its race, relative to that of
`REFERENCE`. Each choice is judged by a fit to all training samples with the tolerance 0.01.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import sem
from sklearn.datasets import make_circles, make_classification, make_gaussian_quantiles, make_moons
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from experiments.pages import Experiment, MeasuredRow, MeasuredRows, Page, header, row, wrap
from experiments.search import SHAPES, pure_noise
from gdaopt.estimators.cross_validated import path_fits
from gdaopt.estimators.draws import stratified_sample
from gdaopt.estimators.racing import Race, chance, shares_of_own_class
from gdaopt.support.validation import FloatArray

SEEDS = range(4)
NOISE_SEEDS = range(100, 125)
SIZES, TESTED, NEIGHBORS = (150, 600), 2000, 5
OBJECTIVES = ("mcml", "nca", "lmnn", "glr")
STEP = 48**0.25
FACTORS = tuple(STEP**place / 16 for place in range(7))  # of the automatic C
SHARES = (0.1, 0.3)  # ρ as a share of C/K
TOLERANCE = 1e-2  # of the fits that are judged

MEASURED = (1.0, 2.0, 4.0, 8.0)
MULTIPLES = ((1.0, 2.0, 4.0, 8.0), (1.0, 4.0), (2.0, 4.0), (2.0, 8.0), (2.0,), (4.0,))
"""Bounds of the candidates, of those that are measured."""
N_FOLDS, MOST = (2, 3), (200, 400)
TOLERANCES = {"mcml": (3e-2,), "nca": (0.1, 0.3, 1.0)}  # on folds
ERRORS, CHANCES = (0.5, 1.0, 2.0), (0.01, 0.02, 0.05)
HELPS = 2.0  # points above no learning, two standard errors of 2000 test samples or more

Samples = tuple[FloatArray, Any]
Family = Callable[[int, Any], Samples]
"""A function of the number of samples and of a generator of random numbers."""


class Setting(NamedTuple):
    """The constants of a race."""

    n_folds: int
    most: int
    multiples: tuple[float, ...]
    tolerance: float
    errors: float
    one_bound: bool
    chance: float


REFERENCE = Setting(3, 400, (2.0, 4.0), 0.1, 1.0, False, 0.02)


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


def draw_family(make: Family, seed: int, n_training: int) -> tuple[Samples, Samples]:
    """Return training and test samples in z-scores by the training samples."""
    X, y = make(n_training + TESTED, np.random.default_rng(seed))
    X, y = StandardScaler().fit(X[:n_training]).transform(X), np.asarray(y)
    return (X[:n_training], y[:n_training]), (X[n_training:], y[n_training:])


def graphs(share: float) -> Callable[[float, float], gda.sets.FeasibleSet]:
    """Return a function of C and of the automatic ρ that makes the set of another ρ."""
    return lambda bound, least: gda.GraphMetrics(bound, share / 0.1 * least)


def automatic_bound(objective: str, X: FloatArray, y: Any) -> float:
    """Return the automatic trace bound of an objective."""
    learner = gda.MetricLearner(objective)
    learner.classes_, codes = np.unique(y, return_inverse=True)
    learner.n_features_in_ = X.shape[1]
    bound: float = learner._bound(*learner._make_problem(X, codes)[:2]).trace_bound
    return bound


def fits_along(
    learner: gda.MetricLearner, bounds: FloatArray, X: FloatArray, y: Any
) -> Iterator[tuple[FloatArray, float]]:
    """Yield the components of the metric of each bound, and the CPU seconds of its fit."""
    learner.n_features_in_ = X.shape[1]
    start = time.process_time()
    for fit in path_fits(learner, X, y, bounds):
        seconds = time.process_time() - start
        yield fit.components, seconds
        start = time.process_time()


def accuracy(components: FloatArray, train: Samples, tests: Samples) -> float:
    """Return the accuracy of nearest neighbours under a metric."""
    model = KNeighborsClassifier(NEIGHBORS).fit(train[0] @ components.T, train[1])
    return float(model.score(tests[0] @ components.T, tests[1]))


def one_fit(make: Family, seed: int) -> MeasuredRow:
    """Return the accuracies of no learning and of each choice on the test samples."""
    train, tests = draw_family(make, seed, SIZES[0])
    accuracies = [accuracy(np.eye(train[0].shape[1]), train, tests)]
    for objective, share in product(OBJECTIVES, SHARES):
        learner = gda.MetricLearner(objective, metrics=graphs(share), tolerance=TOLERANCE)
        middle = automatic_bound("mcml" if objective == "nca" else objective, *train)
        bounds = middle * np.array(FACTORS if objective == "nca" else FACTORS[:5])
        accuracies += [
            accuracy(made, train, tests) for made, _ in fits_along(learner, bounds, *train)
        ]
    return {"accuracies": accuracies}


def candidates(make: Family, seed: int, n_training: int) -> MeasuredRow:
    """Return the accuracies of no learning and of all candidates, and their scores on folds."""
    train, tests = draw_family(make, seed, n_training)
    accuracies = [accuracy(np.eye(train[0].shape[1]), train, tests)]
    for objective in TOLERANCES:
        learner = gda.MetricLearner(objective, tolerance=TOLERANCE)
        bounds = automatic_bound(objective, *train) * np.array(MEASURED)
        accuracies += [
            accuracy(made, train, tests) for made, _ in fits_along(learner, bounds, *train)
        ]
    return {"accuracies": accuracies, **scores_on_folds(*train)}


def candidates_in_noise(shape: tuple[int, int, int], seed: int) -> MeasuredRow:
    """Return the scores of all candidates on folds where there is nothing to find."""
    return scores_on_folds(*pure_noise(shape, seed))


def scores_on_folds(X: FloatArray, y: Any) -> MeasuredRow:
    """Return the scores of all candidates, and the seconds of their fits, for each kind of folds.

    A score is the number of right neighbours of each sample, a digit each. The fold in which a
    sample is held out is a digit, too.
    """
    measured: MeasuredRow = {}
    bounds = {name: automatic_bound(name, X, y) * np.array(MEASURED) for name in TOLERANCES}
    for n_folds, most in product(N_FOLDS, MOST):
        if most > MOST[0] and len(y) * (n_folds - 1) <= MOST[0] * n_folds:
            continue  # all samples of a fold are learned from already
        scores = np.zeros((1 + sum(map(len, TOLERANCES.values())) * len(MEASURED), len(y)))
        held_out, seconds = np.zeros(len(y), dtype=int), []
        for fold, (some, test) in enumerate(StratifiedKFold(n_folds).split(X, y)):
            held_out[test] = fold
            train = X[some], y[some]
            if len(some) > most:
                codes = np.unique(y[some], return_inverse=True)[1]
                some = some[stratified_sample(codes, most, seed=0)]
            metrics, taken = [np.eye(X.shape[1])], [0.0]
            for name, tolerances in TOLERANCES.items():
                for tolerance in tolerances:
                    learner = gda.MetricLearner(name, tolerance=tolerance)
                    for made, each in fits_along(learner, bounds[name], X[some], y[some]):
                        metrics.append(made)
                        taken.append(round(each, 5))
            seconds.append(taken)
            for place, made in enumerate(metrics):
                scores[place, test] = shares_of_own_class(
                    train[0] @ made.T, train[1], X[test] @ made.T, y[test]
                )
        measured[f"{n_folds} folds of {most}"] = {
            "held out": as_digits(held_out),
            "right": [as_digits(np.rint(shares * NEIGHBORS).astype(int)) for shares in scores],
            "seconds": seconds,
        }
    return measured


def as_digits(numbers: Any) -> str:
    """Return numbers below 10 as a text."""
    return "".join(map(str, numbers.tolist()))


def of_digits(text: str) -> Any:
    """Return the numbers of a text of digits."""
    return np.frombuffer(text.encode(), dtype=np.uint8) - ord("0")


# --- The rules ----------------------------------------------------------------------------------


def gains_of(accuracies: FloatArray) -> FloatArray:
    """Return accuracies above those of no learning in points, of shape (families, seeds, choices).

    `accuracies` has the shape (rows, choices), and no learning comes first.
    """
    gains = 100 * (accuracies - accuracies[:, :1])
    return gains.reshape(-1, len(SEEDS), gains.shape[1])


def near_best(families: FloatArray) -> Any:
    """Return which choices are within a standard error of the best; shape (choices, families)."""
    best = families[families.mean(axis=1).argmax()]
    behind = best - families
    return behind.mean(axis=1) <= sem(behind, axis=1) + 1e-9


def choose_fit(gains: FloatArray) -> tuple[int, pd.DataFrame]:
    """Return the place of the choice by the rule of one fit, and a table of all choices.

    `gains` has the shape (choices, families, seeds).
    """
    families = gains.mean(axis=2)
    below = (families < -sem(gains, axis=2) - 1e-9).sum(axis=1)
    table = pd.DataFrame({"gain": families.mean(axis=1), "below": below})
    near = table[near_best(families)]
    return int(near.sort_values(["below", "gain"], ascending=[True, False]).index[0]), table


def replay(measured: MeasuredRow, setting: Setting) -> tuple[dict[float, int], float]:
    """Return what a race chooses for each of `CHANCES` and for 1, and the seconds of its fits.

    A choice is the place of its accuracy: 0 is no learning, then come the objectives with the
    bounds of `MEASURED`.
    """
    key = f"{setting.n_folds} folds of {setting.most}"
    folds = measured[key if key in measured else f"{setting.n_folds} folds of {MOST[0]}"]
    held_out, seconds = of_digits(folds["held out"]), folds["seconds"]
    places, choices, paths = [0], [0], list[slice]()
    first = 1
    for number, tolerances in enumerate(TOLERANCES.values()):
        start = first
        if setting.tolerance in tolerances:
            start += len(MEASURED) * tolerances.index(setting.tolerance)
        first += len(MEASURED) * len(tolerances)
        among = [MEASURED.index(multiple) for multiple in setting.multiples]
        paths.append(slice(len(places), len(places) + len(among)))
        places += [start + place for place in among]
        choices += [1 + number * len(MEASURED) + place for place in among]
    owners = np.append(0, np.repeat(1 + np.arange(len(paths)), len(setting.multiples)))
    right = np.array([of_digits(folds["right"][place]) for place in places]) / NEIGHBORS
    race, cost = Race(*right.shape), 0.0
    for fold in range(setting.n_folds):
        test = np.flatnonzero(held_out == fold)
        for candidate in np.flatnonzero(race.is_in).tolist():
            race.add(candidate, test, right[candidate, test])
        for path in paths:
            # The first fit of a path is not warm, whatever its bound is.
            fits = np.array(places[path])[race.is_in[path]].tolist()
            fits[:1] = [place - (place - 1) % len(MEASURED) for place in fits[:1]]
            cost += sum(seconds[fold][place] for place in fits)
        if setting.one_bound:
            race.keep_best(owners)
        race.drop(setting.errors, spared=0)
    best, chances = race.best, chance(race.scores[1:] - race.scores[0])
    return {level: 0 if chances >= level else choices[best] for level in (*CHANCES, 1.0)}, cost


def all_settings() -> list[Setting]:
    """Return all combinations of the constants of a race, but for the chances."""
    constants = product(N_FOLDS, MOST, MULTIPLES, TOLERANCES["nca"], ERRORS, (False, True))
    return [Setting(*each, REFERENCE.chance) for each in constants]


class Replayed(NamedTuple):
    """What races choose, of shape (settings, sets), and what their fits take, in seconds."""

    settings: list[Setting]
    choices: Any
    seconds: FloatArray


def replay_all(measured: Sequence[MeasuredRow], settings: Sequence[Setting]) -> Replayed:
    """Return what races with each of `CHANCES` choose on all sets."""
    names, choices, seconds = [], [], []
    for setting in settings:
        races = [replay(each, setting) for each in measured]
        for level in CHANCES:
            names.append(setting._replace(chance=level))
            choices.append([chosen[level] for chosen, _ in races])
            seconds.append([cost for _, cost in races])
    return Replayed(names, np.array(choices), np.array(seconds))


def choose_search(
    of_families: Replayed, of_noise: Replayed, n_shapes: int, gains: FloatArray
) -> pd.DataFrame:
    """Return a table of all settings: gain, noise, time, and whether the rule takes it.

    `gains` of the families' sets have the shape (sets, choices).
    """
    found = gains[np.arange(len(gains)), of_families.choices]
    families = found.reshape(len(found), -1, len(SEEDS)).mean(axis=2)
    is_wrong = (of_noise.choices > 0).reshape(len(found), n_shapes, -1)
    place = of_families.settings.index(REFERENCE)
    relative = of_families.seconds / of_families.seconds[place]
    table = pd.DataFrame(of_families.settings)
    table["gain"] = families.mean(axis=1)
    table["below"] = (families < -0.5).sum(axis=1)
    table["noise"] = 100 * is_wrong.mean(axis=(1, 2))
    table["worst"] = 100 * is_wrong.mean(axis=2).max(axis=1)
    table["time"] = relative.mean(axis=1)
    fits = near_best(families) & (table["noise"] <= 6) & (table["worst"] <= 12)
    table["near"] = fits
    table["chosen"] = False
    if fits.any():
        table.loc[
            table[fits].sort_values(["time", "gain"], ascending=[True, False]).index[0], "chosen"
        ] = True
    return table


# --- The tables ---------------------------------------------------------------------------------


def lines_of_fits(accuracies: FloatArray) -> Iterator[str]:
    """Yield the table of single fits."""
    gains = gains_of(accuracies)
    place, table = choose_fit(np.moveaxis(gains, 2, 0))
    cells = [f"{gain:.2f} ({below})" for gain, below in table.itertuples(index=False)]
    cells[place] = f"**{cells[place]}**"
    yield from ("## One fit", "")
    yield from wrap(
        "Mean gain over the families in points, and on how many it is below no learning. C is the "
        "automatic bound, for NCA that of MCML. The rule takes the number in bold type; the "
        "automatic bound of `gda.NCA` is 3 C. `MetricLearner` stays with MCML: it is convex, has a "
        "certificate, and takes a fraction of the time."
    )
    yield ""
    yield from header(f"objective, ρ K/C | {' | '.join(f'{factor:.3g} C' for factor in FACTORS)}")
    rest = iter(cells[1:])
    for objective, share in product(OBJECTIVES, SHARES):
        count = len(FACTORS) if objective == "nca" else 5
        told = [next(rest) for _ in range(count)]
        yield row(f"{objective.upper()}, {share:g}", *told, *[""] * (len(FACTORS) - count))
    yield ""


def lines_of_settings(table: pd.DataFrame) -> Iterator[str]:
    """Yield the choice, the bar, and what differs from the choice in one constant."""
    names = list(Setting._fields)
    constants = table[names].astype(str)
    best = int(table["gain"].argmax())
    yield from ("## The search", "")
    yield from wrap(
        f"{len(table)} combinations; {int(table['near'].sum())} of them are within one standard "
        "error of the largest gain, and find little in noise. In bold type what the rule takes; "
        "then the largest gain, the reference, and what differs from the choice in one constant. "
        "Families below: of the 54, by more than half a point."
    )
    yield ""
    heads = "folds | samples | bounds | NCA's tolerance | errors | one bound | chance | gain "
    yield from header(f"{heads}| families below | noise, % | worst shape, % | time")
    shown = [
        best,
        table.index[(constants == pd.Series(REFERENCE, names).astype(str)).all(axis=1)][0],
    ]
    if table["chosen"].any():
        choice = int(table["chosen"].argmax())
        shown = [
            choice,
            *shown,
            *table.index[(constants != constants.loc[choice]).sum(axis=1) == 1],
        ]
    for place in dict.fromkeys(shown):
        each: Any = table.loc[place]
        bounds = ", ".join(f"{multiple:g}" for multiple in each["multiples"])
        gain = f"**{each['gain']:.2f}**" if each["chosen"] else f"{each['gain']:.2f}"
        cells = [each["n_folds"], each["most"], bounds, each["tolerance"], each["errors"]]
        cells += ["yes" if each["one_bound"] else "no", each["chance"], gain, each["below"]]
        yield row(*cells, f"{each['noise']:.1f}", f"{each['worst']:.0f}", f"{each['time']:.2f}")
    yield ""


def lines_of_loss(chosen: Any, races: Any, gains: FloatArray) -> Iterator[str]:
    """Yield how much real structure is lost: by the chosen search beside its race alone.

    `chosen` and `races`, of shape (sets,), are what is chosen with and without the rule of chance.
    """
    found, possible = (gains[np.arange(len(gains)), which] for which in (chosen, races))
    yield from ("## Structure that is lost", "")
    yield from wrap(
        "A learner truly helps on a set where the winner of the race has an accuracy of the 2000 "
        f"test samples that is {HELPS:g} points or more above that of no learning. What the rule "
        "of chance costs there, and over all sets:"
    )
    yield ""
    yield from header(
        "training samples | sets | a learner helps | of these none | points lost there "
        "| points lost by all sets | points saved where the winner is worse"
    )
    for size, part in zip(SIZES, np.split(np.arange(len(gains)), 2), strict=True):
        helps = possible[part] >= HELPS
        lost = possible[part] - found[part]
        yield row(
            size,
            len(part),
            int(helps.sum()),
            int((helps & (chosen[part] == 0)).sum()),
            f"{lost[helps].mean():.2f}",
            f"{lost.mean():.2f}",
            f"{-lost[possible[part] < 0].sum() / len(part):.2f}",
        )
    yield ""


def lines_of_families(
    families: Sequence[str], plain: FloatArray, chosen: Any, gains: FloatArray
) -> Iterator[str]:
    """Yield accuracy and gains of each family and size."""
    yield from ("## Families", "")
    yield from wrap(
        "Accuracy of no learning in percent, and gains in points ± standard errors of the seeds: "
        "MCML and NCA with twice their automatic bounds, the best candidate in hindsight, and the "
        "search; on how many of the seeds it says none."
    )
    yield ""
    yield from header("family | samples | no learning | MCML | NCA | in hindsight | search | none")
    found = gains[np.arange(len(gains)), chosen]
    among = np.column_stack([gains[:, [2, 6]], gains.max(axis=1), found])
    for number, (size, family) in enumerate(product(SIZES, families)):
        part = slice(number * len(SEEDS), (number + 1) * len(SEEDS))
        told = zip(among[part].mean(axis=0), sem(among[part], axis=0), strict=True)
        cells = [f"{mean:.1f} ± {error:.1f}" for mean, error in told]
        yield row(family, size, f"{plain[part].mean():.1f}", *cells, int((chosen[part] == 0).sum()))


def run(quick: bool, out: Path) -> None:
    """Measure what is missing, with `quick` two small families, and write the page."""
    families, shapes = list(FAMILIES), list(SHAPES)
    settings, sizes, noise_seeds = all_settings(), SIZES, NOISE_SEEDS
    if quick:
        families, shapes, sizes = families[:2], shapes[2:3], (30, 40)
        settings, noise_seeds = [*settings[-2:], REFERENCE], NOISE_SEEDS[:1]
    rows = MeasuredRows(out / "learner_families.jsonl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits that end early, and metrics as without learning
        fits = [
            rows.get_or_measure(partial(one_fit, FAMILIES[name], seed), family=name, seed=seed)
            for name, seed in product(families, SEEDS)
        ]
        sets = [
            rows.get_or_measure(
                partial(candidates, FAMILIES[name], seed, size), size=size, name=name, number=seed
            )
            for size, name, seed in product(sizes, families, SEEDS)
        ]
        noise = [
            rows.get_or_measure(
                partial(candidates_in_noise, shape, seed), shape=list(shape), noise=seed
            )
            for shape, seed in product(shapes, noise_seeds)
        ]
    accuracies = 100 * np.array([each["accuracies"] for each in sets])
    gains = accuracies - accuracies[:, :1]
    of_families, of_noise = replay_all(sets, settings), replay_all(noise, settings)
    table = choose_search(of_families, of_noise, len(shapes), gains)
    place = int(table["chosen" if table["chosen"].any() else "gain"].argmax())
    chosen = of_families.choices[place]
    races = np.array([replay(each, of_families.settings[place])[0][1.0] for each in sets])
    page = Page(
        out,
        "learner_families",
        "The defaults of the learners, chosen on synthetic families",
        "Rules that were stated before anything was measured, and what they choose.",
    )
    page.add(*(__doc__ or "").split("\n\n", 1)[1].split("\n"))
    page.add(*lines_of_fits(np.array([each["accuracies"] for each in fits])))
    page.add(*lines_of_settings(table))
    page.add(*lines_of_loss(chosen, races, gains))
    page.add(*lines_of_families(families, accuracies[:, 0], chosen, gains))
    page.write()


EXPERIMENT = Experiment(
    "the defaults of the learners, chosen by rules on 27 synthetic families and on noise",
    minutes=30,
    files=("learner_families.md",),
    run=run,
)
