"""A problem of many features, as its samples see it: by their Gram matrix ``X M X'``."""

from __future__ import annotations

from functools import cached_property
from typing import cast

import numpy as np
from scipy.sparse import csr_array

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.samples import Samples, column_runs, columns_of, is_sparse
from gdaopt.objectives.pair_loss import DistanceLoss
from gdaopt.objectives.pair_objective import PairObjective
from gdaopt.objectives.pair_sums import PairSums
from gdaopt.problem import MetricProblem
from gdaopt.sets import EntrywiseMetrics, has_sparse_members
from gdaopt.support.validation import FloatArray
from gdaopt.wide.scatter import ScatterMatrix


def has_many_features(problem: MetricProblem) -> bool:
    """Say whether a problem is solved by some of its features at a time.

    It has a loss of distances, more features than is good for K×K arrays or sparse samples, a set
    of atoms of one or two features, and no linear constraints.
    """
    objective, feasible_set = problem.objective, problem.feasible_set
    return (
        isinstance(objective, PairObjective)
        and objective.has_many_features
        and has_sparse_members(feasible_set)
        and not problem.members.names
    )


class ManyFeatures:
    """A problem with `has_many_features`; its metrics are ρI but for the block of some features."""

    def __init__(self, problem: MetricProblem) -> None:
        self.problem = problem
        self.objective = cast("PairObjective[DistanceLoss]", problem.objective)
        self.feasible_set = cast(EntrywiseMetrics, problem.feasible_set)
        self.size = problem.n_features
        self.samples: Samples = self.objective.pairs.features
        self.budget = self.feasible_set.budget(self.size)
        self.floor = self.feasible_set.min_eigenvalue

    @cached_property
    def gram(self) -> FloatArray:
        """``X X'``."""
        if is_sparse(self.samples):
            return np.asarray((self.samples @ self.samples.T).toarray())
        total = np.zeros((len(self.samples), len(self.samples)))
        for run in column_runs(self.samples):
            part = self.samples[:, run]
            total += part @ part.T
        return (total + total.T) / 2

    def few(self, features: IndexArray) -> MetricProblem:
        """Return the problem of the metrics that are ρI but for the block of some features."""
        part = columns_of(self.samples, features)
        outside = self.floor * (self.gram - part @ part.T)
        objective = self.objective.of_features(features, outside)
        return MetricProblem(objective, self.feasible_set.of_features(features, self.size))

    def gram_of(self, atomic_part: csr_array) -> FloatArray:
        """Return ``X N X'`` for a sparse symmetric matrix N."""
        used, block = used_features(atomic_part)
        part = columns_of(self.samples, used)
        gram: FloatArray = part @ (block @ part.T)
        return (gram + gram.T) / 2

    def at(self, gram_of_atomic_part: FloatArray) -> tuple[PairSums, FloatArray]:
        """Return sums at ``M = ρI + N``, given ``X N X'``, and the gradient by ``X M X'``."""
        gram = gram_of_atomic_part
        return self.objective.at_gram(gram + self.floor * self.gram if self.floor else gram)

    @property
    def is_negative(self) -> bool:
        """Whether no derivative by a distance is positive, so that no gradient has a price > 0."""
        return self.objective.loss.sign < 0

    def scatter(self, gradient: FloatArray) -> ScatterMatrix:
        """Return the gradient by M, given that by the Gram matrix of the samples."""
        return ScatterMatrix(self.samples, gradient, self.is_negative)


def used_features(atomic_part: csr_array) -> tuple[IndexArray, csr_array]:
    """Return the features with an entry of a sparse symmetric matrix, and the block of these."""
    used = np.unique(atomic_part.indices).astype(np.intp)
    block: csr_array = atomic_part[used][:, used]
    return used, block


def atomic_part_of(atoms: Atoms, weights: FloatArray, size: int) -> csr_array:
    """Return ``Σ_k w_k u_k u_k'`` as a sparse matrix."""
    vectors = atoms.sparse(size)
    total = (vectors.T * weights) @ vectors
    return csr_array((total + total.T) / 2)
