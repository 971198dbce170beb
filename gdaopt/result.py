"""What a run returns."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.entries import Edges, IndexArray, sparse_symmetric
from gdaopt.result_file import read, write
from gdaopt.sets import FeasibleSet, has_sparse_members
from gdaopt.status import Status
from gdaopt.support.resources import check_fits
from gdaopt.support.text import ShownAsTable, number_text, plain
from gdaopt.support.validation import FloatArray, read_only
from gdaopt.trace import Trace, relative_gap, same_array

_ARRAYS = ("atoms", "weights", "colors", "multipliers")
_OUTSIDE = (*_ARRAYS, "block", "features", "feasible_set", "trace")  # what is not plain JSON
_CLAIM_SLACK = 1e-9  # share of C, and of objectives: round-off in what a result says


@dataclass(frozen=True, eq=False, kw_only=True)
class Result(ShownAsTable):
    """What `gdaopt.solve` returns: a metric, and how it was found; printing it gives a summary.

    Attributes
    ----------
    metric : ndarray of shape (K, K)
        A member of the feasible set, read-only: the best state of the run, which is not the last
        one if a method went up. With many features the array is made when you read it, if there is
        memory for it; `sparse_metric`, a `scipy.sparse.csr_array`, is then cheap.
    block : ndarray of shape (n, n)
        The rows and columns of the metric that `features` lists, or all of it; read-only.
    features : ndarray of int, shape (n,), or None
        With many features, those at which the metric is not ρI, ascending. Here ρ is the smallest
        eigenvalue that the set allows; elsewhere the metric is ρ on the diagonal and 0 beside it.
        None if `block` is all of the metric.
    n_features : int
        K.
    feasible_set : FeasibleSet
        The set of the problem.
    objective : float
        Q at the metric.
    status : str
        How the run ended. ``converged``: ``Q - lower_bound`` is within the tolerances.
        ``stationary``: `frank_wolfe_gap` is, for an objective that is not convex.
        ``block_minimum``: the gap of every block is within the tolerances, so that no block
        improves on its own. ``slow_progress``: the last steps together lowered the objective by
        less than the tolerance, or they did not lower the certified gap, as at kinks of the
        objective. ``stalled``: the remaining gap is round-off (in files of older versions also the
        two before). ``inaccurate``: the solver of the whole problem was not accurate enough.
        ``iteration_limit``, ``time_limit``: a limit was reached. ``interrupted``: by the user or
        the callback. ``solver_failed``: a solver did not solve a program. ``left_domain``: a step
        led outside of the set, the linear constraints or the objective's domain, and the metric is
        the best one that was checked before. ``disconnected``: a step would have disconnected a
        graph with an edge floor. ``infeasible``: the edge floors left a program without a feasible
        point. ``failed``: an error was raised, and this result is its attribute ``result``, without
        a lower bound.
    message : str
        The reason for the status.
    lower_bound, gap, relative_gap : float or None
        The certificate ``lower_bound ≤ Q*``, where Q* is the least objective over the feasible
        set; ``gap = objective - lower_bound``; and ``gap / |objective|``. None without a
        certificate.
    frank_wolfe_gap : float or None
        For an objective that is not convex and so has no certificate: the most that the tangent at
        the metric falls over the feasible set, 0 at a stationary point.
    components : int
        Number of components of the metric's graph.
    iterations, oracle_calls, eigen_decompositions : int
        Number of steps; of programs solved or searches for atoms; and of full eigen-decompositions
        for projections.
    repair_distance : float or None
        How far the solver's last point was moved into the set, as the largest change of an entry.
    seconds, tracing_seconds : float
        Wall time of the run; and the wall time of the trace, callbacks and printing, which is not
        part of it.
    method, solver : str
        Their names; ``"analytic"`` if the linear minimisation has a closed form.
    solved_by : dict of str to int
        How many programs each solver has solved, ``"analytic"`` among them: a program whose costs
        are 0 needs no solver, and a fall-back may have taken over.
    trace : Trace
        The history of the run.
    atoms, weights : ndarrays of shape (n, K) and (n,), or None
        Unit vectors and their weights, for methods that find the metric as a sum ``metric = B + Σ_k
        weights[k] · outer(atoms[k], atoms[k])``, where B is the base of the set. With many features
        the vectors are the rows of a `scipy.sparse.csr_array`.
    colors : ndarray of shape (K,) or None
        For methods that look for balanced signed graphs, +1 or -1 for each feature, so that
        ``colors[i] * colors[j] * metric[i, j] ≤ 0``; the certificate is then one for the balanced
        metrics of the set.
    constraints : tuple of str
        The names of the problem's linear constraints, row by row.
    multipliers : ndarray of shape (m,) or None
        Their multipliers λ: ``λ_k`` is the rate at which Q* falls when the bound of row k rises. A
        bound that rises by h gains at most ``λ_k h``, because Q* is convex in the bounds. If other
        λ prove the same bound, these have the least ``Σ_k (λ_k ‖A_k‖)²``; the rate may then be
        right to one side only, as for ``M[0, 1] == 0`` over graph metrics.
    constraint_violation : float or None
        The largest distance of the metric to a constraint that it breaks.
    central_objective : float or None
        Q in the middle of the set; it tells which saved runs have the same problem. None with many
        features, for runs that failed or were stopped, and in files of older versions.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> gda.solve(problem, "alternating", solver="analytic")
    alternating: 2×2 metric
      status              block_minimum
      reason              no block improves on its own: ...
    """

    block: FloatArray
    features: IndexArray | None = None
    feasible_set: FeasibleSet
    objective: float
    status: Status
    message: str
    lower_bound: float | None
    frank_wolfe_gap: float | None = None
    components: int
    iterations: int
    oracle_calls: int
    eigen_decompositions: int = 0
    repair_distance: float | None = None
    seconds: float
    tracing_seconds: float
    method: str
    solver: str
    solved_by: dict[str, int] = field(default_factory=dict)
    trace: Trace
    atoms: Any = None
    weights: FloatArray | None = None
    colors: FloatArray | None = None
    constraints: tuple[str, ...] = ()
    multipliers: FloatArray | None = None
    constraint_violation: float | None = None
    central_objective: float | None = None

    @property
    def n_features(self) -> int:
        """Return K."""
        return len(self.block) if self.features is None else self.trace.left_ends.shape[1]

    @property
    def metric(self) -> FloatArray:
        """Return the metric as an array; InvalidInputError if there is no memory for it."""
        if self.features is None:
            return self.block
        size = self.n_features
        check_fits(8.0 * size**2, f"a dense {size}×{size} matrix", "its sparse form has all of it")
        return read_only(self.sparse_metric.toarray())

    @property
    def sparse_metric(self) -> csr_array:
        """Return the metric as a sparse array."""
        return (
            csr_array(self.block) if self.features is None else sparse_symmetric(*self._entries())
        )

    def _entries(self) -> tuple[FloatArray, Edges, FloatArray]:
        """Return the diagonal of the metric of many features, its edges, and the entries there."""
        assert self.features is not None
        diagonal = np.full(self.n_features, self.feasible_set.min_eigenvalue)
        diagonal[self.features] = np.diagonal(self.block)
        rows, columns = np.nonzero(np.triu(self.block, 1))
        return diagonal, (self.features[rows], self.features[columns]), self.block[rows, columns]

    @property
    def gap(self) -> float | None:
        """Return ``objective - lower_bound``; None without a certificate."""
        return None if self.lower_bound is None else self.objective - self.lower_bound

    @property
    def relative_gap(self) -> float | None:
        """Return ``gap / |objective|``; None without a certificate."""
        if self.lower_bound is None:
            return None
        return relative_gap(self.objective, self.lower_bound)

    @property
    def lambda_min(self) -> float | None:
        """Return the smallest eigenvalue of the metric; None if no row of the trace has it."""
        rows = [row for row in self.trace if row.objective == self.objective]
        return rows[-1].lambda_min if rows else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return False
        ours, theirs = self._arrays(), other._arrays()
        return (
            self.feasible_set == other.feasible_set
            and self._record() == other._record()
            and self.trace == other.trace
            and ours.keys() == theirs.keys()
            and all(same_array(array, theirs[name]) for name, array in ours.items())
        )

    __hash__ = None  # type: ignore[assignment]  # an array has no hash

    def __repr__(self) -> str:
        lines = [f"  {name:<20}{text}" for name, text in self._summary().items()]
        return "\n".join(map(plain, [self._title(), *lines]))

    def _title(self) -> str:
        return f"{self.method}: {self.n_features}×{self.n_features} metric"

    def _summary(self) -> dict[str, str]:
        """Return the lines of the summary by their names."""
        start = self.trace[0].objective
        certified = self.lower_bound is not None and self.lower_bound > -math.inf
        lines = {
            "status": self.status,
            "reason": self.message,
            "objective": f"{self.objective:.8g} (at the start {start:.8g})",
            "relative gap": f"{self.relative_gap:.3g}" if certified else "not certified",
            "smallest eigenvalue": number_text(self.lambda_min),
            "components": str(self.components),
            "steps": str(self.iterations),
            "oracle calls": f"{self.oracle_calls} ({self._who_solved()})",
        }
        if self.frank_wolfe_gap is not None:
            lines["relative gap"] = "not certified, since the objective is not convex"
            lines["Frank–Wolfe gap"] = f"{self.frank_wolfe_gap:.3g}"
        if self.constraint_violation is not None:
            lines["constraints"] = (
                f"{len(self.constraints)}, kept to {self.constraint_violation:.3g}"
            )
        if self.eigen_decompositions:
            lines["projections"] = f"{self.eigen_decompositions} eigen-decompositions"
        beside = f"{self.tracing_seconds:.3g} for the trace, callbacks and printing"
        return lines | {"seconds": f"{self.seconds:.3g} (and {beside})"}

    def _who_solved(self) -> str:
        """Say who solved how many programs."""
        if self.solver == "analytic":
            return self.solver
        total = sum(self.solved_by.values())
        others = [
            f"{count} of {total} by {name}"
            for name, count in self.solved_by.items()
            if name != self.solver
        ]
        return ", ".join([f"programs solved by {self.solver}", *others])

    def _record(self) -> dict[str, Any]:
        """Return the fields that are neither arrays, nor the feasible set, nor the trace."""
        return {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name not in _OUTSIDE
        }

    def _arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of metric, atoms and what belongs to them, as a file has them."""
        arrays = {name: array for name in _ARRAYS if (array := getattr(self, name)) is not None}
        if self.features is None:
            arrays["metric"] = self.block
        else:
            arrays["metric"], edges, arrays["edge_entries"] = self._entries()
            arrays["edges"] = np.column_stack(edges).astype(np.int64)
        if isinstance(self.atoms, csr_array):
            arrays["atoms"] = self.atoms.data
            arrays["atom_features"] = self.atoms.indices.astype(np.int64)
            arrays["atom_starts"] = self.atoms.indptr.astype(np.int64)
        return arrays

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the whole result to one npz file, atomically and without pickle.

        Parameters
        ----------
        path : path-like
            The file; ``.npz`` is added when it is missing.

        Returns
        -------
        pathlib.Path
            The file that was written. Its arrays are named like the attributes, and those of the
            trace ``trace/...``; ``result`` is JSON text of everything else. With many features
            ``metric`` is the diagonal, beside ``edges`` and ``edge_entries``, and ``atoms``,
            ``atom_features`` and ``atom_starts`` are the parts of the sparse array.
        """
        return write(path, self._record(), self.feasible_set, self.trace, self._arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a result that `save` wrote.

        Parameters
        ----------
        path : path-like
            The file, or what `save` was given: ``.npz`` is added if there is no such file.

        Raises
        ------
        InvalidInputError
            When the file is not a saved result, is damaged, or was written by another version in a
            format that this version does not read; or when it contradicts itself, such as with a
            metric outside of its set. A file whose content would take more than 256 MiB, and more
            than a hundred times the size of the file, is refused, too.
        OSError
            When it cannot be read.
        """
        kinds = {each.name: str(each.type) for each in fields(cls) if each.name not in _OUTSIDE}

        def make(contents: Mapping[str, Any]) -> Result:
            result = cls(**contents)
            _check_claims(result)
            return result

        return read(path, kinds, make)


