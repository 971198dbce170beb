"""The errors and warnings of the package.

Every error that the package raises on purpose is a `GdaoptError`, so that one ``except`` clause
catches them all. Bad input is also a `ValueError`, as NumPy's and scikit-learn's users expect.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from gdaopt.printing import plain, shortened

__all__ = [
    "ClusterError",
    "CutOffSamplesWarning",
    "DirectoryInUseError",
    "DownloadError",
    "GdaoptError",
    "InaccurateSolutionWarning",
    "InfeasibleProblemError",
    "InvalidInputError",
    "LeftDomainError",
    "SolverFailedError",
    "SolverNotFoundError",
    "TimeLimitError",
    "UnwritableError",
    "check_name",
    "unknown_name",
]

_MOST_NAMES = 20  # known names that a message lists
_LONGEST_NAME = 40  # characters of each


class GdaoptError(Exception):
    """Base class of all errors raised by gdaopt."""


class InvalidInputError(GdaoptError, ValueError):
    """An argument is wrong; the message names it, gives its value, and says what to do."""


class DirectoryInUseError(GdaoptError):
    """Another process is writing to a directory; the message says which."""


class UnwritableError(GdaoptError, OSError):
    """A file could not be written, as when the disk is full; the message names it and says why."""

    def __str__(self) -> str:
        return f"cannot write {self.filename}: {self.strerror}"


class DownloadError(GdaoptError):
    """A file could not be downloaded; the message says how to get it by hand."""


class InfeasibleProblemError(GdaoptError):
    """A program has no feasible point."""


class SolverFailedError(GdaoptError):
    """A solver raised an error, or returned no usable point.

    When the solver raised an error, that error is chained as ``__cause__``.
    """


class SolverNotFoundError(GdaoptError, ValueError):
    """The named solver is unknown or does not work here; the message lists those that work."""


class ClusterError(GdaoptError):
    """A cluster of machines no longer answers, or answers with other data; the message says how."""


class LeftDomainError(GdaoptError):
    """A method led outside of the set, the linear constraints or the objective's domain.

    The message says what is broken and by how much. `gdaopt.solve` returns the metric before it.
    """


class TimeLimitError(GdaoptError):
    """A time limit was reached before there was anything to return."""


class InaccurateSolutionWarning(UserWarning):
    """A solver called its own answer inaccurate; the answer was repaired and used."""


class CutOffSamplesWarning(UserWarning):
    """Samples of a graph have no edge, being too far from all others, or no path to a label."""


def unknown_name(what: str, name: object, known: Iterable[str]) -> InvalidInputError:
    """Return the error for an unknown name; its message suggests the nearest known name.

    Parameters
    ----------
    what : str
        What the name stands for, such as ``"method"``.
    name : object
        What the caller passed.
    known : iterable of str
        The names that are accepted.

    Returns
    -------
    InvalidInputError
        To be raised by the caller.

    Examples
    --------
    >>> str(unknown_name("method", "alternatin", ["alternating", "joint"]))
    "unknown method 'alternatin'; did you mean 'alternating'? Known: alternating, joint"
    """
    names = sorted(known)
    given = name.lower() if isinstance(name, str) else ""
    near = difflib.get_close_matches(given, [n.lower() for n in names], n=1, cutoff=0.5)
    by_lower = {n.lower(): n for n in names}
    hint = f"; did you mean {shortened(by_lower[near[0]])}?" if near else ";"
    listed = ", ".join(_brief(known_name) for known_name in names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return InvalidInputError(f"unknown {what} {shortened(name)}{hint} Known: {listed}{more}")


def check_name(what: str, name: object, known: Collection[str]) -> None:
    """Raise the error of `unknown_name` for anything but one of the known names.

    Examples
    --------
    >>> check_name("cone", "second-order", ("second-order", "semidefinite"))
    """
    if not isinstance(name, str) or name not in known:
        raise unknown_name(what, name, known)


def _brief(name: str) -> str:
    """Return a known name for a message."""
    text = plain(name)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"
