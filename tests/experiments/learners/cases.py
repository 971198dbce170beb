"""Scores that several tests of the comparison share."""

import numpy as np

from learners.rows import DEFAULTS, LEARNERS, NO_LEARNING
from learners.scores import Score


def scored(*wrong: float, **numbers: float) -> Score:
    """Return a row by the shares of wrong answers of each sample."""
    return Score(seconds=numbers.get("seconds", 1.0), memory=2**20, wrong=np.array(wrong))


def found(**changed: Score) -> dict[str, Score]:
    """Return rows of one data set; those named by `names` below may be others."""
    names = {"plain": NO_LEARNING["z-scores"], "default": DEFAULTS[0], "late": LEARNERS[3].name}
    names |= {"lda": "scikit-learn LDA", "lmnn": "metric-learn LMNN", "raw": NO_LEARNING["raw"]}
    half = scored(0, 100, 0, 100)
    rows = dict.fromkeys([*NO_LEARNING.values(), *(learner.name for learner in LEARNERS)], half)
    return rows | {names[key]: value for key, value in changed.items()}
