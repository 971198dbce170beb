"""Names with options as text, such as ``joint:step=adaptive`` and ``HIGHS:solver=ipm``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from gdaopt.backends.catalogue import SolverEntry, entry_of, tolerance_options
from gdaopt.backends.registry import check_solver_options, find_solver
from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened

_WORDS = {"none": None, "true": True, "false": False}


@dataclass(frozen=True)
class NamedOptions:
    """A name and options, sorted by name; subclasses say what has the name."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    kind: ClassVar[str]

    @classmethod
    def parse(cls, text: object) -> Self:
        """Return what a text says, without a look whether there is such a name."""
        if not isinstance(text, str):
            raise InvalidInputError(f"each {cls.kind} must be a text, got {shortened(text)}")
        name, *rest = (part.strip() for part in text.split(":"))
        if not name:
            raise InvalidInputError(f"{cls.kind} {text!r} has no name; write name:option=value")
        options: dict[str, Any] = {}
        for part in rest:
            option, equals, value = (word.strip() for word in part.partition("="))
            if not (option and equals and value):
                raise InvalidInputError(
                    f"{part!r} of {cls.kind} {text!r} does not have the form option=value"
                )
            if option in options:
                raise InvalidInputError(f"{cls.kind} {text!r} gives option {option!r} twice")
            options[option] = _value(value)
        return cls(name, tuple(sorted(options.items())))

    def __str__(self) -> str:
        return ":".join([self.name, *(f"{option}={value}" for option, value in self.options)])

    @property
    def options_text(self) -> str:
        """The options as text."""
        return str(self).removeprefix(self.name).removeprefix(":")


class SolverSpec(NamedOptions):
    """A solver's name and options of its own."""

    kind = "solver"

    @classmethod
    def find(cls, text: object) -> Self:
        """Return the solver that a text names, in any case; refuse unknown names and options."""
        spec = cls.parse(text)
        solver = replace(spec, name=find_solver(spec.name))
        check_solver_options(solver.name, dict(solver.options))
        return solver

    @property
    def entry(self) -> SolverEntry:
        """What is known of the solver."""
        return entry_of(self.name)

    @property
    def algorithm(self) -> str:
        """The kind of its algorithm; ``"unknown"`` if its options may choose among several."""
        algorithms = self.entry.algorithms
        return algorithms[0] if not self.options or len(algorithms) == 1 else "unknown"

    def asking(self, tolerance: float) -> dict[str, Any]:
        """Return options that ask for a tolerance, and its own, which take precedence."""
        return tolerance_options(self.name, tolerance) | dict(self.options)


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
