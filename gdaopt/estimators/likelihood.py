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
from gdaopt.linalg.laplacian import bridges, component_labels, n_components, with_bridges
from gdaopt.methods.projected_newton import ProjectedNewton
from gdaopt.methods.solve import solve
from gdaopt.objectives import LogDet
from gdaopt.objectives.log_det import largest_trace
from gdaopt.objectives.round_off import UNIT
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.sets import EdgeMask, GraphMetrics
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

    S is the covariance matrix, less the penalties of edges. The gap may be the tolerance times K.
    """
    start = time.perf_counter()
    size, variances = len(covariance), np.diagonal(covariance)
    positive = _positive_pairs(covariance, mask)
    trace_bound = _ROOM * largest_trace(covariance, positive)
    cut = bridges(size, positive)
    blocks = _blocks(size, positive, cut)
    metric, inverse = np.diag(1 / variances), np.diag(variances)
    # Of features that are blocks of their own the values are exact.
    single = [int(block[0]) for block in blocks if len(block) == 1]
    objective = lower_bound = float((1 + np.log(variances[single])).sum())
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
        inverse[index] = np.linalg.inv(result.metric)
        objective += result.objective
        lower_bound += -math.inf if result.lower_bound is None else result.lower_bound
    of_inverse = np.diagonal(inverse).copy()
    with_bridges(metric, of_inverse, cut, covariance)
    _fill_across(inverse, blocks, cut, covariance)
    # What the bridges add to the value, with the inverse's diagonal, and to the optimum, with S's.
    shares = covariance[cut] ** 2 / (of_inverse[cut[0]] * of_inverse[cut[1]])
    excess = sum(variances[ends] / of_inverse[ends] - 1 for ends in cut)
    objective += float(np.log1p(-shares).sum() + shares / (1 - shares) @ excess)
    of_optimum = np.log1p(-(covariance[cut] ** 2) / (variances[cut[0]] * variances[cut[1]]))
    terms = size + float(np.abs(np.log(variances)).sum() - of_optimum.sum())
    lower_bound += float(of_optimum.sum()) - (size + 8) * UNIT * terms
    known = min(lower_bound, objective) if lower_bound > -math.inf else None
    failed = [result for result in results if result.status != "converged"]
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
            lambda_min=None,
            left_end_min=None,
            left_end_max=None,
            matrix_trace=trace,
            constraint_violation=None,
            seconds=at,
        )
        for iteration, phase, value, bound, trace, at in (
            (0, "start", begun, None, float((1 / variances).sum()), 0.0),
            (steps, "newton", objective, known, float(np.trace(metric)), seconds),
        )
    )
    found = Result(
        known_metric=read_only(metric),
        feasible_set=GraphMetrics(trace_bound, 0.0, edges=mask),
        objective=objective,
        status=failed[0].status if failed else "converged",
        message=failed[0].message if failed else "the certified gap is within the tolerances",
        lower_bound=known,
        components=n_components(metric, 0.0),
        iterations=steps,
        oracle_calls=0,
        seconds=seconds,
        tracing_seconds=0.0,
        method=ProjectedNewton.name,
        solver="analytic",
        trace=Trace(rows, read_only(np.full((len(rows), size), np.nan))),
    )
    return Likelihood(inverse, found, len(blocks), max(len(block) for block in blocks))


def _positive_pairs(covariance: FloatArray, mask: EdgeMask | None) -> Edges:
    if mask is None:
        rows, columns = np.nonzero(np.triu(covariance > 0, 1))
        return rows, columns
    rows, columns = mask.edges_of(len(covariance))
    kept = covariance[rows, columns] > 0
    return rows[kept], columns[kept]


def _blocks(size: int, edges: Edges, cut: Edges) -> list[IndexArray]:
    numbers = edges[0] * size + edges[1]
    kept = ~np.isin(numbers, cut[0] * size + cut[1])
    labels = component_labels(size, (edges[0][kept], edges[1][kept]))
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


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
    log_det = LogDet(covariance)
    bound = _ROOM * log_det.auto_trace_bound()
    if initial is not None:
        bound = max(bound, _ROOM * float(np.trace(initial)))
    return MetricProblem(log_det, GraphMetrics(bound, 0.0, edges=mask))


def _fill_across(
    inverse: FloatArray, blocks: list[IndexArray], cut: Edges, covariance: FloatArray
) -> None:
    """Fill the inverse between blocks that bridges join, from its blocks on the diagonal."""
    labels = np.empty(len(inverse), dtype=np.intp)
    for number, block in enumerate(blocks):
        labels[block] = number
    parts = dict(enumerate(blocks))
    for i, j in zip(*cut, strict=True):
        ours, theirs = parts[labels[i]], parts.pop(labels[j])
        share = covariance[i, j] / (inverse[i, i] * inverse[j, j])
        between = share * np.outer(inverse[ours, i], inverse[j, theirs])
        inverse[np.ix_(ours, theirs)] = between
        inverse[np.ix_(theirs, ours)] = between.T
        parts[labels[i]] = np.concatenate([ours, theirs])
        labels[theirs] = labels[i]
