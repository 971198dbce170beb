"""How far a metric can be from the optimum: the Frank–Wolfe gap of the exact oracle.

For convex Q and any symmetric M, in the set or not, ``Q* ≥ Q(M) - gap`` with the gap
``⟨∇Q(M), M⟩ - min_S ⟨∇Q(M), ·⟩``; if log Q is convex, also ``Q* ≥ Q(M) exp(-gap / Q(M))``, which
is never below ("Proposition: certificate", "Proposition: exponential certificate"). A multiple of M
often gives a far better bound: if Q has a log-determinant ("Proposition: scaled certificate"),
and if the trace bound is far from binding ("Proposition: inflated certificate"). If Q has a
barrier, the dual problem has the best bound of all ("Proposition: dual certificate"). With linear
constraints, multipliers take them into the linear function whose minimum over the set is known
("Proposition: certificate with linear constraints"). All bounds are lowered by their round-off.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from gdaopt.certificate.tangent import (
    Bound,
    Tangent,
    best_multiple,
    dual_bound,
    inflated_bound,
    inflated_tangent,
    nothing_to_certify,
    tangent_at,
)
from gdaopt.errors import GdaoptError
from gdaopt.objectives.base import Objective
from gdaopt.objectives.log_det import LogDetPoint
from gdaopt.objectives.protocol import Point
from gdaopt.problem import MetricProblem
from gdaopt.sets.members import Support
from gdaopt.support.text import ShownAsTable
from gdaopt.support.validation import FloatArray, symmetric_matrix
from gdaopt.trace import relative_gap

_NO_DIGITS = "round-off leaves no bound: the metric is nearly singular, or far out of scale"
_NOT_CONVEX = "the objective is not convex: a tangent is no lower bound"
_UNDERFLOW = 1e-150  # products of such numbers underflow, which the round-off leaves out

Kind = Literal["linear", "exponential", "scaled", "dual", "none"]
"""Where a lower bound comes from, see `Certificate.bound`."""


@dataclass(frozen=True)
class Certificate(ShownAsTable):
    """A lower bound of the optimum, from one metric.

    Attributes
    ----------
    objective : float
        Q at the metric.
    lower_bound, bound : float and {"linear", "exponential", "scaled", "dual", "none"}
        A lower bound of Q over the problem's set, -inf when there is none, and its kind: the best
        of the linear, exponential, scaled and dual bounds that Q has. The scaled bound is the
        linear bound at a multiple of the metric.
    multipliers : ndarray of shape (m,) or None
        λ of the linear constraints, row by row as in `MetricProblem.rows`, in units of Q over units
        of the row as it was written; None if there are no constraints.
    reason : str
        Why there is no bound; empty if there is one.
    round_off : float
        By how much the bound is lowered at most ("Proposition: round-off of the certificate");
        infinite if that leaves no bound.
    frank_wolfe_gap, gap_round_off : float
        ``⟨∇Q(M), M⟩ - min_S ⟨∇Q(M), ·⟩``, infinite if it is not known, and by how much it is off
        at most. For a convex objective it bounds how far Q(M) is above the optimum, however large
        Q is. If the objective is not convex, it is 0 at a stationary point.
    membership : float
        By how much Q can be below the optimum if the metric counts as a member, since trace and
        smallest eigenvalue are known up to round-off only.
    excesses : ndarray of shape (m,) or None
        How far the metric is beyond each linear constraint, in units of the row as it was written.

    Examples
    --------
    >>> import numpy as np, gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> certificate = gda.certify(problem, 2 * np.eye(2))
    >>> certificate.lower_bound < gda.solve(problem, "certified").objective < certificate.objective
    True
    """

    objective: float
    lower_bound: float
    bound: Kind
    reason: str = ""
    round_off: float = 0.0
    membership: float = 0.0
    multipliers: FloatArray | None = None
    frank_wolfe_gap: float = math.inf
    gap_round_off: float = 0.0
    excesses: FloatArray | None = None

    @property
    def gap(self) -> float:
        """``objective - lower_bound``; negative for some metrics outside of the set only."""
        return self.objective - self.lower_bound

    @property
    def allowance(self) -> float:
        """By how much the value of a member can be below a lower bound, for round-off alone."""
        return self.round_off + self.membership + _UNDERFLOW

    @property
    def relative_gap(self) -> float:
        """``gap / |objective|``; 0 when the gap is 0, infinite when only the objective is."""
        return relative_gap(self.objective, self.lower_bound)


def certify_metric(
    problem: MetricProblem, metric: Any, multipliers: FloatArray | None = None
) -> Certificate:
    """Certify a K×K metric from any source, of a convex objective; see `gdaopt.certify`."""
    members = problem.members
    metric = symmetric_matrix("metric", metric, members.size)
    if multipliers is not None:
        multipliers = members.check_multipliers(multipliers)
    with np.errstate(all="ignore"):
        point = problem.objective.at(metric)
        certificate = certify_point(problem, point, multipliers=multipliers)
        if multipliers is not None or certificate.multipliers is None:
            return certificate
        smallest = members.multipliers().smallest(point, certificate.multipliers)
        return certify_point(problem, point, multipliers=smallest)


def certify_point(
    problem: MetricProblem,
    point: Point,
    support: Support | None = None,
    multipliers: FloatArray | None = None,
) -> Certificate:
    """Certify a metric at which the objective has been evaluated.

    The least of its gradient over the members is computed if it is left out. At a member it may
    be that of the gradient under the set's mask, as by `AtomFamily.gradient_at`; a caller that
    gives it has asked ``nothing_to_certify`` before. For `multipliers` see `certify`.
    """
    members, objective, value = problem.members, problem.objective, point.value
    if support is None:
        gradient = point.gradient()
        reason = nothing_to_certify(point, gradient)
        if reason is not None:
            return Certificate(value, -math.inf, "none", reason)
        if members.names and multipliers is None:
            multipliers = members.multipliers().tight(point)
        support = members.support(gradient, multipliers)
    tangent = tangent_at(problem, point, support)
    others: list[tuple[Bound, Kind]] = []
    if isinstance(point, LogDetPoint):
        multiple = best_multiple(problem, point, support)
        others.append((tangent_at(problem, *multiple).bound, "scaled"))
    elif objective.convex and not objective.log_convex:
        inflated = partial(inflated_tangent, problem, point, support)
        others.append((inflated_bound(tangent, inflated), "scaled"))
    if objective.barrier and support.multipliers is None:
        others.append((dual_bound(problem, point), "dual"))
    certificate = replace(
        certificate_by(tangent, objective, others),
        multipliers=support.multipliers,
        membership=members.membership(support, point.metric),
        excesses=members.excesses(point.metric),
    )
    if certificate.lower_bound > value and not members.violations(point.metric):
        # Membership allows for some round-off, too; strictly inside there is none to allow for.
        inside = members.made_feasible(point.metric) - members.base
        gap = float(np.vdot(support.gradient, inside)) - support.least
        if gap < -certificate.allowance:
            raise GdaoptError(
                f"a member of the set has a gap of {gap:.6g}, which is negative, though the "
                "minimum is over that member, too: the gradient is not symmetric, or best_atoms of "
                "a family of your own is not exact; gda.check_objective tests the gradient"
            )
        certificate = replace(certificate, lower_bound=value)
    return certificate


def certificate_by(
    tangent: Tangent, objective: Objective, others: Iterable[tuple[Bound, Kind]]
) -> Certificate:
    """Return the certificate of the best bound: that of a tangent, or one of some others."""
    value = tangent.value
    of_gap: dict[str, Any] = {
        "frank_wolfe_gap": max(float(tangent.gap), 0.0),
        "gap_round_off": float(tangent.gap_round_off),
    }
    if not objective.convex:
        return Certificate(value, -math.inf, "none", _NOT_CONVEX, round_off=math.inf, **of_gap)
    bound = tangent.bound
    kind: Kind = "exponential" if objective.log_convex else "linear"
    for other, its_kind in others:
        if other.value > bound.value:
            bound, kind = other, its_kind
    if not bound.value > -math.inf:
        return Certificate(value, -math.inf, "none", _NO_DIGITS, round_off=math.inf)
    lower, round_off = float(bound.value), float(bound.round_off)
    return Certificate(value, lower, kind, round_off=round_off, **of_gap)


def value_below(value: float, lower_bound: float) -> GdaoptError:
    """Return the error for a member of the set whose value is below a lower bound."""
    return GdaoptError(
        f"the objective is {value:.10g} at a member of the set, below the certified lower bound of "
        f"{lower_bound:.10g}: the gradient is wrong, or the objective is not convex; "
        "gda.check_objective looks for the fault, and an objective that is not convex says so by "
        "convex=False"
    )
