"""The errors and warnings of the package.

Every error that the package raises on purpose is a `GdaoptError`, so that one ``except`` clause
catches them all. Bad input is also a `ValueError`, as NumPy's and scikit-learn's users expect.
"""

from __future__ import annotations

from typing import Any


class GdaoptError(Exception):
    """Base class of all errors raised by gdaopt.

    Attributes
    ----------
    result : Result or None
        What a run had reached when it was raised, also on errors that are none of gdaopt's.
    """

    result: Any = None


class InvalidInputError(GdaoptError, ValueError):
    """An argument is wrong; the message names it, gives its value, and says what to do."""


class DirectoryInUseError(GdaoptError):
    """Another process is writing to a directory; the message says which."""


class UnwritableError(GdaoptError, OSError):
    """A file could not be written, as when the disk is full; the message names it and says why."""

    def __str__(self) -> str:
        return f"cannot write {self.filename}: {self.strerror}"


class NotInstalledError(GdaoptError, ImportError):
    """A package of an extra of gdaopt is missing; the message says how to install it."""


class DownloadError(GdaoptError):
    """A file could not be downloaded; the message says how to get it by hand."""


class InfeasibleProblemError(GdaoptError):
    """A program has no feasible point."""


class EdgeFloorError(InfeasibleProblemError):
    """The edge floors leave a program of a method without a feasible point."""


class DisconnectedError(GdaoptError):
    """A step would disconnect a graph with an edge floor."""


class NoInteriorError(InfeasibleProblemError):
    """Only metrics on the boundary of the set keep all linear constraints."""


class SolverFailedError(GdaoptError):
    """A solver raised an error, which is the ``__cause__``, or returned no usable point."""


class SolverNotFoundError(GdaoptError, ValueError):
    """The named solver is unknown or does not work here; the message lists working solvers."""


class ClusterError(GdaoptError):
    """A cluster of machines no longer answers, or answers with other data; the message says how."""


class LeftDomainError(GdaoptError):
    """A method led outside of the set, the linear constraints or the objective's domain."""


class RoundOffError(GdaoptError):
    """The objective, or a step, leaves floating point: no further digits can be found."""


class TimeLimitError(GdaoptError):
    """A time limit was reached before there was anything to return."""


class InaccurateSolutionWarning(UserWarning):
    """A solver called its own answer inaccurate; the answer was made feasible and used."""


class NothingLearnedWarning(UserWarning):
    """A learned metric is a multiple of the identity, as without learning."""


class CutOffSamplesWarning(UserWarning):
    """Samples of a graph have no edge, being too far from all others, or no path to a label."""
