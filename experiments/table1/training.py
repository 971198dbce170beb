"""What a row of the table learns from, and what it returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.table1.protocol import Protocol
from gdaopt.errors import GdaoptError
from gdaopt.support.validation import FloatArray


@dataclass(frozen=True, eq=False)
class Training:
    """A training half, with the features of the test half for those who use them."""

    X: FloatArray  # all samples, scaled
    labelled: npt.NDArray[np.bool_]  # which samples are the training half
    # their 0/1 labels, shape (n_labelled, m): of one class against the rest, or of all
    signal: FloatArray
    seed: int  # for what is drawn at random
    protocol: Protocol

    @property
    def samples(self) -> FloatArray:
        """The training half, shape (n_labelled, K)."""
        samples: FloatArray = self.X[self.labelled]
        return samples

    @property
    def labels(self) -> npt.NDArray[np.intp]:
        """The training half's labels, shape (n_labelled,): 0 and 1, or numbers of all classes."""
        codes = self.signal[:, 0] if self.signal.shape[1] == 1 else self.signal.argmax(axis=1)
        return codes.astype(np.intp)

    @property
    def trace_bound(self) -> float:
        """C, by the rule "K"."""
        return float(self.X.shape[1])


@dataclass(frozen=True, eq=False)
class Learned:
    """A metric, and what is known of it as plain values, such as the objective."""

    metric: FloatArray
    facts: Mapping[str, Any] = field(default_factory=dict)


def with_matrix_trace(metric: FloatArray, matrix_trace: float) -> FloatArray:
    """Return a metric scaled so that its trace is `matrix_trace`; refuse a trace of 0."""
    present = float(np.trace(metric))
    if not 0 < present < np.inf:
        raise GdaoptError(f"the metric learned has trace {present:g}: it cannot be scaled")
    return metric * (matrix_trace / present)
