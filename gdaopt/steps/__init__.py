"""Step rules, as objects or by the names the literature uses."""

from gdaopt.errors import check_name
from gdaopt.steps.adaptive import Adaptive
from gdaopt.steps.exact import Exact
from gdaopt.steps.open_loop import Agnostic, Full
from gdaopt.steps.protocol import Step
from gdaopt.steps.short import Short

__all__ = ["STEPS", "Adaptive", "Agnostic", "Exact", "Full", "Short", "Step", "find_step"]

STEPS: dict[str, type[Step]] = {
    "exact": Exact,
    "adaptive": Adaptive,
    "short": Short,
    "agnostic": Agnostic,
    "full": Full,
}
"""The step rules by their names."""


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
    if isinstance(step, Step):
        return step
    check_name("step", step, STEPS)
    return STEPS[step]()
