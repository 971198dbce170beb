"""Which cases of a product of parameters run by default: a part that covers it.

``@pytest.mark.covering(2)`` above a test's ``parametrize`` marks says that by default every pair of
values of two different parameters has to occur in some case; the cases beyond are marked slow. With
1, every value of each parameter occurs, and with 3 every triple.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import pytest

__all__ = ["covering_part", "mark_the_others_slow"]


def covering_part(cases: Sequence[Sequence[int]], strength: int) -> list[int]:
    """Return the places of cases that cover all: greedily, that which adds most comes next."""
    covered_by = [set(combinations(enumerate(case), min(strength, len(case)))) for case in cases]
    missing = set().union(*covered_by)
    chosen: list[int] = []
    while missing:
        chosen.append(max(range(len(cases)), key=lambda place: len(covered_by[place] & missing)))
        missing -= covered_by[chosen[-1]]
    return chosen


def mark_the_others_slow(items: Sequence[pytest.Item]) -> None:
    """Mark those cases slow that a test marked ``covering`` does not need."""
    of_tests: dict[tuple[object, str], list[pytest.Function]] = defaultdict(list)
    for item in items:
        if (
            isinstance(item, pytest.Function)
            and item.get_closest_marker("covering") is not None
            and item.get_closest_marker("slow") is None
            and hasattr(item, "callspec")
        ):
            of_tests[item.parent, item.originalname].append(item)
    for cases in of_tests.values():
        mark = cases[0].get_closest_marker("covering")
        assert mark is not None
        values = [tuple(map(id, case.callspec.params.values())) for case in cases]
        chosen = covering_part(values, *mark.args)
        for place, case in enumerate(cases):
            if place not in chosen:
                case.add_marker(pytest.mark.slow)
