"""Step rules, as objects or by the names the literature uses."""

from gdaopt.errors import unknown_name
from gdaopt.steps.exact import Exact
from gdaopt.steps.full import Full
from gdaopt.steps.protocol import Step

__all__ = ["Exact", "Full", "Step", "find_step"]

_STEPS: dict[str, type[Exact] | type[Full]] = {"exact": Exact, "full": Full}


def find_step(step: str | Step) -> Step:
    """Return the step rule of a name, or the object itself.

    Raises
    ------
    InvalidInputError
        For an unknown name, or an object that is no step rule.

    Examples
    --------
    >>> find_step("exact")
    Exact(name='exact')
    """
    if isinstance(step, str):
        if step not in _STEPS:
            raise unknown_name("step", step, _STEPS)
        return _STEPS[step]()
    if isinstance(step, type) or not isinstance(step, Step):
        raise unknown_name("step", step, _STEPS)
    return step
