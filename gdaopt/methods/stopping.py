"""The rules that end a run, and the lower bound that methods which certify carry along."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from typing import Any

from gdaopt.certificate import Certificate, certify_point
from gdaopt.errors import RoundOffError
from gdaopt.linalg.magnitudes import magnitude_inner
from gdaopt.methods.context import Context, Ending
from gdaopt.objectives.protocol import Point
from gdaopt.problem import MetricProblem
from gdaopt.state import State
from gdaopt.status import Status
from gdaopt.support.validation import FloatArray

_NOTHING = 1e-6  # share of the gap: an objective that is smaller can have an optimum of 0


class StallRule:
    """Ends a run when the last rounds together changed the objective by no more than a tolerance.

    The tolerance is a share of the objective's size at the start of these rounds: of ``|Q|``, or of
    ``Σ_ij |∇Q(M)_ij M_ij|`` if that is larger, such as if Q tends to 0. For objectives with a
    convex logarithm, which tend to 0 by decades, ``|Q|`` is the only size. The size of a flat
    objective is the most that can be gained (`MetricProblem.size_of`). Open-loop steps may raise
    the objective and go on: for them ``rises_count`` as changes.
    """

    def __init__(
        self,
        problem: MetricProblem,
        start: Point,
        tolerance: float,
        *,
        rounds: int = 1,
        rises_count: bool = False,
        status: Status = "slow_progress",
    ) -> None:
        self._points = deque([start], maxlen=rounds + 1)
        self._tolerance = tolerance
        self._rises_count = rises_count
        self._status: Status = status
        self._problem = problem

    def check(self, point: Point) -> Ending | None:
        """Take the objective after a round; return how the run has ended if it makes no progress.

        The status is that of the rule, or "stalled" if the objective is degenerate.
        """
        self._points.append(point)
        before, rounds = self._points[0], len(self._points) - 1
        decrease = before.value - point.value
        change = abs(decrease) if self._rises_count else decrease
        if len(self._points) < (self._points.maxlen or 0):
            return None
        size = abs(before.value)
        if not self._problem.objective.log_convex:
            size = max(size, magnitude_inner(before.gradient(), before.metric))
        if not change <= self._tolerance * self._problem.size_of(size):
            return None
        reason = point.degenerate_reason()
        if reason is not None:
            return "stalled", reason
        last = "the last round" if rounds == 1 else f"the last {rounds} rounds"
        return (
            self._status,
            f"stopped: {last} lowered the objective by {max(decrease, 0.0):.3g}, at most the "
            f"tolerance of {self._tolerance:g} of its size",
        )


class Patience:
    """Ends a run whose certified gap has not become smaller for a number of steps.

    It has *stalled* if at least half of the remaining gap is round-off, else it made
    *slow_progress*.
    """

    def __init__(self, bound: LowerBound, most: int, steps: str) -> None:
        self._bound = bound
        self._least, self._left = bound.gap, bound.left
        self._most = most
        self._steps = steps
        self._waited = 0

    def check(self, point: Point) -> Ending | None:
        """Take the objective after a step; return how the run has ended if patience is over."""
        bound, objective = self._bound, point.value
        fell = bound.gap < self._least or bound.left < self._left
        self._waited = 0 if fell else self._waited + 1
        self._least, self._left = min(self._least, bound.gap), min(self._left, bound.left)
        if self._waited < self._most:
            return None
        status: Status = "slow_progress"
        if bound.round_off >= self._least / 2:  # such as at an optimum of 0
            status, advice = (
                "stalled",
                (
                    "up to that the objective is at its minimum, and with an absolute_tolerance as "
                    "large as the gap the run is converged"
                ),
            )
        elif abs(objective) <= _NOTHING * self._least:
            advice = (
                f"the objective is {objective:.3g}, negligible beside that gap: if the optimum "
                "is 0, a share of it is 0 too, and only an absolute_tolerance can be met"
            )
        else:
            advice = (
                "where the objective has kinks, as norms have, take method 'sdp' "
                '(by="sdp" in CVXPY), which needs no derivatives'
            )
        return (
            status,
            f"stopped: the last {self._most} {self._steps} did not lower the certified gap of "
            f"{self._least:.3g}, of which {bound.round_off:.3g} is the certificate's allowance for "
            f"round-off; {advice}",
        )


class LowerBound:
    """The largest certified lower bound of a run so far, -inf before the first certificate.

    Attributes
    ----------
    value, round_off : float
        The bound, and by how much it has been lowered.
    gap : float
        The gap that a run wants to close, at the last metric: to the bound, or to a stationary
        point.
    left : float
        How far the last metric can be from the optimum, whatever Q's own round-off is.
    frank_wolfe_gap, gap_round_off, multipliers
        As those of `gdaopt.certificate.Certificate`, of the last metric.
    """

    def __init__(self) -> None:
        self.value = -math.inf
        self.round_off = 0.0
        self.gap = self.left = self.frank_wolfe_gap = math.inf
        self.gap_round_off = 0.0
        self.multipliers: FloatArray | None = None

    def add(self, certificate: Certificate) -> float:
        """Take a certificate and return the best bound; RoundOffError if Q underflows."""
        if certificate.reason and not math.isinf(certificate.round_off):
            raise RoundOffError(certificate.reason)  # else other points may have a bound
        if certificate.lower_bound >= self.value:
            self.value, self.round_off = certificate.lower_bound, certificate.round_off
        self.value = min(self.value, certificate.objective)  # it is a member, but for round-off
        self.multipliers = certificate.multipliers
        self.frank_wolfe_gap = certificate.frank_wolfe_gap
        self.gap_round_off = certificate.gap_round_off
        to_bound = certificate.objective - self.value
        self.gap = self.frank_wolfe_gap if self.value == -math.inf else to_bound
        self.left = min(to_bound, self.frank_wolfe_gap + self.gap_round_off)
        return self.value

    def certify(self, problem: MetricProblem, context: Context, state: State) -> State:
        """Return a state with the certificate of its metric, which is a member of the set."""
        with context.completing("objective"):
            self.add(certify_point(problem, state.point))
        return replace(state, **self.columns())

    def columns(self) -> dict[str, Any]:
        """Return what a state says about how far its metric is from the optimum."""
        return {
            "lower_bound": self.value,
            "frank_wolfe_gap": self.frank_wolfe_gap,
            "gap_round_off": self.gap_round_off,
            "multipliers": self.multipliers,
        }
