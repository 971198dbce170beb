"""One module or package for each experiment, run by ``python -m experiments``.

A module that is an experiment says so in its constant `EXPERIMENT`, and is named in `NAMES`.
"""

NAMES = (
    "landing",
    "learn_wine",
    "exact_vs_alternating",
    "certified_vs_conic",
    "objectives",
    "large_n",
    "wide",
    "masks",
    "precision",
    "held_out",
    "signed",
    "discs",
    "backends",
    "inexact_vertices",
    "overheads",
    "learners",
    "others_data",
    "search",
    "learner_families",
    "table1",
)
"""The experiments, in the order of ``docs/results.md``."""
