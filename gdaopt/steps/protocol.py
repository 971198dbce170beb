"""Step rules: how far to go along a direction, γ between 0 and 1."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from gdaopt.objectives.protocol import Line

__all__ = ["Step"]


@runtime_checkable
class Step(Protocol):
    """A rule for the step length of Frank–Wolfe; any object with these two attributes works."""

    @property
    def name(self) -> str:
        """What results and tables call it."""

    def size(self, line: Line, iteration: int) -> float:
        """Return γ in [0, 1].

        Parameters
        ----------
        line : Line
            The objective along the direction; γ = 1 is the program's vertex.
        iteration : int
            Steps taken before in the same block: 0, 1, …
        """
