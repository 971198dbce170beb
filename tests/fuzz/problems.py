"""Random problems: what each is made of is drawn from a seed, and printed when a run fails.

`Ingredients.drawn(seed)` gives the same ingredients on every machine, and ``.problem()`` the
problem. To shrink a failure, replace ingredients: ``dataclasses.replace(ingredients, shift=0.0)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import gdaopt as gda
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray
from tests.methods.certified_cases import set_of

__all__ = ["KINDS", "Ingredients"]

KINDS = ("graph", "signed", "diagonal", "definite")


@dataclass(frozen=True)
class Ingredients:
    """What a random problem is made of."""

    seed: int
    kind: str  # of the set: an item of `KINDS`
    objective: str  # "GLR", or "LogDet" of the covariance matrix of the samples
    n_samples: int
    scales: tuple[float, ...]  # the logarithms, to base 10, of the scales of the features
    duplicates: float  # the share of the samples that repeat the first
    constant: float  # the share of the features
    collinear: float  # the share of the features that are multiples of the first
    apart: float  # by how much, in units of the scales, duplicates differ from the first sample
    tail: float  # by how many decades the samples' sizes differ
    shift: float  # the mean of each feature, in units of its scale
    signal: str  # two "classes", "close" to these, "real" numbers, or "several" of them
    positives: int  # how many samples the first of the two classes has
    weights: float  # by how many decades the weights of samples differ
    listed: float  # the share of the pairs in a list of them; 0: all pairs, without a list
    bound: str  # "fixed", by the features' "scale", or "tight": hardly above K min_eigenvalue
    trace_bound: float  # as a multiple of that
    eigenvalue_share: float  # K times the smallest eigenvalue, as a share of the bound
    path_share: float  # the weight of the path's edges, as a share of what the budget allows

    @classmethod
    def drawn(cls, seed: int) -> Ingredients:
        """Return the ingredients of a seed."""
        rng = np.random.default_rng(seed)
        size, n_samples = int(rng.integers(1, 9)), int(rng.integers(2, 41))
        decades = float(rng.choice([0.0, 1.0, 4.0, 8.0]))
        centre = float(rng.choice([0.0, rng.uniform(decades - 8, 8 - decades)]))
        kind = str(rng.choice(KINDS, p=[0.4, 0.2, 0.2, 0.2]))
        bound = str(rng.choice(["scale", "fixed", "tight"], p=[0.6, 0.2, 0.2]))
        share = {"tight": 1 - 10 ** rng.uniform(-10, -1), "fixed": 10 ** rng.uniform(-12, -0.3)}

        def one_of(*values: float, rarely: tuple[float, ...] = ()) -> float:
            common = (1 - 0.1 * len(rarely)) / len(values)
            p = [common] * len(values) + [0.1] * len(rarely)
            return float(rng.choice([*values, *rarely], p=p))

        return cls(
            seed=seed,
            kind=kind,
            objective=str(rng.choice(["GLR", "LogDet"], p=[0.7, 0.3])),
            n_samples=n_samples,
            scales=tuple((centre + rng.uniform(-decades, decades, size)).round(3).tolist()),
            duplicates=one_of(0.0, 0.3, rarely=(0.9,)),
            constant=one_of(0.0, rarely=(0.2, 0.6)),
            collinear=one_of(0.0, rarely=(0.3, 0.6)),
            apart=one_of(0.0, rarely=(1e-12, 1e-8, 1e-4)),
            tail=one_of(0.0, rarely=(1.0, 3.0)),
            shift=one_of(0.0, 1.0, rarely=(1e3, 1e7)),
            signal=str(rng.choice(["classes", "real", "close", "several"], p=[0.7, 0.1, 0.1, 0.1])),
            positives=int(rng.choice([1, max(1, n_samples // 2)])),
            weights=one_of(0.0, rarely=(1.0, 8.0)),
            listed=one_of(0.0, rarely=(0.2, 1.0)),
            bound=bound,
            trace_bound=float(
                10 ** (rng.uniform(-2, 6) if bound == "fixed" else rng.uniform(-3, 5))
            ),
            eigenvalue_share=float(
                rng.choice([0.0, share.get(bound, 10 ** rng.uniform(-12, -0.1))], p=[0.2, 0.8])
            ),
            path_share=one_of(0.0, rarely=(1e-3, 0.5, 0.999)),
        )

    @property
    def n_features(self) -> int:
        """K."""
        return len(self.scales)

    def samples(self) -> tuple[FloatArray, FloatArray]:
        """Return the features, and the signals as columns."""
        rng = np.random.default_rng([self.seed, 1])
        n, size = self.n_samples, self.n_features
        X = rng.standard_normal((n, size)) * 10 ** (self.tail * rng.uniform(-1, 1, (n, 1)))
        X[:, rng.random(size) < self.collinear] = X[:, :1]
        X[:, rng.random(size) < self.constant] = 0.0
        repeats = rng.random(n) < self.duplicates
        X[repeats] = X[0] + self.apart * rng.standard_normal((int(repeats.sum()), size))
        classes = np.where(rng.permutation(n) < self.positives, 1.0, -1.0)
        noise = rng.standard_normal((n, 3))
        signals = {
            "classes": classes[:, None],
            "real": noise[:, :1],
            "close": classes[:, None] + 1e-9 * noise[:, :1],
            "several": noise,
        }
        return (X + self.shift) * 10.0 ** np.array(self.scales), signals[self.signal]

    def sample_weight(self) -> FloatArray | None:
        """Return the weights of the samples."""
        if self.weights == 0:
            return None
        rng = np.random.default_rng([self.seed, 4])
        weights: FloatArray = 10 ** (self.weights * rng.uniform(-1, 1, self.n_samples))
        return weights

    def pairs(self) -> npt.NDArray[np.intp] | None:
        """Return the list of pairs; None for all."""
        if self.listed == 0:
            return None
        pairs = np.argwhere(np.triu(np.ones((self.n_samples, self.n_samples)), 1))
        z = self.samples()[1]
        told_apart = (z[pairs[:, 0]] != z[pairs[:, 1]]).any(axis=1)
        kept = np.random.default_rng([self.seed, 5]).random(len(pairs)) < self.listed
        kept[np.flatnonzero(told_apart)[0]] = True  # a list of equal signals is refused
        return pairs[kept]

    def feasible_set(self) -> FeasibleSet:
        """Return the set."""
        size = self.n_features
        bound = self.trace_bound
        if self.bound != "fixed":
            # Such that distances are about the multiple under the metric C/K I.
            spread = float(self.samples()[0].var(axis=0).sum())
            bound *= size / (2 * spread) if spread > 0 else 1.0
        rho = self.eigenvalue_share * bound / size
        path = self.path_share * (bound - size * rho) / max(2 * (size - 1), 1)
        colors = np.random.default_rng([self.seed, 2]).choice([-1.0, 1.0], size).tolist()
        return set_of(self.kind, size, bound, rho, path, colors=colors)

    def problem(self, loudness: float = 1.0) -> gda.MetricProblem:
        """Return the problem, with signals that are so many times as large."""
        X, z = self.samples()
        if self.objective == "GLR":
            objective: gda.GLR | gda.LogDet = gda.GLR(
                X, loudness * z, sample_weight=self.sample_weight(), pairs=self.pairs()
            )
        else:
            centred = X - X.mean(axis=0)
            objective = gda.LogDet(centred.T @ centred / len(X))
        return gda.MetricProblem(objective, self.feasible_set())
