"""The lower bounds of a run: the largest so far, over the set and over the closed one."""

from __future__ import annotations

import math
from typing import Any

from gdaopt.certificate import Certificate, check_bound
from gdaopt.methods.state import RunEnded

__all__ = ["RunningBounds"]


class RunningBounds:
    """Collects the certificates of a run.

    Attributes
    ----------
    lower_bound, closed_lower_bound : float
        The largest so far; -inf before the first.
    """

    def __init__(self) -> None:
        self.lower_bound = self.closed_lower_bound = -math.inf
        self._start: float | None = None

    def add(self, certificate: Certificate) -> dict[str, Any]:
        """Take the certificate of a member of the set; return the bounds, by their column.

        Raises
        ------
        RunEnded
            When there is nothing to certify any more: the objective underflows.
        GdaoptError
            When the member is below a bound.
        """
        if certificate.reason:
            raise RunEnded("stalled", certificate.reason)
        if self._start is None:
            self._start = certificate.objective
        self.lower_bound = max(self.lower_bound, certificate.lower_bound)
        self.closed_lower_bound = max(self.closed_lower_bound, certificate.closed_lower_bound)
        check_bound(certificate.objective, self.lower_bound, self._start)
        return {"lower_bound": self.lower_bound, "closed_lower_bound": self.closed_lower_bound}
