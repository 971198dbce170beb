"""The words for how a run has ended; `gdaopt.Result` says what they mean."""

from __future__ import annotations

from typing import Literal

Status = Literal[
    "converged",
    "stationary",
    "block_minimum",
    "slow_progress",
    "stalled",
    "inaccurate",
    "iteration_limit",
    "time_limit",
    "interrupted",
    "solver_failed",
    "left_domain",
    "disconnected",
    "infeasible",
    "failed",
]

ENDS = {
    "converged": "optimum, proven",
    "stationary": "stationary point",
    "block_minimum": "no block improves",
    "slow_progress": "gains too little",
    "stalled": "at round-off",
    "inaccurate": "solver inexact",
    "iteration_limit": "limit of steps",
    "time_limit": "time limit",
    "interrupted": "interrupted",
    "solver_failed": "solver failed",
    "left_domain": "left the domain",
    "disconnected": "would disconnect",
    "infeasible": "infeasible",
    "failed": "failed",
}
"""What tables say of a run of each status, in few words."""

FAILURES = frozenset({"solver_failed", "left_domain"})
"""The statuses of runs that something went wrong in."""

MADE_NO_PROGRESS = frozenset({"block_minimum", "slow_progress", "stalled", "inaccurate"})
"""The statuses of runs that ended because going on would have gained little or nothing."""

ENDED_NORMALLY = MADE_NO_PROGRESS | {"converged", "stationary", "iteration_limit"}
"""The statuses of runs that ended by themselves, or after as many steps as they may take."""
