"""Step rules, as objects or by the names the literature uses."""

from gdaopt.errors import unknown_name
from gdaopt.steps.adaptive import Adaptive
from gdaopt.steps.agnostic import Agnostic
from gdaopt.steps.exact import Exact
from gdaopt.steps.full import Full
from gdaopt.steps.protocol import Step
from gdaopt.steps.short import Short

__all__ = ["Adaptive", "Agnostic", "Exact", "Full", "Short", "Step", "find_step"]

_STEPS: dict[str, type[Step]] = {
    rule.name: rule for rule in (Exact, Adaptive, Short, Agnostic, Full)
}


def find_step(step: str | Step) -> Step:
    """Return the step rule of a name, or the object itself.

    Raises
    ------
    InvalidInputError
        For an unknown name, or an object that is not a step rule.

    Examples
    --------
    >>> find_step("exact")
    Exact(accuracy=1e-09)
    """
    if isinstance(step, str):
        if step not in _STEPS:
            raise unknown_name("step", step, _STEPS)
        return _STEPS[step]()
    if not isinstance(step, Step):
        raise unknown_name("step", step, _STEPS)
    return step
