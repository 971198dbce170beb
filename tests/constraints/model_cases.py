"""Random models in CVXPY's language: objectives × sets × rows × parameters × kinds of variables."""

from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

import gdaopt as gda
from gdaopt.support.validation import FloatArray
from tests.helpers import random_symmetric
from tests.methods.certified_cases import KINDS, set_of

__all__ = ["RandomModel", "by_cone"]

_TERMS = ("GLR", "MCML", "LogDet", "LMNN", "Linear", "squares", "expression")
_ROWS = ("trace", "diagonal entry", "diagonal", "budget")


class RandomModel:
    """A model made from a seed; `rows` are the constraints beside those of the set."""

    def __init__(self, seed: int) -> None:
        self._rng = rng = np.random.default_rng(seed)
        size = int(rng.integers(2, 6))
        self._size, self._bound = size, float(size * 10 ** rng.uniform(-0.5, 0.5))
        self.kind = KINDS[seed % len(KINDS)]
        rho = float(rng.choice([0.0, 1e-3])) * self._bound / size
        self.feasible_set = set_of(self.kind, size, self._bound, rho)
        variable = ("symmetric", "PSD", "plain")[seed // len(KINDS) % 3]
        keywords: dict[str, Any] = {} if variable == "plain" else {variable: True}
        self.metric = M = cp.Variable((size, size), **keywords)
        symmetric = [M == M.T] if variable == "plain" and rng.random() < 0.5 else []
        expression = self._objective()
        self.infeasible = bool(rng.random() < 0.1)
        self.rows = self._own_rows()
        maximised = rng.random() < 0.3
        self.problem = cp.Problem(
            cp.Maximize(-expression) if maximised else cp.Minimize(expression),
            [*symmetric, *self.rows, *self.feasible_set.of(M)],
        )

    def _objective(self) -> Any:
        """Return a sum of one to three terms, some times a parameter."""
        rng = self._rng
        terms = []
        for name in rng.choice(_TERMS, size=int(rng.integers(1, 4)), replace=False):
            factor: Any = float(rng.uniform(0.2, 2))
            if rng.random() < 0.4:
                factor = cp.Parameter(nonneg=True, value=factor)
            term = self._term(str(name))
            terms.append(term / 2 if rng.random() < 0.2 else factor * term)
        total = sum(terms[1:], terms[0])
        return total + 1.5 if rng.random() < 0.3 else total

    @cached_property
    def _samples(self) -> tuple[FloatArray, FloatArray]:
        X = self._rng.standard_normal((8, self._size)) / np.sqrt(self._bound)
        return X, np.array([1, 1, 1, 1, -1, -1, -1, -1])

    def _term(self, name: str) -> Any:
        """Return one term of the objective, which the set's metrics can be told apart by."""
        rng, M, size = self._rng, self.metric, self._size
        unit = self._bound / size
        S = unit * (np.eye(size) + 0.5 * random_symmetric(rng, size))
        X, labels = self._samples
        match name:
            case "GLR":
                return gda.GLR(X, labels)(M)
            case "MCML":
                return gda.MCML(X, labels)(M)
            case "LMNN":
                return gda.LMNN(X, labels)(M)
            case "LogDet":
                return gda.LogDet(S @ S / unit**3 + 0.1 * np.eye(size) / unit)(M)
            case "Linear":
                return cp.sum(cp.multiply(random_symmetric(rng, size) / unit, M))
            case "squares":
                squares = (
                    cp.sum_squares((M - S) / unit),
                    cp.sum(cp.square(2 * M / unit)),
                    cp.square(cp.norm(M / unit - S / unit, "fro")),
                )
                return squares[int(rng.integers(3))]
            case _:
                return cp.quad_over_lin(cp.diag(M) / unit - 1, 3.0) + cp.exp(M[0, -1] / unit)

    def _own_rows(self) -> list[cp.Constraint]:
        """Return up to two rows that a member keeps; or rows that contradict each other."""
        rng, M, size = self._rng, self.metric, self._size
        rho = self.feasible_set.min_eigenvalue
        member = rho + rng.dirichlet(np.ones(size)) * 0.7 * self.feasible_set.budget(size)
        if self.infeasible:
            return [M[0, 0] <= member[0], M[0, 0] >= 1.5 * member[0] + 0.1 * self._bound]
        rows: list[cp.Constraint] = []
        for name in rng.choice(_ROWS, size=int(rng.integers(0, 3)), replace=False):
            match str(name):
                case "trace":
                    bound = cp.Parameter(value=1.1 * float(member.sum()))
                    rows.append(2 * bound >= 2 * cp.trace(M))
                case "diagonal entry":
                    rows.append(M[0, 0] == cp.Parameter(value=float(member[0])))
                case "diagonal":
                    rows.append(cp.diag(M) <= 1.2 * member)
                case _:
                    weights = rng.uniform(0.5, 2, size)
                    rows.append(weights @ cp.diag(M) <= 1.05 * float(weights @ member))
        return rows


def by_cone(problem: cp.Problem) -> float:
    """Solve a model by a conic solver of CVXPY, accurately; return its value."""
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-9)
    return float(problem.solve(solver="CLARABEL", **tight))
