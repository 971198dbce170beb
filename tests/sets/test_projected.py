"""Projections on the sets: by their properties, and what they cost."""

from dataclasses import replace
from itertools import pairwise
from unittest.mock import MagicMock

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.linalg import projection
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray
from tests.helpers import Rng, generators, properties, random_symmetric
from tests.methods.certified_cases import HULLS, set_of
from tests.sets.mask_cases import random_mask

ACCURACY = 1e-10  # of C, the default

hulls = st.sampled_from(HULLS)
sizes = st.integers(1, 8)
units = st.sampled_from([1e-6, 1.0, 1e6])  # C / K


def case(
    rng: Rng, hull: tuple[str, float], size: int, unit: float = 1.0
) -> tuple[FeasibleSet, FloatArray]:
    """Return a set of C = K units, and a symmetric target: near, far, or very far."""
    kind, floor = hull
    rho = rng.choice([0.0, 1e-3, 0.3]) * unit
    feasible_set = set_of(kind, size, size * unit, rho, floor * unit)
    graphs = gda.GraphMetrics | gda.SignedGraphMetrics | gda.SDDMetrics
    if isinstance(feasible_set, graphs) and floor == 0 and rng.random() < 0.3:
        feasible_set = replace(feasible_set, edges=random_mask(rng, size))
    target = random_symmetric(rng, size) * rng.choice([0.1, 1.0, 30.0]) * unit
    if rng.random() < 0.3:  # that the trace bound alone is against
        target = target + 3 * unit * np.eye(size)
    return feasible_set, target


def distance(first: FloatArray, second: FloatArray) -> float:
    return float(np.linalg.norm(first - second))


# --- Properties ----------------------------------------------------------------------------------


@properties(120)
@given(generators, hulls, sizes, units)
def test_no_member_is_nearer(rng: Rng, hull: tuple[str, float], size: int, unit: float) -> None:
    """⟨target - P, V - P⟩ ≤ 0 for all members V: the exact oracle knows the worst of them."""
    feasible_set, target = case(rng, hull, size, unit)
    found = feasible_set.projected(target)
    bound = feasible_set.trace_bound
    assert found.apart <= ACCURACY * bound
    assert np.abs(found.nearest - found.nearest.T).max() == 0
    member = feasible_set.made_feasible(found.nearest)
    assert not feasible_set.violations(member)
    assert distance(member, found.nearest) <= 10 * size * ACCURACY * bound
    away = member - target
    worst = float(np.vdot(away, member)) - feasible_set.minimize_linear(away).value
    assert worst <= 10 * size * ACCURACY * bound * (bound + distance(member, target))


@properties(60)
@given(generators, hulls, sizes, units)
def test_members_stay_where_they_are(
    rng: Rng, hull: tuple[str, float], size: int, unit: float
) -> None:
    feasible_set, target = case(rng, hull, size, unit)
    vertices = [feasible_set.minimize_linear(random_symmetric(rng, size)).vertex for _ in range(3)]
    shares = rng.dirichlet(np.ones(3))
    inside = sum(share * vertex for share, vertex in zip(shares, vertices, strict=True))
    nearest = feasible_set.made_feasible(feasible_set.projected(target).nearest)
    for member in (feasible_set.base(size), *vertices, inside, nearest):
        found = feasible_set.projected(member)
        assert distance(found.nearest, member) <= 1e-9 * feasible_set.trace_bound
        assert found.eigen_decompositions <= 2


# --- What they cost ------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "floor"), HULLS)
def test_decompositions_count(kind: str, floor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    decomposed = MagicMock(wraps=scipy.linalg.eigh)
    monkeypatch.setattr(projection, "eigh", decomposed)
    rng = np.random.default_rng(3)
    for size in (1, 2, 5, 8):
        feasible_set, target = case(rng, (kind, floor), size)
        decomposed.reset_mock()
        count = feasible_set.projected(target).eigen_decompositions
        assert [len(call.args[0]) for call in decomposed.call_args_list] == [size] * count
        if kind == "definite":
            assert count == 1
        else:  # a closed form where there are no edges
            assert bool(count) == (len(feasible_set.family.edges_of(size)[0]) > 0)


@pytest.mark.parametrize(("kind", "floor"), [hull for hull in HULLS if hull[0] != "diagonal"])
def test_a_warm_start_gets_to_the_same_point_sooner(kind: str, floor: float) -> None:
    rng = np.random.default_rng(4)
    cold = warm = 0
    for size in (3, 5, 8):
        feasible_set, target = case(rng, (kind, floor), size)
        first = feasible_set.projected(target)
        again = feasible_set.projected(target, correction=first.correction)
        assert again.eigen_decompositions <= min(first.eigen_decompositions, 2)
        near = target + 1e-4 * random_symmetric(rng, size)
        from_nothing = feasible_set.projected(near)
        from_there = feasible_set.projected(near, correction=first.correction)
        atol = 1e-8 * feasible_set.trace_bound
        np.testing.assert_allclose(again.nearest, first.nearest, atol=atol)
        np.testing.assert_allclose(from_there.nearest, from_nothing.nearest, atol=atol)
        cold += from_nothing.eigen_decompositions
        warm += from_there.eigen_decompositions
    assert warm <= cold
    if kind != "definite":
        assert warm < 0.9 * cold


@pytest.mark.parametrize("kind", ["graph", "signed"])
def test_a_coarser_accuracy_is_cheaper(kind: str) -> None:
    rng = np.random.default_rng(6)
    feasible_set, target = case(rng, (kind, 0.0), 8)
    accuracies = (1e-2, 1e-4, 1e-8, 1e-12)
    found = [feasible_set.projected(target, accuracy=accuracy) for accuracy in accuracies]
    counts = [each.eigen_decompositions for each in found]
    assert all(fewer < more for fewer, more in pairwise(counts))
    for each, accuracy in zip(found, accuracies, strict=True):
        assert each.apart <= accuracy * feasible_set.trace_bound
