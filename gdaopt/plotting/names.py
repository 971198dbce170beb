"""Names of features and runs in pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gdaopt.errors import InvalidInputError
from gdaopt.printing import plain
from gdaopt.printing import shortened as display

__all__ = ["feature_names", "shortened"]

_LONGEST = 40  # characters


def shortened(name: str) -> str:
    """Return a name as `plain` text of at most 40 characters, which leaves room for the picture.

    Examples
    --------
    >>> shortened("hue"), len(shortened("x" * 300))
    ('hue', 40)
    """
    name = plain(name)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def feature_names(names: Sequence[str] | None, size: int) -> list[str]:
    """Return the shortened names of K features; their numbers when no names are given.

    Raises
    ------
    InvalidInputError
        When there are not K names.
    """
    if names is None:
        return [str(number) for number in range(size)]
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInputError(f"names must be a list of names, got {display(names)}")
    names = list(names)
    if len(names) != size:
        raise InvalidInputError(f"names holds {len(names)} names for {size} features")
    return [shortened(str(name)) for name in names]
