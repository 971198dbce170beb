"""What every answer to a problem with linear constraints must hold to.

Nothing here asks the package whether an answer is right: rows and sets are checked in NumPy from
the numbers that define them, a problem is proved to be feasible by a member that keeps its rows,
and CLARABEL finds such members, and optima, from a formulation of its own.
"""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

import gdaopt as gda
from gdaopt.certificate import Certificate
from gdaopt.support.validation import FloatArray
from tests.fuzz.constrained import Constrained, ConstrainedIngredients, related

__all__ = ["Fault", "Judged", "stalls_early"]

ROWS = 1e-8  # of C: the distance to a row that results may have, and refusals must have
VISIBLE = 1e-6  # of the trace, or a typical one: a row is broken by so much, however large C is
MEMBER = 1e-9  # of C: by how much results may break a condition of the set
EXACT = 1e-14  # of a typical metric's trace: what a member that proves something may break a row by
ROOM = 1e-6  # the share of the mean eigenvalue that the smallest one has inside of the cone
TOLERANCE, LIMIT = 1e-7, 60.0
BUSY = 0.5  # of the time limit: other programs took it where the processor was busy for less
STALLED, ROUND_OFF = 1e-6, 10.0  # gaps of a larger share and so many round-offs are no round-off
NOTHING = 1e-7  # of the objective at the known member: less is no gap where the optimum is 0
AGREEMENT = 1e-6  # the share by which two solvers' optima differ where the conic one is accurate
LABEL = 60  # so many characters of a row's text a message has, at least
UNDERFLOW = ("multiply the features by about", "underflow")

_POLISHED = 8  # rounds of correcting a point
_SHARES = (0.0, *10.0 ** np.arange(-12, -1.0))  # of the way to a member inside
_TIGHT = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)


@dataclass(frozen=True)
class Fault:
    """A thing that is wrong: its kind, for counting, and a sentence."""

    kind: str
    sentence: str


