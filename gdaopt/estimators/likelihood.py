"""The most likely graph metric of Gaussian samples, block by block.

Where the sample covariance of two features is not positive, the most likely metric has no edge
between them. So the graph of positive covariances splits the problem into its components, and
bridges split it further ("Proposition: bridges"). What is left are the blocks without bridges,
solved by `gdaopt.methods.ProjectedNewton`; metric and inverse are put together from them.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from gdaopt.linalg.entries import Edges, IndexArray
from gdaopt.linalg.laplacian import bridge, labels_without_bridges, n_components
from gdaopt.methods.projected_newton import ProjectedNewton
from gdaopt.objectives import LogDet
from gdaopt.objectives.log_det import largest_trace
from gdaopt.objectives.round_off import UNIT
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.sets import EdgeMask, GraphMetrics
from gdaopt.solving import solve
from gdaopt.status import Status
from gdaopt.support.validation import FloatArray, read_only
from gdaopt.trace import Trace, TraceRow, relative_gap

_ROOM = 2.0  # times a bound of the optimum's trace: then no trace bound binds on the way


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The most likely graph metric and its inverse; the gap of the result is that of all blocks."""

    covariance: FloatArray
    result: Result
    n_blocks: int
    largest_block: int


def most_likely_metric(
    covariance: FloatArray,
    mask: EdgeMask | None = None,
    *,
    tolerance: float = 1e-6,
    max_iterations: int | None = None,
    initial: FloatArray | None = None,
) -> Likelihood:
    """Return the minimiser of ``⟨S, M⟩ - log det M`` over all graph metrics, without trace bound.

    S is the covariance matrix, less the penalties of edges, as it is in floating point. The gap may
    be the tolerance times K.
    """
    start = time.perf_counter()
    size, variances = len(covariance), np.diagonal(covariance)
    positive = _positive_pairs(covariance, mask)
    feasible_set = GraphMetrics(_ROOM * largest_trace(covariance, positive), 0.0, edges=mask)
    labels = labels_without_bridges(size, positive)
    order = np.argsort(labels, kind="stable")
    blocks = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    is_cut = labels[positive[0]] != labels[positive[1]]
    cut = positive[0][is_cut], positive[1][is_cut]
    metric, inverse = np.diag(1 / variances), np.diag(variances)
    # A block of one feature has an exact value, but for the logarithm.
    bounds = [1 + math.log(variances[block[0]]) for block in blocks if len(block) == 1]
    values = bounds.copy()
    results: list[Result] = []
    for block in blocks:
        if len(block) == 1:
            continue
        index = np.ix_(block, block)
        begin = None if initial is None else initial[index]
        problem = _problem(covariance[index], _inside(mask, block, size), begin)
        method = ProjectedNewton(
            tolerance=0.0,
            absolute_tolerance=tolerance * len(block),
            max_iterations=max_iterations,
            initial=begin,
            trace_every=0,
        )
        result = solve(problem, method)
        results.append(result)
        metric[index] = result.metric
        inverse[index] = LogDet(covariance[index]).at(result.metric).inverse
        values.append(result.objective)
        bounds.append(-math.inf if result.lower_bound is None else result.lower_bound)
    values += _join(metric, inverse, blocks, cut, covariance)
    shares = [
        bridge((variances[i], variances[j]), covariance[i, j]).rest
        for i, j in zip(*cut, strict=True)
    ]
    bounds += map(math.log, shares)
    objective = math.fsum(values)
    lower_bound = math.fsum(bounds) - 8 * UNIT * (size + math.fsum(map(abs, bounds)))
    certified_bound = min(lower_bound, objective) if lower_bound > -math.inf else None
    failed = [result for result in results if result.status != "converged"]
    status: Status = "converged"
    message = "the certified gap is within the tolerances"
    if certified_bound is None or objective - certified_bound > tolerance * size:
        status, message = "stalled", "the blocks converged, but round-off leaves a larger gap"
        if failed:
            status, message = failed[0].status, failed[0].message
        elif shares:
            i, j = (int(ends[np.argmin(shares)]) for ends in cut)
            message += f"; features {i} and {j} are the most similar of all that a bridge joins"
    seconds = time.perf_counter() - start
    steps = max((result.iterations for result in results), default=0)
    begun = size + float(np.log(variances).sum())
    rows = tuple(
        TraceRow(
            iteration=iteration,
            round=iteration,
            phase=phase,
            objective=value,
            lower_bound=bound,
            relative_gap=None if bound is None else relative_gap(value, bound),
            matrix_trace=trace,
            oracle_calls=0,
            eig_iterations=0,
            eigen_decompositions=0,
            eig_seconds=0.0,
            objective_seconds=0.0,
            seconds=at,
        )
        for iteration, phase, value, bound, trace, at in (
            (0, "start", begun, None, float((1 / variances).sum()), 0.0),
            (steps, "newton", objective, certified_bound, float(np.trace(metric)), seconds),
        )
    )
    result_of_all = Result(
        block=read_only(metric),
        feasible_set=feasible_set,
        objective=objective,
        status=status,
        message=message,
        lower_bound=certified_bound,
        components=n_components(metric, 0.0),
        iterations=steps,
        oracle_calls=0,
        seconds=seconds,
        tracing_seconds=0.0,
        method=ProjectedNewton.name,
        solver="analytic",
        trace=Trace(rows, read_only(np.full((len(rows), size), np.nan))),
    )
    return Likelihood(inverse, result_of_all, len(blocks), max(len(block) for block in blocks))


