"""Which cases of a product of parameters run: parts that cover it.

``@pytest.mark.covering(2)`` above a test's ``parametrize`` marks says that by default every pair of
values of two different parameters has to occur in some case; the cases beyond are marked slow. With
1, every value of each parameter occurs, and with 3 every triple. A second number, as in
``covering(2, 3)``, says the same of the slow tests: cases that they do not need are left out.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import pytest

__all__ = ["covering_part", "select_covering_parts"]


def covering_part(cases: Sequence[Sequence[int]], strength: int) -> list[int]:
    """Return the places of cases that cover all: greedily, that which adds most comes next."""
    covered_by = [set(combinations(enumerate(case), min(strength, len(case)))) for case in cases]
    missing = set().union(*covered_by)
    chosen: list[int] = []
    for added in range(len(covered_by[0]), 0, -1):  # what a case adds only falls, so one pass each
        for place, covered in enumerate(covered_by):
            if len(covered & missing) >= added:
                chosen.append(place)
                missing -= covered
    return chosen


def select_covering_parts(items: list[pytest.Item]) -> list[pytest.Item]:
    """Of tests marked ``covering``, mark cases slow that the default does not need.

    Those that the slow tests do not need either are taken out of the list, and returned.
    """
    of_tests: dict[tuple[object, str], list[pytest.Function]] = defaultdict(list)
    for item in items:
        if (
            isinstance(item, pytest.Function)
            and item.get_closest_marker("covering") is not None
            and item.get_closest_marker("slow") is None
            and hasattr(item, "callspec")
        ):
            of_tests[item.parent, item.originalname].append(item)
    left_out: list[pytest.Item] = []
    for cases in of_tests.values():
        mark = cases[0].get_closest_marker("covering")
        assert mark is not None
        values = [tuple(map(id, case.callspec.params.values())) for case in cases]
        default, *slow = (set(covering_part(values, strength)) for strength in mark.args)
        for place, case in enumerate(cases):
            if place in default:
                continue
            case.add_marker(pytest.mark.slow)
            if slow and place not in slow[0]:
                left_out.append(case)
    unwanted = set(left_out)
    items[:] = [item for item in items if item not in unwanted]
    return left_out
