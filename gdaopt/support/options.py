"""Options of commands that are fields of dataclasses, too, and the values in their texts."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import field
from typing import Any, TypeVar

from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened

ValueT = TypeVar("ValueT")


def option(
    default: Any,
    words: str,
    *,
    read: Callable[[str], Any] | None = None,
    text: str | None = None,
    metavar: str | None = None,
) -> Any:
    """Return a field of a dataclass that a command has as an option, explained by these words.

    If the option is a text, `read` returns the value of the field. `text` is the default of the
    command, if it is not the text of the field's default.
    """
    if read is not None and text is None and default:
        text = ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
    metadata = {"help": words, "read": read, "text": text, "metavar": metavar}
    return field(default=default, metadata=metadata)


def read_names(text: str) -> tuple[str, ...]:
    """Return the names in a list that commas separate.

    >>> read_names('id, "length, cm"')
    ('id', 'length, cm')
    """
    if not text:
        return ()
    (names,) = csv.reader([text.replace("\n", " ")], skipinitialspace=True)
    return tuple(name.strip() for name in names)


def read_words(text: str) -> tuple[str, ...]:
    """Return the names in a list that commas separate, without empty ones; none for "none"."""
    return tuple(name for name in read_names(text) if name) if text != "none" else ()


def read_numbers(option: str, text: str, kind: Callable[[str], ValueT]) -> tuple[ValueT, ...]:
    """Return the numbers in a list that commas separate."""
    try:
        return tuple(map(kind, read_words(text)))
    except ValueError as error:
        raise InvalidInputError(
            f"{option} must be numbers separated by commas, got {shortened(text)}"
        ) from error


def read_number(text: str) -> str | float:
    """Return the number that a text stands for; a text that is not a number stays as it is."""
    try:
        return float(text)
    except ValueError:
        return text