def _positive_pairs(covariance: FloatArray, mask: EdgeMask | None) -> Edges:
    if mask is None:
        rows, columns = np.nonzero(np.triu(covariance > 0, 1))
        return rows, columns
    rows, columns = mask.edges_of(len(covariance))
    is_positive = covariance[rows, columns] > 0
    return rows[is_positive], columns[is_positive]


def _inside(mask: EdgeMask | None, block: IndexArray, size: int) -> EdgeMask | None:
    if mask is None:
        return None
    numbers = np.full(size, -1)
    numbers[block] = np.arange(len(block))
    pairs = numbers[np.column_stack(mask.edges_of(size))]
    return EdgeMask.of(pairs[(pairs >= 0).all(axis=1)])


def _problem(
    covariance: FloatArray, mask: EdgeMask | None, initial: FloatArray | None
) -> MetricProblem:
    bound = _ROOM * largest_trace(covariance, _positive_pairs(covariance, mask))
    if initial is not None:
        bound = max(bound, _ROOM * float(np.trace(initial)))
    return MetricProblem(LogDet(covariance), GraphMetrics(bound, 0.0, edges=mask))


def _join(
    metric: FloatArray,
    inverse: FloatArray,
    blocks: list[IndexArray],
    cut: Edges,
    covariance: FloatArray,
) -> list[float]:
    """Join blocks by bridges, metric and inverse; return what that adds to the objective.

    The blocks need not be optimal ("Lemma: round-off of bridges").
    """
    labels = np.empty(len(inverse), dtype=np.intp)
    for number, block in enumerate(blocks):
        labels[block] = number
    parts, values = dict(enumerate(blocks)), []
    for i, j in zip(*cut, strict=True):
        ours, theirs = parts[labels[i]], parts.pop(labels[j])
        # With at least half of the inverse's diagonal the metric is positive definite.
        a, b = (max(float(covariance[k, k]), float(inverse[k, k]) / 2) for k in (i, j))
        c = float(covariance[i, j])
        added = bridge((a, b), c)
        rest = added.rest
        share, of_i, of_j = 1 - rest, float(inverse[i, i]) / a - 1, float(inverse[j, j]) / b - 1
        left = 1 - share * of_i * of_j
        values += [math.log(rest), -math.log(left)]
        values.append(share / rest * (covariance[i, i] / a - 1 + covariance[j, j] / b - 1))
        added.add_to(metric, i, j)
        to_i, to_j = inverse[ours, i] / a, inverse[theirs, j] / b
        if of_j:
            inverse[np.ix_(ours, ours)] += a * share * of_j / left * np.outer(to_i, to_i)
        if of_i:
            inverse[np.ix_(theirs, theirs)] += b * share * of_i / left * np.outer(to_j, to_j)
        between = c / left * np.outer(to_i, to_j)
        inverse[np.ix_(ours, theirs)] = between
        inverse[np.ix_(theirs, ours)] = between.T
        parts[labels[i]] = np.concatenate([ours, theirs])
        labels[theirs] = labels[i]
    # Rounded up, the metric is the exact one and a positive semidefinite matrix.
    ends, counts = np.unique(np.concatenate(cut), return_counts=True)
    metric[ends, ends] *= 1 + (2 * counts + 4) * UNIT
    change = np.append((3 * counts + 6) * metric[ends, ends], 2 * np.abs(metric[cut])) * UNIT
    of_metric = np.append(inverse[ends, ends], inverse[cut])
    of_optimum = np.append(covariance[ends, ends], covariance[cut])
    most = float(change @ of_metric)
    values += [float(change @ np.abs(of_optimum - of_metric)), most - math.log1p(most)]
    return values
