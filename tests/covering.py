"""Which cases of a test run by default, which ones with the slow tests, and which ones by hand.

``@pytest.mark.covering(2)`` above a test's ``parametrize`` marks says that by default every pair of
values of two different parameters has to occur in some case; the cases beyond are marked slow. With
1, every value of each parameter occurs, and with 3 every triple. A second number, as in
``covering(2, 3)``, says the same of the slow tests: the cases beyond are marked thorough.

``pytest --every 3`` runs the first of the cases of each test, and every third one after it.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence
from itertools import combinations
from typing import Any

import pytest

__all__ = ["chosen", "covering_part", "every", "mark_covering_parts"]


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


def mark_covering_parts(items: list[pytest.Item]) -> None:
    """Of tests marked ``covering``, mark the cases slow or thorough that the default can miss."""
    of_tests: dict[tuple[object, str], list[pytest.Function]] = defaultdict(list)
    for item in items:
        if (
            isinstance(item, pytest.Function)
            and item.get_closest_marker("covering") is not None
            and not any(map(item.get_closest_marker, ("slow", "thorough")))
            and hasattr(item, "callspec")
        ):
            of_tests[item.parent, item.originalname].append(item)
    for cases in of_tests.values():
        mark = cases[0].get_closest_marker("covering")
        assert mark is not None
        values = [tuple(map(id, case.callspec.params.values())) for case in cases]
        default, *slow = (set(covering_part(values, strength)) for strength in mark.args)
        for place, case in enumerate(cases):
            if place not in default:
                is_slow = not slow or place in slow[0]
                case.add_marker(pytest.mark.slow if is_slow else pytest.mark.thorough)


def every(items: list[pytest.Item], n: int) -> list[pytest.Item]:
    """Return every n-th case of each test, from the first on."""
    seen: Counter[tuple[object, str]] = Counter()
    found = []
    for item in items:
        test = item.parent, getattr(item, "originalname", item.name)
        if seen[test] % n == 0:
            found.append(item)
        seen[test] += 1
    return found


def chosen(
    values: Iterable[object], *, default: Container[object] = (), slow: Container[object] = ()
) -> list[Any]:
    """Return values for ``parametrize``: some run by default, some are slow, the rest thorough."""
    found = []
    for value in values:
        marks = pytest.mark.slow if value in slow else pytest.mark.thorough
        found.append(pytest.param(value, marks=() if value in default else marks))
    return found