class Judged:
    """A random problem, what became of it, and what is wrong with that.

    `end` is ``"refused"``, ``"nothing to learn from"``, the status of the run, or the error's name;
    `checked` says what has been compared.
    """

    def __init__(self, ingredients: ConstrainedIngredients, *, others: bool = False) -> None:
        self.ingredients = ingredients
        self.made = Constrained(ingredients)
        self.end, self.checked = "", list[str]()
        self.result: gda.Result | None = None
        self._began = time.process_time()
        self.faults: list[Fault] = []
        self._run(others)

    def _run(self, others: bool) -> None:
        problem = self._attempt("the constructor", self.made.problem)
        if problem is not None:
            options = {
                "tolerance": TOLERANCE,
                "max_iterations": 300,
                "time_limit": LIMIT,
                "keep_iterates": True,
            }
            self.result = self._attempt(
                "certified", lambda: gda.solve(problem, "certified", **options)
            )
        if self.result is None:
            return
        self.end = self.result.status
        self.faults += list(self._of_result(self.result))
        if others and self._member is not None:
            self._judge_certificate(problem, self._member)
            again = {"initial": self._member, "max_iterations": 5}
            self._judge_other(problem, "certified", again)
        if others and is_of_graphs(self.ingredients):
            for method, options in _OTHERS.items():
                self._judge_other(problem, method, options)

    def _attempt(self, what: str, call: Callable[[], Any]) -> Any:
        """Return what is returned; None after an error, which is a fault without a good reason."""
        try:
            return call()
        except Exception as error:
            message, end = str(error), type(error).__name__
            is_refusal = isinstance(error, gda.errors.InfeasibleProblemError)
            if is_refusal and what == "the constructor":
                end = "refused"
                self.faults += list(self._of_refusal(message))
            elif "nothing to learn from at the start" in message:
                end = "nothing to learn from"
            else:
                self.faults.append(Fault(f"{end}, {what}", message))
            self.end = self.end or end
            return None

    # --- refusals --------------------------------------------------------------------------------

    def _of_refusal(self, message: str) -> Iterator[Fault]:
        size = self.ingredients.n_features
        metric = cp.Variable((size, size), symmetric=True, name="M")
        labels = [" ".join(str(row).split()) for row in self.made.constraints(metric)]
        if not any(label[:LABEL] in message for label in labels):
            yield Fault("refused without naming a row", message)
        if self.made.least_violation > 0:
            return
        known = [self._member, None if self._largest is None else self._proved(self._largest)]
        rooms = [self.made.room(point) for point in known if point is not None]
        if not rooms:
            return
        self.checked.append("a member, refused")
        if max(rooms) > ROOM:
            yield Fault(
                "false infeasible",
                f"a member keeps all rows, its smallest eigenvalue beyond the base is "
                f"{max(rooms):.3g} of the mean one: {message}",
            )
        elif "boundary" not in message:
            yield Fault(
                "false infeasible: wrong reason",
                f"a member keeps all rows, of a room of {max(rooms):.3g}: {message}",
            )

    # --- results ---------------------------------------------------------------------------------

    def _of_result(self, result: gda.Result) -> Iterator[Fault]:
        yield from self._of_metric(result.metric, result)
        if result.status in ("time_limit", "iteration_limit"):
            busy = time.process_time() - self._began
            if result.status == "iteration_limit" or busy >= BUSY * LIMIT:
                end = f"{result.status} after {result.iterations} rounds"
                yield Fault("no end", f"{end}: {self.gap}")
        elif result.status in ("stalled", "slow_progress"):
            yield from self._of_stall(result)
        elif result.status != "converged":
            yield Fault(f"status {result.status}", result.message)
        bound = -math.inf if result.lower_bound is None else result.lower_bound
        if bound > result.objective:
            yield Fault("bound above the objective", f"{bound!r} > {result.objective!r}")
        if result.status == "converged":
            allowed = TOLERANCE * abs(result.objective)
            if not result.objective - bound <= allowed:
                yield Fault("converged with a gap", self.gap)
        yield from self._against_members(result, bound)
        if result.trace.iterates is not None:
            yield from self._against_states(result, result.trace.iterates, "")

    def _against_states(
        self, result: gda.Result, metrics: Iterable[FloatArray], suffix: str
    ) -> Iterator[Fault]:
        """Yield the best state of a run where it is better than the result."""
        if self.made.least_violation > 0:
            return
        most = EXACT * self.made.scale
        # The optimum may be 0, where values have the round-off of larger ones.
        noise = EXACT * abs(self.made.objective.at(self.made.known).value)
        kept = [
            (self.made.objective.at(metric).value, row, noise + self._allowance(metric, result))
            for row, metric in enumerate(metrics)
            if max(self.made.broken(metric), self.made.outside(metric)) <= most
        ]
        self.checked += [f"its own states{suffix}"] * bool(kept)
        better = [(at, row) for at, row, allowed in kept if result.objective > at + allowed]
        if better:
            name, (at, row) = "state" if better[0][1] else "start", min(better)
            yield Fault(
                f"worse than its own {name}{suffix}",
                f"{result.objective!r} > {at!r} of row {row}, which keeps all conditions; "
                f"bound {result.lower_bound!r}, {result.status}",
            )

    def _of_metric(self, metric: FloatArray, what: Any) -> Iterator[Fault]:
        """Yield what is wrong with a metric that some method returned, or passed through."""
        trace_bound, name = self.made.feasible_set.trace_bound, getattr(what, "status", what)
        if not np.isfinite(metric).all():
            yield Fault("a metric that is not finite", f"{name}")
            return
        broken, outside = self.made.broken(metric), self.made.outside(metric)
        least = self.made.least_violation
        if least > ROWS * trace_bound:
            yield Fault(
                f"false feasible, {name}",
                f"every metric breaks a row by {least / trace_bound:.3g}·C at least; "
                f"this one by {broken / trace_bound:.3g}·C",
            )
        elif broken > ROWS * trace_bound:
            yield Fault(f"rows broken, {name}", f"by {broken / trace_bound:.3g}·C")
        elif broken > VISIBLE * max(self.made.scale, float(np.trace(metric))):
            yield Fault(
                f"rows broken in the problem's own scale, {name}",
                f"by {broken:.3g}, {broken / trace_bound:.3g}·C, where traces are about "
                f"{self.made.scale:.3g}",
            )
        if outside > MEMBER * trace_bound:
            yield Fault(f"not in the set, {name}", f"by {outside / trace_bound:.3g}·C")

    def _of_stall(self, result: gda.Result) -> Iterator[Fault]:
        if any(word in result.message for word in UNDERFLOW):
            self.end = "underflow"
            return
        size = abs(self.made.objective.at(self.made.known).value)
        if stalls_early(result, size):
            there = gda.certify(self.made.problem(), result.metric).round_off
            gap = math.inf if result.gap is None else result.gap
            kind = "stall" if gap > ROUND_OFF * there else "stall: more round-off than it says"
            yield Fault(kind, f"{self.gap}; round-off at the end {there:.3g}: {result.message}")

    @property
    def gap(self) -> str:
        """What to say of the run's gap."""
        assert self.result is not None
        gap = math.inf if self.result.gap is None else self.result.gap
        share = gap / abs(self.result.objective) if self.result.objective else math.inf
        return f"gap {gap:.3g}, {share:.3g} of the objective {self.result.objective:.6g}"

    def _against_members(self, result: gda.Result, bound: float) -> Iterator[Fault]:
        """Yield contradictions to members that keep the rows: the known one, and the best."""
        members = {"a member": self._member}
        if self.ingredients.is_calm:
            best = self._optimum
            members["the conic optimum"] = None if best is None else self._proved(best)
        for name, member in members.items():
            if member is None:
                continue
            at, allowed = self.made.objective.at(member).value, self._allowance(member, result)
            self.checked.append(name)
            if bound > at + allowed:
                yield Fault(f"bound above {name}", f"{bound!r} > {at!r}")
            if result.status == "converged":
                if result.objective > at + allowed + TOLERANCE * abs(result.objective):
                    yield Fault(f"objective above {name}", f"{result.objective!r} > {at!r}")
                size = abs(at) + abs(self.made.objective.at(self.made.known).value)
                if name != "a member" and at - result.objective <= AGREEMENT * size:
                    self.checked.append(f"{name}, the same to {AGREEMENT:g}")

    def _allowance(self, member: FloatArray, result: gda.Result | Certificate) -> float:
        """Return by how much round-off, and rows that are nearly kept, may lower the objective."""
        point = self.made.objective.at(member)
        terms = abs(point.value) + float(np.abs(point.gradient() * member).sum())
        of_rows = 0.0
        if result.multipliers is not None:
            broken = [row.broken(member) * np.linalg.norm(row.matrix) for row in self.made.rows]
            of_rows = float(np.abs(result.multipliers) @ broken)
        return 1e-12 * terms + 2 * of_rows + 1e-300

    # --- certificates, and other methods ---------------------------------------------------------

    def _judge_certificate(self, problem: gda.MetricProblem, member: FloatArray) -> None:
        """Judge a certificate whose multipliers the package finds itself."""
        assert self.result is not None
        self.checked.append("certify")
        certificate = self._attempt("certify", lambda: gda.certify(problem, member))
        if certificate is not None:
            least = self.result.objective + self._allowance(self.result.metric, certificate)
            bound = certificate.lower_bound
            if bound > min(least, certificate.objective):
                kind = "bound above the objective, certify"
                self.faults.append(Fault(kind, f"{bound!r} > {least!r}"))

    def _judge_other(
        self, problem: gda.MetricProblem, method: str, options: dict[str, Any]
    ) -> None:
        """Judge the states of another method."""
        metrics: list[FloatArray] = []
        options = {
            "callback": lambda state: metrics.append(state.metric),
            "time_limit": LIMIT,
            **options,
        }
        self.checked.append(method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gda.errors.InaccurateSolutionWarning)
            result = self._attempt(method, lambda: gda.solve(problem, method, **options))
        if result is None:
            return
        found = (self._of_metric(metric, method) for metric in [*metrics, result.metric])
        faults = {fault.kind: fault for of_one in found for fault in of_one}
        self.faults += faults.values()
        self.faults += self._against_states(result, metrics, f", {method}")
        self._compare_bound(result.metric, method)
        bound = -math.inf if result.lower_bound is None else result.lower_bound
        if self._member is not None:
            at = self.made.objective.at(self._member).value
            if bound > at + self._allowance(self._member, result):
                self.faults.append(Fault(f"bound above a member, {method}", f"{bound!r} > {at!r}"))

    def _compare_bound(self, metric: FloatArray, method: str) -> None:
        """Compare the certified bound with the objective where another method ended."""
        assert self.result is not None
        member = self._proved(metric)
        if member is None or self.result.lower_bound is None:
            return
        at, bound = self.made.objective.at(member).value, self.result.lower_bound
        self.checked.append(f"the end of {method}")
        if bound > at + self._allowance(member, self.result):
            self.faults.append(Fault(f"bound above the end of {method}", f"{bound!r} > {at!r}"))

    # --- members that prove something ------------------------------------------------------------

    @cached_property
    def _member(self) -> FloatArray | None:
        """The known member, if it keeps all rows up to round-off."""
        return self._proved(self.made.known)

    def _proved(self, metric: FloatArray) -> FloatArray | None:
        """Return a member next to a metric that keeps all rows up to round-off; None if none is."""
        if self.made.least_violation > 0:
            return None
        most = EXACT * self.made.scale
        for share in _SHARES:
            mixed = (1 - share) * metric + share * self.made.known
            polished = self._polished(mixed)
            if max(self.made.broken(polished), self.made.outside(polished)) <= most:
                return polished
        return None

    def _polished(self, metric: FloatArray) -> FloatArray:
        """Return the nearest matrix that keeps all equalities, and the rows that are broken."""
        rows, signs = self.made.rows, self.made.bounds.signs
        zero = (signs == 0) & ~np.eye(len(metric), dtype=bool)
        metric = np.where(zero, 0.0, metric)
        for _ in range(_POLISHED):
            own = [row for row in rows if row.relation == "==" or row.broken(metric) > 0]
            if not own:
                break
            normals = [np.where(zero, 0.0, row.matrix) for row in own]
            left = np.array([normal.ravel() for normal in normals])
            sizes = np.linalg.norm([row.matrix.ravel() for row in own], axis=1)[:, None]
            off = np.array([row.bound - float(np.vdot(row.matrix, metric)) for row in own])
            step = np.linalg.lstsq(left / sizes, off / sizes[:, 0], rcond=1e-12)[0]
            metric = metric + step.reshape(metric.shape)
            metric = (metric + metric.T) / 2
        return metric

    @cached_property
    def _largest(self) -> FloatArray | None:
        """A member of the largest smallest eigenvalue, by CLARABEL."""
        metric, unit, constraints = self._conic()
        least = cp.Variable()
        above = metric - self.made.bounds.base()
        size = len(self.made.known)
        inside = [*self._in_cone(above / unit - least * np.eye(size)), least <= 1]
        return self._solved(cp.Maximize(least), [*constraints, *inside], metric)

    @cached_property
    def _optimum(self) -> FloatArray | None:
        """The best metric, by CLARABEL."""
        metric, _, constraints = self._conic()
        objective: Any = self.made.objective
        log = objective.log_convex
        expression, defining = (objective.log_to_cvxpy if log else objective.to_cvxpy)(metric)
        size = 1.0 if log else abs(objective.at(self.made.known).value) or 1.0
        return self._solved(cp.Minimize(expression / size), [*defining, *constraints], metric)

    def _conic(self) -> tuple[cp.Expression, float, list[cp.Constraint]]:
        """Return the metric as an expression of a variable of size 1, and all conditions."""
        size, bounds = len(self.made.known), self.made.bounds
        unit = self.made.scale / size
        variable = cp.Variable((size, size), symmetric=True)
        metric = unit * variable
        above = (metric - bounds.base()) / unit
        edges = (metric - bounds.fixed) / unit
        i, j = np.triu_indices(size, 1)
        signs = bounds.signs[i, j]
        zero, signed = signs == 0, (signs != 0) & ~np.isnan(signs)
        constraints = [*self._in_cone(above), cp.trace(variable) <= bounds.trace_bound / unit]
        if zero.any():
            constraints.append(variable[i[zero], j[zero]] == 0)
        if signed.any():
            sides = cp.multiply(signs[signed], edges[i[signed], j[signed]])
            constraints.append(sides >= 0)
        for row in self.made.rows:
            length = float(np.linalg.norm(row.matrix))
            left = cp.sum(cp.multiply(row.matrix / length, variable))
            constraints.append(related(left, row.relation, row.bound / length / unit))
        return metric, unit, constraints

    def _in_cone(self, above: cp.Expression) -> list[cp.Constraint]:
        """Return the conditions that a matrix, or its comparison matrix, is semidefinite."""
        if not self.made.bounds.is_sdd:
            return [above >> 0]
        size = above.shape[0]
        comparison = cp.Variable((size, size), symmetric=True)
        off = np.ones((size, size)) - np.eye(size)
        return [
            comparison >> 0,
            cp.diag(comparison) == cp.diag(above),
            cp.multiply(off, cp.abs(above)) <= -cp.multiply(off, comparison),
        ]

    def _solved(
        self, objective: cp.Minimize | cp.Maximize, constraints: list[Any], metric: cp.Expression
    ) -> FloatArray | None:
        """Return the metric that solves a program; None where the solver is not sure of it."""
        program = cp.Problem(objective, constraints)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                program.solve("CLARABEL", **_TIGHT)
            except cp.SolverError:
                return None
        if program.status != "optimal" or metric.value is None:
            return None
        found: FloatArray = np.asarray(metric.value, dtype=np.float64)
        return (found + found.T) / 2


def stalls_early(result: gda.Result, size: float = 0.0) -> bool:
    """Whether the gap of a run that has stalled is far above the round-off that its message names.

    An objective that is next to nothing of its size elsewhere has no share to speak of.
    """
    named = re.search(r"of which ([-+.e\d]+) is the certificate's allowance", result.message)
    round_off = float(named[1]) if named else 0.0
    gap = math.inf if result.gap is None else result.gap
    return gap > max(STALLED * abs(result.objective), NOTHING * size, ROUND_OFF * round_off)


_OTHERS: dict[str, dict[str, Any]] = {
    "alternating": {"max_iterations": 6},
    "joint": {"max_iterations": 4},
    "sdp": {},
    "socp": {},
    "sdp-frank-wolfe": {"max_iterations": 3},
}


def is_of_graphs(ingredients: ConstrainedIngredients) -> bool:
    """Whether the other methods know the set, too."""
    return ingredients.kind in ("graph", "masked graph") and ingredients.path_share == 0
