"""The result of a run: the metric, how good it is, how the run ended, and its trace."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from gdaopt.printing import html_table, number_text
from gdaopt.result_file import FAILURES, Status, read_result, write_result
from gdaopt.sets import FeasibleSet
from gdaopt.trace import Trace, relative_gap, same_array
from gdaopt.validation import FloatArray

__all__ = ["FAILURES", "Result", "Status"]

# Fields that are not numbers or texts
_NO_VALUES = ("metric", "feasible_set", "trace", "atoms", "weights", "multipliers")
_CLOSED_FORM = ("analytic", "closed form")  # names that stand for no solver


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """What `gdaopt.solve` returns: a metric, and how it was found; printing it gives a summary.

    Attributes
    ----------
    metric : ndarray of shape (K, K)
        A member of the feasible set, read-only.
    feasible_set : FeasibleSet
        The set of the problem.
    objective : float
        Q at the metric.
    status : str
        How the run ended. ``converged``: ``Q - lower_bound`` is within the tolerances.
        ``stationary``: so is `frank_wolfe_gap`, of an objective that is not convex. ``stalled``:
        going on would not help, most often because the objective decreases by no more than the
        tolerance. ``iteration_limit``, ``time_limit``: a limit was reached. ``interrupted``: by the
        user or the callback. ``solver_failed``: a solver did not solve a program.
        ``left_domain``: a step led outside of the set, the linear constraints or the objective's
        domain, and the metric is that of the last step that was checked before.
        ``disconnected``: a step would have disconnected a graph with an edge floor.
        ``infeasible``: the edge floors left a program without a feasible point. In each case the
        metric is a member of the set.
    message : str
        The reason for the status.
    lower_bound, gap, relative_gap : float or None
        The certificate ``lower_bound ≤ Q*``, where Q* is the least objective over the feasible
        set; ``gap = objective - lower_bound``; and ``gap / |objective|``. None without a
        certificate.
    frank_wolfe_gap : float or None
        For an objective that is not convex, which has no certificate: by how much a tangent at the
        metric falls over the feasible set at most, 0 at a stationary point. None for a convex one.
    components : int
        Number of components of the metric's graph.
    iterations, oracle_calls, eigen_decompositions : int
        Number of steps; of calls of the linear minimisation oracle, each a program solved or a
        search for atoms; and of full eigen-decompositions for projections.
    repair_distance : float or None
        How far the solver's last point was moved into the set, as the largest change of an entry;
        None when no solver was called.
    seconds, tracing_seconds : float
        Wall time of the run; and the wall time of the trace, callbacks and printing, which is not
        part of it.
    method, solver : str
        Names of the method and of the solver; ``"analytic"`` and ``"closed form"`` stand for no
        solver.
    solved_by : dict of str to int
        How many programs each solver has solved, ``"analytic"`` among them: a program whose costs
        are 0 needs no solver, and a fall-back may have taken over. Empty where a method has no
        programs.
    trace : Trace
        The history of the run.
    atoms, weights : ndarrays of shape (n, K) and (n,), or None
        Unit vectors and their weights, for methods that find the metric as a sum
        ``metric = B + Σ_k weights[k] · outer(atoms[k], atoms[k])``, where B is the base of the set.
    constraints : tuple of str
        The names of the problem's linear constraints, row by row.
    multipliers : ndarray of shape (m,) or None
        Their multipliers λ in the last certificate: Q* falls by about ``λ_k`` when the bound of row
        k rises by 1. None without constraints or certificate.
    constraint_violation : float or None
        The largest distance of the metric to a constraint that it breaks; None without constraints.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> gda.solve(problem, solver="analytic")
    alternating: 2×2 metric
      status              stalled
      reason              stopped: ...
    """

    metric: FloatArray
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
    atoms: FloatArray | None = None
    weights: FloatArray | None = None
    constraints: tuple[str, ...] = ()
    multipliers: FloatArray | None = None
    constraint_violation: float | None = None

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

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Result)
            and np.array_equal(self.metric, other.metric)
            and self.feasible_set == other.feasible_set
            and self._record() == other._record()
            and self.trace == other.trace
            and same_array(self.atoms, other.atoms)
            and same_array(self.weights, other.weights)
            and same_array(self.multipliers, other.multipliers)
        )

    __hash__ = None  # type: ignore[assignment]  # an array has no hash

    def __repr__(self) -> str:
        lines = [f"  {name:<20}{text}" for name, text in self._summary().items()]
        return "\n".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        """Return the summary as a table for notebooks."""
        return html_table(self._summary().items(), caption=self._title())

    def _title(self) -> str:
        """Return the first line of the summary."""
        return f"{self.method}: {len(self.metric)}×{len(self.metric)} metric"

    def _summary(self) -> dict[str, str]:
        """Return the lines of the summary by their names."""
        start = self.trace[0].objective
        certified = self.lower_bound is not None and self.lower_bound > -math.inf
        lines = {
            "status": self.status,
            "reason": self.message,
            "objective": f"{self.objective:.8g} (at the start {start:.8g})",
            "relative gap": f"{self.relative_gap:.3g}" if certified else "not certified",
            "smallest eigenvalue": number_text(self.trace[-1].lambda_min),
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
        if self.solver in _CLOSED_FORM:
            return "closed form"
        total = sum(self.solved_by.values())
        others = [
            f"{count} of {total} by {'the closed form' if name in _CLOSED_FORM else name}"
            for name, count in self.solved_by.items()
            if name != self.solver
        ]
        return ", ".join([f"programs solved by {self.solver}", *others])

    def _record(self) -> dict[str, Any]:
        """Return the fields that are neither arrays, nor the feasible set, nor the trace."""
        return {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name not in _NO_VALUES
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the whole result to one npz file, atomically and without pickle.

        Parameters
        ----------
        path : path-like
            The file; ``.npz`` is added when it is missing.

        Returns
        -------
        pathlib.Path
            The file that was written. Its arrays are ``metric`` and ``left_ends``; ``atoms`` and
            ``weights`` where the result has them; the columns and any iterates of the trace, as
            ``trace/...``; and ``result``, which is JSON text of everything else.
        """
        return write_result(path, {each.name: getattr(self, each.name) for each in fields(self)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a result that `save` wrote.

        Raises
        ------
        InvalidInputError
            When the file is not a saved result, is damaged, or was written by another version in a
            format that this version does not read. One that would take more than 256 MiB and
            than a hundred times its size is not read either.
        """
        return cls(**read_result(path))
