"""What a row of the table learns from, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gdaopt.errors import GdaoptError
from gdaopt.support.validation import FloatArray
from table1.protocol import Protocol

__all__ = ["Learned", "Training", "with_matrix_trace"]


@dataclass(frozen=True, eq=False)
class Training:
    """A training half, with the features of the test half for those who use them.

    Attributes
    ----------
    X : ndarray of shape (N, K)
        All samples, scaled.
    labelled : ndarray of bool, shape (N,)
        Which samples are the training half.
    signal : ndarray of shape (n_labelled, m)
        Their 0/1 labels: of one class against the rest, or of all classes.
    seed : int
        The seed for what is drawn at random.
    protocol : Protocol
        All other settings.
    """

    X: FloatArray
    labelled: npt.NDArray[np.bool_]
    signal: FloatArray
    seed: int
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
    """A metric, and what is known of it.

    Attributes
    ----------
    metric : ndarray of shape (K, K)
        M.
    facts : mapping
        Plain values, such as the objective; empty for rows that minimise no objective.
    """

    metric: FloatArray
    facts: Mapping[str, Any] = field(default_factory=dict)


def with_matrix_trace(metric: FloatArray, matrix_trace: float) -> FloatArray:
    """Return a metric scaled so that its trace is `matrix_trace`.

    Raises
    ------
    GdaoptError
        When the metric's trace is 0, or not finite.

    Examples
    --------
    >>> with_matrix_trace(np.diag([1.0, 3.0]), 2.0).diagonal()
    array([0.5, 1.5])
    """
    present = float(np.trace(metric))
    if not 0 < present < np.inf:
        raise GdaoptError(f"the metric learned has trace {present:g}: it cannot be scaled")
    return metric * (matrix_trace / present)