def _check_claims(result: Result) -> None:
    """Refuse what no run ends with: a metric, a bound or atoms that `solve` does not return."""
    feasible_set, size = result.feasible_set, result.n_features
    of_block = feasible_set
    if result.features is not None:
        assert has_sparse_members(feasible_set)  # as it has been loaded
        of_block = feasible_set.of_features(result.features, size)
    broken = [f"the metric: {what}" for what in of_block.violations(result.block)]
    if result.lower_bound is None and result.status == "converged":
        broken.append("it is converged without a lower bound")
    slack = _CLAIM_SLACK * float(np.abs(result.trace.column("objective")).max())
    if result.lower_bound is not None and result.lower_bound > result.objective + slack:
        broken.append(
            f"lower_bound {result.lower_bound:.6g} exceeds objective {result.objective:.6g}"
        )
    counts = (result.iterations, result.oracle_calls, result.eigen_decompositions)
    if min(*counts, *result.solved_by.values()) < 0 or not 1 <= result.components <= size:
        broken.append("a count is out of its range")
    if result.colors is not None and (np.abs(result.colors) != 1).any():
        broken.append("colors are other than +1 and -1")
    if result.atoms is not None and result.weights is not None:
        error = _distance_to_atoms(result, result.atoms, result.weights)
        if result.weights.min(initial=0) < 0 or error > _CLAIM_SLACK * feasible_set.trace_bound:
            broken.append(f"atoms and weights are those of another metric, up to {error:.3g} away")
    if broken:
        raise ValueError(f"no run ends so: {'; '.join(broken)}")


def _distance_to_atoms(result: Result, atoms: Any, weights: FloatArray) -> float:
    """Return the largest entry of the difference of the metric and the sum of its atoms."""
    feasible_set = result.feasible_set
    if result.features is None:
        base = feasible_set.base(result.n_features)
        total = Atoms.of_few_entries(atoms).added_to(base, weights)
        return float(np.abs(result.block - total).max())
    floor = feasible_set.min_eigenvalue * eye_array(result.n_features)
    return float(abs(result.sparse_metric - floor - (atoms.T * weights) @ atoms).max())
