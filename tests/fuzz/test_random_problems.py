"""Random problems, solved by all methods: no run breaks a promise, or contradicts another.

A failure prints the call and the ingredients, so that it can be repeated::

    case = Case(Ingredients.drawn(17))
    list(case.faults())
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

import gdaopt as gda
from tests.covering import chosen
from tests.fuzz.checks import Case
from tests.fuzz.problems import Ingredients
from tests.fuzz.reference import Bounds

FEW = 12  # problems of the default suite: about two seconds
CHUNKS, CHUNK = 100, 20  # of the slow and the thorough tests


def check(seeds: Iterable[int]) -> None:
    """Run and check the problems of some seeds; print how they ended."""
    ends: Counter[str] = Counter()
    found: list[str] = []
    for seed in seeds:
        case = Case(Ingredients.drawn(seed))
        ends.update(o.result.status if o.result else "refused" for o in case.outcomes)
        found += case.faults()
    print(f"{ends.total()} runs, {len(found)} faults:", dict(ends.most_common()))
    assert ends.total() > ends["refused"]
    assert not found, "\n\n".join(found)


def test_few() -> None:
    check(range(FEW))


@pytest.mark.parametrize("chunk", chosen(range(CHUNKS), slow=range(15)))
def test_many(chunk: int) -> None:
    check(range(chunk * CHUNK, (chunk + 1) * CHUNK))


# --- The generator, and the reference that judges ------------------------------------------------


def test_the_reference_sees_what_is_broken() -> None:
    signed = gda.SignedGraphMetrics([1, -1, 1], 6.0, 0.5, path_weight=0.25)
    bounds = Bounds.of(signed, 3)
    assert max(bounds.excess(signed.start(3)).values()) < 1e-15
    wrong = signed.start(3)
    wrong[0, 1] = wrong[1, 0] = 0.1  # less than the path's edge
    assert bounds.excess(wrong)["signs"] == pytest.approx(0.15 / 6)
    assert bounds.excess(2 * signed.start(3))["trace"] == pytest.approx(1.0)
    assert bounds.excess(bounds.base() - np.eye(3))["eigenvalue"] == pytest.approx(1 / 6)
    diagonal = Bounds.of(gda.DiagonalMetrics(2.0), 2)
    assert diagonal.excess(np.array([[1.0, -0.2], [-0.2, 1.0]]))["zeros"] == pytest.approx(0.1)
