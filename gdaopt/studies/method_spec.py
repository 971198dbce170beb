"""Methods with their options, written as text such as ``frank-wolfe:variant=away``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gdaopt.backends.registry import find_backend
from gdaopt.errors import GdaoptError, InvalidInputError, SolverNotFoundError
from gdaopt.methods import Method
from gdaopt.methods.solve import make_method

_NOT_TEXT = ("callback", "initial", "solver_opts")  # options that are not a word or a number
_WORDS = {"none": None, "true": True, "false": False}


@dataclass(frozen=True)
class MethodSpec:
    """A method's name and the options to make it with, sorted by name."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def parse(cls, text: str) -> MethodSpec:
        """Return the method that a text names; `method` looks the names up."""
        name, *rest = (part.strip() for part in text.split(":"))
        if not name:
            raise InvalidInputError(f"method {text!r} has no name; write name:option=value")
        options: dict[str, Any] = {}
        for part in rest:
            option, equals, value = (word.strip() for word in part.partition("="))
            if not (option and equals and value):
                raise InvalidInputError(
                    f"{part!r} of method {text!r} does not have the form option=value"
                )
            if option in options:
                raise InvalidInputError(f"method {text!r} gives option {option!r} twice")
            options[option] = _value(value)
        return cls(name, tuple(sorted(options.items())))

    def __str__(self) -> str:
        return ":".join([self.name, *(f"{option}={value}" for option, value in self.options)])

    @property
    def options_text(self) -> str:
        """The options as text."""
        return str(self).removeprefix(self.name).removeprefix(":")

    def method(self, common: Mapping[str, Any]) -> Method:
        """Return the method, made with its own options and, where it has none, common ones."""
        for option, _ in self.options:
            if option in _NOT_TEXT:
                raise InvalidInputError(
                    f"option {option!r} of method {str(self)!r} cannot be written as text; "
                    "leave it out, or call gdaopt.solve"
                )
        return make_method(self.name, **{**common, **dict(self.options)})

    def takes_solver(self, common: Mapping[str, Any]) -> bool:
        """Say whether the method takes a solver and its own options name none."""
        if "solver" in dict(self.options):
            return False
        try:
            return getattr(self.method(common), "solver", None) is not None
        except SolverNotFoundError:  # the default solver is missing; others may be there
            return True


@dataclass(frozen=True)
class Combination:
    """A method with a solver, and all options beside the method's own."""

    spec: MethodSpec
    solver: str  # the canonical name; "analytic" where no programs are solved
    common: Mapping[str, Any]

    @property
    def method(self) -> Method:
        """The method, made with the solver."""
        return self.spec.method(self.common)


def combinations(
    methods: Sequence[str], solvers: Sequence[str], common: Mapping[str, Any]
) -> tuple[list[Combination], list[str]]:
    """Return each method with each solver that it takes, and why others are left out.

    Without solvers, methods that take one use their own default.
    """
    if not methods:
        raise InvalidInputError("no methods are given; name at least one")
    for name in solvers:
        find_backend(name)  # an unknown name is an error of its own, not a refusal
    found: dict[tuple[MethodSpec, str], Combination] = {}
    left_out: list[str] = []
    refusals: dict[str, GdaoptError] = {}
    used: set[str | None] = set()
    for spec in dict.fromkeys(MethodSpec.parse(text) for text in methods):
        choices: Sequence[str | None] = (solvers if spec.takes_solver(common) else ()) or [None]
        for solver in choices:
            options = dict(common) if solver is None else {**common, "solver": solver}
            try:
                combination = Combination(spec, spec.method(options).solver_name, options)
            except (InvalidInputError, SolverNotFoundError) as error:
                if solver is None or isinstance(error, InvalidInputError):
                    raise
                refusals[solver] = error
                left_out.append(f"{spec} with {solver}: {error}")
            else:
                found[spec, combination.solver] = combination
                used.add(solver)
    for name in solvers:
        if name not in used:
            raise refusals.get(
                name, InvalidInputError(f"solver {name!r}: none of the methods takes a solver")
            )
    return list(found.values()), left_out


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
