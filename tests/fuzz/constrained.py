"""Random problems with linear constraints, most of them hard: barely feasible, or barely not.

`ConstrainedIngredients.drawn(seed)` gives the same ingredients on every machine, and `Constrained`
makes the problem of them: objective, set, rows, and where the rows were written around it, a member
of the set that keeps them all. Sorts of the probability 0 are drawn by name alone::

    ConstrainedIngredients.drawn(3, "tiny")

To shrink a failure, replace ingredients::

    dataclasses.replace(ingredients, rows=("diagonal",))
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

import gdaopt as gda
from gdaopt.objectives.base import Objective
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray
from tests.fuzz.objectives import BARRIERS, OBJECTIVES, TINY_OBJECTIVES, objective_of
from tests.fuzz.reference import Bounds
from tests.helpers import random_symmetric
from tests.methods.certified_cases import set_of

__all__ = ["CONTRADICTIONS", "SORTS", "Constrained", "ConstrainedIngredients", "Row", "related"]

KINDS = ("graph", "masked graph", "signed", "diagonal", "definite", "sdd")
WITH_PATH = ("graph", "signed")
SORTS = {
    "free": 0.0,  # without rows
    "plain": 0.25,  # the rows leave room
    "dependent": 0.2,  # rows that follow from others
    "barely feasible": 0.2,  # the rows leave next to no room
    "barely infeasible": 0.15,  # two conditions contradict each other by next to nothing
    "rounded": 0.2,  # the numbers have 6, 9 or 12 digits
    "nearly dependent": 0.0,  # rows that follow from others but for a small share of them
    "tiny": 0.0,  # few features and samples, and plain numbers, as in examples of a text
}
FORMS = ("diagonal", "entry", "trace", "budget", "dense", "whole diagonal")
TINY_FORMS = (
    *("equal", "equal", "equal", "equal", "double"),
    *("entry", "zero", "sum", "trace", "diagonal", "integers"),
)
CONTRADICTIONS = ("band", "equalities", "sum", "floor", "trace bound", "sign")

_TWINS = ("combination", "again", "multiple", "inequality", "inequalities")
"""What a nearly dependent row is near to: a sum of two rows, or one, once or three times."""

_LARGEST_EXPONENTS = {"GLR": 2, "MCML": 4}  # of C in units: with larger ones most underflow


@dataclass(frozen=True)
class ConstrainedIngredients:
    """What a random problem with linear constraints is made of."""

    seed: int
    sort: str  # a key of `SORTS`
    kind: str  # of the set
    objective: str
    n_features: int
    log_unit: float  # log10 of the unit in which the objective's minimiser is about 1
    log_room: float  # log10 of C/K in such units: from 3 on the trace bound most often is loose
    eigenvalue_share: float  # K times the smallest eigenvalue, as a share of C
    path_share: float  # the weight of the path's edges, as a share of what the budget allows
    middle_share: float  # of the known member: the share that is a multiple of the identity
    used_share: float  # of the trace bound, or of the problem's own scale, by the known member
    rows: tuple[str, ...]  # their forms
    delta: float  # by how much conditions are broken, or nearly, in the problem's own scale
    contradiction: str  # which two conditions contradict each other, where the sort says so
    digits: int  # to which the numbers are rounded; 17: not

    @classmethod
    def drawn(cls, seed: int, sort: str | None = None) -> ConstrainedIngredients:
        """Return the ingredients of a seed; the sort is drawn where none is given."""
        if sort == "tiny":
            return cls._tiny(seed)
        rng = np.random.default_rng([seed, 27])
        drawn_sort = str(rng.choice(list(SORTS), p=list(SORTS.values())))
        objective, size = str(rng.choice(list(OBJECTIVES))), int(rng.integers(1, 9))
        room = float(rng.choice([-3.0, -1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 4.0, 6.0, 8.0]))
        room = min(room, _LARGEST_EXPONENTS.get(objective, 8))
        unit = float(rng.choice([0.0, rng.uniform(-6, 6)]))
        unit = float(np.clip(room + unit, -6, 12)) - room
        near = 1 - 10 ** rng.uniform(-6, -1)
        share = float(rng.choice([0.0, 0.0, 1e-6, 1e-3, 0.1, near]))
        if objective in BARRIERS and share == 0:  # bounded without it all the same
            share = float(rng.choice([0.0, 1e-6]))
        kind = str(rng.choice(KINDS[:5], p=[0.3, 0.15, 0.15, 0.2, 0.2]))
        if kind == "definite" and seed % 2:  # as large as definite sets, but with pairs as atoms
            kind = "sdd"
        path = float(rng.choice([0.0, 0.0, 0.3])) if size > 1 and kind in WITH_PATH else 0.0
        forms = rng.choice(FORMS, size=int(rng.integers(1, 5)), p=[0.3, 0.2, 0.1, 0.15, 0.15, 0.1])
        return cls(
            seed=seed,
            sort=drawn_sort if sort is None else sort,
            kind=kind,
            objective=objective,
            n_features=size,
            log_unit=round(unit, 2),
            log_room=room,
            eigenvalue_share=share,
            path_share=path,
            middle_share=float(rng.choice([0.5, 0.1, 0.01])),
            used_share=float(rng.choice([0.2, 0.7, 0.99])),
            rows=tuple(str(form) for form in forms),
            delta=float(10.0 ** -(rng.integers(4, 15) + (sort == "nearly dependent"))),
            contradiction=str(rng.choice(CONTRADICTIONS)),
            digits=int(rng.choice([6, 9, 12])) if (sort or drawn_sort) == "rounded" else 17,
        )

    @classmethod
    def _tiny(cls, seed: int) -> ConstrainedIngredients:
        """Return ingredients of few features, whose numbers are plain."""
        rng = np.random.default_rng([seed, 32])
        size = int(rng.choice([2, 2, 2, 3, 4]))
        bound = float(rng.choice([0.05, 0.05, 0.1, 0.1, 1.0, 3.0, 10.0]))
        floor = float(rng.choice([0.0, 0.0, 0.0, 0.01, 0.1]))
        forms = rng.choice(TINY_FORMS, size=int(rng.choice([1, 1, 1, 2, 3])))
        # Most often one atom is best where the objective is linear.
        objectives = [*TINY_OBJECTIVES, *["PairHinge"] * 6]
        return cls(
            seed=seed,
            sort="tiny",
            kind=str(rng.choice(KINDS)),
            objective=str(rng.choice(objectives)),
            n_features=size,
            log_unit=0.0,
            log_room=math.log10(bound / size),
            eigenvalue_share=floor * size / bound if floor * size < bound else 0.0,
            path_share=0.0,
            middle_share=1.0,
            used_share=float(rng.choice([0.2, 0.5, 0.8, 0.9])),
            rows=tuple(str(form) for form in forms),
            delta=0.0,
            contradiction="",
            digits=17,
        )

    @property
    def label(self) -> str:
        """What the table of counts calls the sort."""
        return f"rounded to {self.digits} digits" if self.sort == "rounded" else self.sort

    @property
    def trace_bound(self) -> float:
        """C."""
        return float(f"{self.n_features * 10 ** (self.log_unit + self.log_room):.6g}")

    @property
    def is_calm(self) -> bool:
        """Whether a conic solver should find the optimum to many digits."""
        is_narrow = self.sort.startswith(("barely", "nearly")) and self.delta < 1e-6
        return self.sort == "tiny" or (-1 <= self.log_room <= 2 and not is_narrow)


@dataclass(frozen=True, eq=False)
class Row:
    """A linear constraint ``⟨A, M⟩ = b``, ``≤ b`` or ``≥ b``; A has a norm of any size."""

    matrix: FloatArray
    relation: str
    bound: float

    def broken(self, metric: FloatArray) -> float:
        """Return the distance of a metric to the row that it breaks; 0 where it keeps it."""
        excess = float(np.vdot(self.matrix, metric)) - self.bound
        signed = {"==": abs(excess), "<=": max(excess, 0.0), ">=": max(-excess, 0.0)}
        return signed[self.relation] / float(np.linalg.norm(self.matrix))

    def of(self, metric: cp.Expression) -> cp.Constraint:
        """Return the row in CVXPY, written as users write it."""
        size = len(self.matrix)
        places = np.argwhere(np.triu(self.matrix))
        if len(places) == 1 and size > 1:
            i, j = (int(n) for n in places[0])
            factor = float(self.matrix[i, j]) * (1 if i == j else 2)
            left = metric[i, j] if factor == 1 else factor * metric[i, j]
        elif np.array_equal(self.matrix, np.eye(size)):
            left = cp.trace(metric)
        else:
            left = cp.sum(cp.multiply(self.matrix, metric))
        return related(left, self.relation, self.bound)


def related(left: Any, relation: str, right: Any) -> cp.Constraint:
    """Return an equation or an inequality."""
    sides = {"==": left == right, "<=": left <= right, ">=": left >= right}
    constraint: cp.Constraint = sides[relation]
    return constraint


class Constrained:
    """A random problem with linear constraints.

    The rows are written around `known`, a member of the set, and `scale` is its trace. Every member
    breaks some row by `least_violation` at least, where that was made so; else it is 0.
    """

    def __init__(self, ingredients: ConstrainedIngredients) -> None:
        self.ingredients = ingredients
        own, size = ingredients, ingredients.n_features
        self.feasible_set = _feasible_set(own)
        bounds = Bounds.of(self.feasible_set, size)
        self.bounds = replace(bounds, signs=np.where(_mask(own), bounds.signs, 0.0))
        self._rng = np.random.default_rng([own.seed, 28])
        least = float(np.trace(self.bounds.base()))  # without it no metric has a smaller scale
        budget = self.feasible_set.trace_bound - least
        self._spread = min(budget, max(size * 10**own.log_unit, least))
        if own.sort == "tiny":
            self.known = self._plain_member()
        else:
            self.known = self._member(own.middle_share, own.used_share)
        if own.sort == "barely feasible":  # a member near the boundary, every other time
            middle = own.delta if self._rng.random() < 0.5 else own.middle_share
            used = 1 - own.delta if self._rng.random() < 0.3 else own.used_share
            self.known = self._member(middle, used)
        self.scale = float(np.trace(self.known))
        self.least_violation = 0.0
        self.rows = self._drawn_rows()

    @cached_property
    def objective(self) -> Objective:
        own = self.ingredients
        rng = np.random.default_rng([own.seed, 29])
        if own.sort == "tiny":
            return TINY_OBJECTIVES[own.objective](own.n_features, rng)
        return objective_of(own.objective, own.n_features, 10**own.log_unit, rng)

    def constraints(self, metric: cp.Expression) -> list[cp.Constraint]:
        """Return the rows in CVXPY; those of the whole diagonal as a single constraint."""
        return [row.of(metric) for row in self.rows]

    def problem(self) -> gda.MetricProblem:
        """Return the problem; this is where rows that cannot be kept are refused."""
        if not self.rows:
            return gda.MetricProblem(self.objective, self.feasible_set)
        return gda.MetricProblem(self.objective, self.feasible_set, constraints=self.constraints)

    def broken(self, metric: FloatArray) -> float:
        """Return the largest distance of a metric to a row that it breaks."""
        return max((row.broken(metric) for row in self.rows), default=0.0)

    def outside(self, metric: FloatArray) -> float:
        """Return the largest amount by which a metric breaks a condition of the set."""
        return max(self.bounds.excess(metric).values()) * self.feasible_set.trace_bound

    def room(self, metric: FloatArray) -> float:
        """Return the smallest eigenvalue beyond the base, as a share of the mean eigenvalue."""
        beyond = metric - self.bounds.base()
        mean = float(np.trace(beyond)) / len(metric)
        smallest = float(np.linalg.eigvalsh(self.bounds.in_cone(beyond))[0])
        return smallest / mean if mean > 0 else 0.0

    # --- how it is drawn -------------------------------------------------------------------------

    def _member(self, middle: float, used: float) -> FloatArray:
        """Return a member: a share of it is a multiple of the identity, the rest random atoms."""
        rng, size = self._rng, self.ingredients.n_features
        total = np.zeros((size, size))
        for weight in rng.random(int(rng.integers(1, size + 2))):
            total += weight * self._atom()
        atoms = total / np.trace(total)
        beyond = middle / size * np.eye(size) + (1 - middle) * atoms
        member: FloatArray = self.bounds.base() + used * self._spread * beyond
        return member

    def _plain_member(self) -> FloatArray:
        """Return a diagonal member: beyond the base all are the same, or the first is double."""
        size, budget = self.ingredients.n_features, self.feasible_set.budget(len(self.bounds.fixed))
        parts = np.ones(size)
        parts[0] += "double" in self.ingredients.rows
        share = float(f"{self.ingredients.used_share * budget / parts.sum():.2g}")
        member: FloatArray = self.bounds.base() + share * np.diag(parts)
        return member

    def _atom(self) -> FloatArray:
        """Return ``uu'`` of a random atom."""
        rng, size = self._rng, self.ingredients.n_features
        vector = np.zeros(size)
        if self.ingredients.kind == "definite":
            vector = rng.standard_normal(size)
        else:
            i, j = (int(n) for n in rng.integers(size, size=2))
            vector[i] = rng.uniform(0.2, 1)
            if i != j and self.bounds.signs[i, j] != 0:
                sign = float(self.bounds.signs[i, j])  # of entry (i, j)
                sign = float(rng.choice([-1.0, 1.0])) if np.isnan(sign) else sign
                vector[j] = sign * rng.uniform(0.2, 1)
        return np.outer(vector, vector)

    def _drawn_rows(self) -> list[Row]:
        own, rng = self.ingredients, self._rng
        if own.sort == "free":
            return []
        of_form = self._of_tiny_form if own.sort == "tiny" else self._of_form
        rows = [row for form in own.rows for row in of_form(form)][:6]
        if own.sort == "nearly dependent":
            rows += self._nearly_dependent(rows)
        if own.sort == "dependent" or (own.sort == "rounded" and rng.random() < 0.7):
            rows += self._dependent(rows)
        if own.sort == "barely infeasible":
            rows += self._contradicting(rows)
        if own.sort == "rounded":
            rows = [self._rounded(row) for row in rows]
        order = rng.permutation(len(rows))
        return [rows[k] for k in order]

    def _of_form(self, form: str) -> list[Row]:
        """Return rows that the known member keeps."""
        rng, size = self._rng, self.ingredients.n_features
        matrix = np.zeros((size, size))
        match form:
            case "diagonal":
                i = int(rng.integers(size))
                matrix[i, i] = 1.0
            case "entry":
                i, j = (int(n) for n in rng.integers(size, size=2))
                matrix[i, j] = matrix[j, i] = 1.0 if i == j else 0.5
            case "trace":
                matrix = np.eye(size)
            case "budget":
                matrix[np.diag_indices(size)] = rng.random(size) < 0.5
            case "dense":
                matrix = random_symmetric(rng, size) * float(rng.choice([1.0, 1e-3, 1e4]))
            case _:
                matrices = [np.diag(row) for row in np.eye(size)]
                return [Row(one, "==", float(np.vdot(one, self.known))) for one in matrices]
        if not matrix.any():
            matrix[0, 0] = 1.0
        return self._around(matrix)

    def _around(self, matrix: FloatArray) -> list[Row]:
        """Return one row, or two opposite ones, that leave the known member some slack."""
        own, rng = self.ingredients, self._rng
        at, norm = float(np.vdot(matrix, self.known)), float(np.linalg.norm(matrix))
        slacks = [0.0, float(rng.uniform(0.01, 0.3))]
        if own.sort == "barely feasible":
            slacks = [0.0, own.delta]
        slack = float(rng.choice(slacks)) * norm * self.scale
        relation = str(rng.choice(["==", "<=", ">="], p=[0.3, 0.4, 0.3]))
        if own.sort == "barely feasible" and rng.random() < 0.4:  # a band
            return [Row(matrix, "<=", at + slack), Row(matrix, ">=", at - slack)]
        sign = {"==": 0.0, "<=": 1.0, ">=": -1.0}[relation]
        return [Row(matrix, relation, at + sign * slack)]

    def _dependent(self, rows: list[Row]) -> list[Row]:
        """Return rows that follow from others, or nearly: multiples, sums and opposites."""
        rng, found = self._rng, []
        for _ in range(int(rng.integers(1, 3))):
            first, second = (rows[int(k)] for k in rng.integers(len(rows), size=2))
            at = float(np.vdot(first.matrix, self.known))
            match str(rng.choice(["again", "multiple", "sum", "opposite", "equality"])):
                case "again":
                    found.append(first)
                case "multiple":
                    factor = float(rng.choice([2.0, 1 / 3, 1e3]))
                    bound = factor * first.bound
                    found.append(Row(factor * first.matrix, first.relation, bound))
                case "sum":
                    matrix = first.matrix + second.matrix
                    if np.abs(matrix).max() > 1e-9 * np.abs(first.matrix).max():
                        found.append(Row(matrix, "==", float(np.vdot(matrix, self.known))))
                case "opposite":
                    found += [Row(first.matrix, "<=", at), Row(first.matrix, ">=", at)]
                case _:
                    found.append(Row(first.matrix, "==", at))
        return found

    def _nearly_dependent(self, rows: list[Row]) -> list[Row]:
        """Return rows that follow from others but for `delta` of their size: see `_TWINS`."""
        rng, size, found = self._rng, self.ingredients.n_features, []
        for _ in range(int(rng.integers(1, 3))):
            first, second = (rows[int(k)] for k in rng.integers(len(rows), size=2))
            length = float(np.linalg.norm(first.matrix))
            matrix, relation, factor, many = first.matrix, first.relation, 1.0, 1
            match str(rng.choice(_TWINS)):
                case "combination":
                    other = second.matrix * (length / float(np.linalg.norm(second.matrix)))
                    first_share, second_share = rng.uniform(-2, 2, 2)
                    matrix = first_share * matrix + second_share * other
                    relation = str(rng.choice(["==", "<=", ">="]))
                case "multiple":
                    factor = float(rng.choice([1e-6, 1e6]))
                case "inequality":
                    relation = str(rng.choice(["<=", ">="]))
                case "inequalities":
                    relation, many = str(rng.choice(["<=", ">="])), 3
            slack = abs(float(np.vdot(first.matrix, self.known)) - first.bound)
            sign = {"==": 0.0, "<=": 1.0, ">=": -1.0}[relation]
            for _ in range(many):
                off = np.zeros((size, size))
                if rng.random() < 0.5:
                    off += random_symmetric(rng, size)
                else:
                    i = int(rng.integers(size))
                    off[i, i] = 1.0
                off *= self.ingredients.delta * length
                near = factor * (matrix + off)
                at = float(np.vdot(near, self.known))
                found.append(Row(near, relation, at + sign * factor * slack))
        return found

    def _of_tiny_form(self, form: str) -> list[Row]:
        """Return a row of plain numbers that the known member keeps."""
        rng, size = self._rng, self.ingredients.n_features
        i, j = (int(n) for n in rng.choice(size, 2, replace=False))
        matrix, relation = np.zeros((size, size)), str(rng.choice(["<=", "<=", ">="]))
        match form:
            case "equal" | "double":
                matrix[0, 0], matrix[1, 1] = 1.0, -1.0
                relation = "==" if rng.random() < 0.8 else relation
                if "double" in self.ingredients.rows:
                    matrix[1, 1] = -2.0
            case "zero":
                matrix[i, j] = matrix[j, i] = 0.5
                relation = "=="
            case "entry":
                matrix[i, j] = matrix[j, i] = 0.5
            case "diagonal":
                matrix[i, i] = 1.0
            case "sum":
                matrix[i, i] = matrix[j, j] = 1.0
                relation = str(rng.choice(["==", "<=", ">="]))
            case "trace":
                matrix = np.eye(size)
                relation = str(rng.choice(["==", "<=", ">="]))
            case _:
                matrix = np.triu(rng.integers(-2, 3, (size, size))).astype(float)
                matrix = matrix + matrix.T
        if not matrix.any():
            matrix[0, 0] = 1.0
        at = float(np.vdot(matrix, self.known))
        slack = 0.0 if relation == "==" else float(rng.choice([0.0, 0.1, 0.3])) * self.scale
        step = 10 ** (np.floor(np.log10(self.scale)) - 2)
        away = math.ceil if relation == "<=" else math.floor  # plain, and still kept
        sign = 1.0 if relation == "<=" else -1.0
        bound = at if slack == 0 else float(f"{away((at + sign * slack) / step) * step:.6g}")
        return [Row(matrix, relation, bound)]

    def _contradicting(self, rows: list[Row]) -> list[Row]:
        """Return rows that no member keeps, by `delta`, and note by how much one is broken."""
        own, rng, size = self.ingredients, self._rng, self.ingredients.n_features
        first, amount = rows[int(rng.integers(len(rows)))], own.delta * self.scale
        matrix, norm = first.matrix, float(np.linalg.norm(first.matrix))
        at = float(np.vdot(matrix, self.known))
        unit = np.zeros((size, size))
        match own.contradiction:
            case "equalities":
                self.least_violation = amount / 2
                return [Row(matrix, "==", at), Row(matrix, "==", at + norm * amount)]
            case "sum" if len(rows) > 1:
                other = random_symmetric(rng, size)
                there, total = float(np.vdot(other, self.known)), matrix / norm + other
                sizes = 1 + float(np.linalg.norm(other)) + float(np.linalg.norm(total))
                self.least_violation = amount / sizes
                return [
                    Row(matrix, "==", at),
                    Row(other, "<=", there),
                    Row(total, ">=", at / norm + there + amount),
                ]
            case "floor":
                i = int(rng.integers(size))
                unit[i, i] = 1.0
                self.least_violation = amount
                return [Row(unit, "<=", float(self.bounds.base()[i, i]) - amount)]
            case "trace bound":
                self.least_violation = amount / np.sqrt(size)
                bound = self.feasible_set.trace_bound + amount
                return [Row(np.eye(size), str(rng.choice([">=", "=="])), bound)]
            case "sign" if size > 1 and own.kind in ("graph", "diagonal"):
                i, j = (int(n) for n in rng.choice(size, 2, replace=False))
                unit[i, j] = unit[j, i] = 0.5
                self.least_violation = np.sqrt(2) * amount
                return [Row(unit, ">=", float(self.bounds.fixed[i, j]) + amount)]
        self.least_violation = amount / 2
        return [Row(matrix, "<=", at), Row(matrix, ">=", at + norm * amount)]

    def _rounded(self, row: Row) -> Row:
        """Return the row with numbers of so many digits after the point, in its scale."""
        digits, unit = self.ingredients.digits, 10 ** np.floor(np.log10(self.scale))
        largest = 10 ** np.floor(np.log10(np.abs(row.matrix).max()))
        matrix = largest * np.round(row.matrix / largest, digits)
        step = unit * largest
        bound = float(step * np.round(row.bound / step, digits))
        return Row(matrix, row.relation, bound)


def _feasible_set(own: ConstrainedIngredients) -> FeasibleSet:
    """Return the set."""
    size, bound = own.n_features, own.trace_bound
    rho = own.eigenvalue_share * bound / size
    path = own.path_share * (bound - size * rho) / max(2 * (size - 1), 1)
    colors = np.random.default_rng([own.seed, 30]).choice([-1.0, 1.0], size).tolist()
    edges = _mask(own) if own.kind == "masked graph" else None
    kind = own.kind.removeprefix("masked ")
    return set_of(kind, size, bound, rho, path, colors=colors, edges=edges)


def _mask(own: ConstrainedIngredients) -> np.ndarray:
    """Return the pairs that may have an edge: those of a path, and random ones."""
    size = own.n_features
    if own.kind != "masked graph":
        return np.ones((size, size), dtype=bool)
    drawn = np.random.default_rng([own.seed, 31]).random((size, size)) < 0.3
    mask = np.triu(drawn, 1) | np.eye(size, k=1, dtype=bool)
    return mask | mask.T
