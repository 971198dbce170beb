"""What `gdaopt learn` says of its runs in plain words: what was solved, how the runs ended."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection

import numpy as np

from gdaopt.methods import METHODS
from gdaopt.result import Result
from gdaopt.trace import relative_gap

_LARGE = 1e-2
"""An objective that is above its bound by a larger share makes another method worth a word."""

_ENDS = {
    "converged": "the optimum is reached",
    "stationary": "a stationary point is reached",
    "iteration_limit": "the limit of steps is reached",
    "time_limit": "the time limit is reached, and a longer one may lead further",
    "interrupted": "stopped, and the same command goes on with it",
    "solver_failed": "a solver failed, and another --solver may not",
    "left_domain": "a step left the domain of the objective or the set, and the metric is the one "
    "before that step",
    "disconnected": "another step would disconnect the graph, which the edge floor forbids",
    "infeasible": "the edge floor leaves a program without a feasible point, and a smaller one may "
    "not",
}
"""What a status means; of a run that stalled, its message says it."""


def outcome(result: Result) -> str:
    """Return how a run ended, and how far its objective can be above the optimum."""
    end = _ENDS.get(result.status) or result.message.partition(":")[0]
    above = _above(result)
    if result.status == "converged":
        end += f" to {_percent(above)}"
    elif above < math.inf:
        end += f"; at most {_percent(above)} above the optimum"
    else:
        end += "; how far above the optimum is not known"
    return f"{end}; objective from {result.trace[0].objective:.6g} to {result.objective:.6g}"


def work(results: Collection[Result]) -> str:
    """Return what runs of one method solved, who solved it, and in how many seconds."""
    programs = sum((Counter(result.solved_by) for result in results), Counter[str]())
    calls = sum(result.oracle_calls for result in results)
    projections = sum(result.eigen_decompositions for result in results)
    kinds = {getattr(METHODS[result.method], "cone", None) or "linear" for result in results}
    kind = " or ".join(sorted(kinds))
    if programs:
        solved = [
            f"{count} {kind} program{'s' * (count > 1)} "
            + ("in closed form" if name == "analytic" else f"by {name}")
            for name, count in programs.items()
        ]
    elif projections:
        solved = [f"{projections} projections by eigen-decomposition"]
    else:
        solved = [f"{calls} linear minimisations over the set, in closed form"]
    seconds = sum(result.seconds for result in results)
    inside = sum(float(np.nansum(result.trace.column("solve_seconds"))) for result in results)
    return f"{', '.join(solved)}, in {seconds:.2g} s. Solving them took {inside:.2g} s of this time"


def advice(results: Collection[Result], method: str, edge_floor: float = 0.0) -> str | None:
    """Return how to reach the optimum where it may be far; `certified` takes no edge floor."""
    far = any(_above(result) > _LARGE for result in results)
    if not far or method == "certified" or edge_floor:
        return None
    return "--method certified reaches the optimum, with a proof of the gap"


def _above(result: Result) -> float:
    """Return by what share of the lower bound's size, not its own, an objective can be above it."""
    if result.lower_bound is None:
        return math.inf
    return relative_gap(-result.lower_bound, -result.objective)


def _percent(share: float) -> str:
    """Return what a share is at most in per cent, in two digits and without a power of ten."""
    per_cent = max(100 * share, 1e-4)
    digits = max(2, 1 + math.floor(math.log10(per_cent)))
    return f"{np.format_float_positional(per_cent, digits, fractional=False, trim='-')} %"
