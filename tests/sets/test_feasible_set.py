"""Sets of metrics: membership, starts, the way back into the set, sums of atoms."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import cvxpy as cp
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.laplacian import n_components
from gdaopt.sets import (
    DiagonalMetrics,
    FeasibleSet,
    GraphMetrics,
    PositiveDefiniteMetrics,
    SDDMetrics,
    SignedGraphMetrics,
    record_of,
    set_of_record,
)
from gdaopt.sets.members import Members
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, Rng, generators, n_parts, random_symmetric, start_of
from tests.sets.cases import FAMILIES, RHO, Family

SET = GraphMetrics(trace_bound=4.0, min_eigenvalue=0.1)

SETS: dict[str, Callable[..., FeasibleSet]] = {
    "graph": GraphMetrics,
    "diagonal": DiagonalMetrics,
    "definite": PositiveDefiniteMetrics,
    "signed": partial(SignedGraphMetrics, (1, -1, 1, -1)),
    "partial": partial(SDDMetrics, colors=(1, -1, 1, 0)),
    "sdd": SDDMetrics,
}
WITH_PATH = ("graph", "signed")

USES: dict[str, Callable[[FeasibleSet], object]] = {
    "budget": lambda feasible_set: feasible_set.budget(4),
    "start": lambda feasible_set: start_of(feasible_set, 4),
    "minimize_linear": lambda feasible_set: feasible_set.minimize_linear(np.eye(4)),
    "projected": lambda feasible_set: feasible_set.projected(np.eye(4)),
    "of": lambda feasible_set: feasible_set.of(cp.Variable((4, 4), symmetric=True)),
}
METHODS = ["start", "minimize_linear", "projected", "violations", "made_feasible"]

families = pytest.mark.parametrize("family", FAMILIES, ids=str)


def edge(weight: float, size: int = 4) -> FloatArray:
    """Return a member of SET: unit diagonal, one edge (1, 2) of this weight."""
    metric = np.eye(size)
    metric[1, 2] = metric[2, 1] = -weight
    return metric


class TestSize:
    def test_the_bounds_must_leave_a_budget(self) -> None:
        for size in (1, 39):
            SET.budget(size)
        for size in (40, 50):
            with pytest.raises(InvalidInputError, match=f"{size} · 0.1 = {size / 10:g}; raise tra"):
                SET.budget(size)
        # 4 · 0.125 + 2 · 0.5 · 3 = 3.5, without round-off
        GraphMetrics(3.51, 0.125, path_weight=0.5).budget(4)
        with pytest.raises(InvalidInputError, match=r"3 edges .* need a trace of 3.5, .* lower"):
            GraphMetrics(3.5, 0.125, path_weight=0.5).budget(4)

    @pytest.mark.parametrize(
        ("kind", "name"),
        [(kind, name) for kind in SETS for name in ("trace_bound", "min_eigenvalue")]
        + [(kind, "path_weight") for kind in WITH_PATH],
    )
    def test_bad_numbers_are_refused(self, kind: str, name: str) -> None:
        for value in [-1.0, math.nan, math.inf, "1", None, True]:
            arguments: dict[str, object] = {"trace_bound": 4.0, name: value}
            with pytest.raises(InvalidInputError, match=f"{name} must be .*, got {value!r}"):
                SETS[kind](**arguments)
            with pytest.raises(InvalidInputError, match="trace_bound must be above 0"):
                SETS[kind](trace_bound=0.0)

    @pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
    @pytest.mark.parametrize(
        ("feasible_set", "message"),
        [
            *(
                (cls(trace_bound=1.0, min_eigenvalue=0.25), r"trace_bound 1 must .* 4 · 0.25 = 1;")
                for cls in SETS.values()
            ),
            *(
                (
                    SETS[kind](trace_bound=1.0, path_weight=0.5),
                    "path_weight 0.5 leaves no budget: 3 edges",
                )
                for kind in WITH_PATH
            ),
        ],
        ids=[*SETS, *(f"{kind}-path" for kind in WITH_PATH)],
    )
    def test_sets_without_room_are_of_no_use(
        self, use: Callable[[FeasibleSet], object], feasible_set: FeasibleSet, message: str
    ) -> None:
        with pytest.raises(InvalidInputError, match=f"{message}.* (raise|lower) "):
            use(feasible_set)

    @pytest.mark.parametrize(
        ("colors", "message"),
        [
            ([1, -1, 2], r"colors must be \+1 or -1, got 2 at index 2"),
            ([1, 0.5, 1], r"colors must be \+1 or -1, got 0.5 at index 1"),
            ([0, 1], r"colors must be \+1 or -1, got 0 at index 0"),
            ([1, math.nan], r"colors holds nan at index \(1,\)"),
            ([1, -math.inf], r"colors holds -inf at index \(1,\)"),
            ([], "colors is empty"),
            ([[1, -1]], r"colors must have 1 dimension\(s\), got shape \(1, 2\)"),
            (["red", "blue"], "colors cannot be read as an array of numbers"),
        ],
    )
    def test_bad_colors_are_refused(self, colors: list[float], message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            SignedGraphMetrics(colors, trace_bound=4.0)
        if colors != [0, 1]:
            with pytest.raises(
                InvalidInputError, match=message.replace(r"\+1 or -1", r"\+1, -1 or 0")
            ):
                SDDMetrics(4.0, colors=colors)

    @pytest.mark.parametrize("use", METHODS)
    @pytest.mark.parametrize("make", [SignedGraphMetrics, lambda c, **o: SDDMetrics(colors=c, **o)])
    def test_colors_of_other_features(self, use: str, make: Callable[..., FeasibleSet]) -> None:
        feasible_set = make([1, -1], trace_bound=4.0)
        argument = 3 if use == "start" else np.eye(3)
        with pytest.raises(InvalidInputError, match="colors has 2 entries for 3 features; give"):
            getattr(feasible_set, use)(argument)


class TestPathStart:
    @pytest.mark.parametrize("size", [1, 2, 5, 30])
    def test_auto_is_half_of_the_bound(self, size: int) -> None:
        feasible_set = GraphMetrics(4.0, 0.01)
        metric, auto = feasible_set.start(size), feasible_set.largest_edge_weight(size) / 2
        assert metric in feasible_set
        np.testing.assert_array_equal(np.diagonal(metric), 4.0 / size)
        np.testing.assert_allclose(np.diagonal(metric, 1), -auto, rtol=1e-15)
        np.testing.assert_array_equal(metric, np.triu(np.tril(metric, 1), -1))
        for weight in (0.0, 0.01):  # a number is absolute
            start = feasible_set.start(size, weight)
            np.testing.assert_array_equal(np.diagonal(start, 1), -weight)

    def test_around_a_path_that_no_constant_diagonal_can_carry(self) -> None:
        bound = SET.largest_edge_weight(4)
        weight = (bound + (4.0 - 4 * 0.1) / 6) / 2  # between that and what a path can carry
        assert weight > bound
        feasible_set = replace(SET, path_weight=weight)
        metric = feasible_set.start(4)
        assert metric in feasible_set
        assert np.trace(metric) == pytest.approx(4.0, rel=1e-15)
        with pytest.raises(InvalidInputError, match="would not be a metric"):
            SET.start(4, weight)


class TestEverySet:
    @families
    def test_centre(self, family: Family) -> None:
        for size in [1, 2, 6]:
            objective = gda.Linear(np.zeros((size, size)))
            atoms, weights = gda.MetricProblem(objective, family.feasible_set(size)).members.centre
            expected = family.base(size) + family.budget(size) / size * np.eye(size)
            total = atoms.added_to(family.base(size), weights)
            np.testing.assert_allclose(total, expected, rtol=0, atol=1e-15)
            assert atoms.values.shape[1] <= 2  # K dense ones would take products of K×K matrices

    @families
    def test_record(self, family: Family) -> None:
        feasible_set = family.feasible_set(4)
        record = json.loads(json.dumps(record_of(feasible_set)))
        assert set_of_record(record) == feasible_set
        assert record["kind"] == feasible_set.name
        with pytest.raises(InvalidInputError, match="unknown kind of feasible set 'cone'; Known"):
            set_of_record({**record, "kind": "cone"})

    @families
    def test_start(self, family: Family) -> None:
        for size in [1, 2, 6]:
            feasible_set = family.feasible_set(size)
            start = start_of(feasible_set, size)
            assert start in feasible_set
            assert np.trace(start) == pytest.approx(1.5 * size, rel=1e-14)
            if not family.path_weight:
                np.testing.assert_allclose(np.diagonal(start), 1.5, rtol=1e-15)
            has_edges = family.kind in ("graph", "signed")
            expected = n_components(-family.mask(size), 0.0) if has_edges else size
            assert n_parts(feasible_set, start) == expected

    # λ_min ≥ ρ - 1e-10·C, tr M ≤ C(1 + 1e-12)
    @families
    @pytest.mark.parametrize(("share", "inside"), [(0.99, True), (1.01, False)])
    def test_slacks(self, family: Family, share: float, inside: bool) -> None:
        feasible_set, base = family.feasible_set(4), family.base(4)
        smallest = base + np.diag([0, 0, 1, -share * 1e-10 * 6.0])
        trace = base + (6.0 * (1 + share * 1e-12) - np.trace(base)) / 4 * np.eye(4)
        for metric in (smallest, trace):
            assert (metric in feasible_set) is inside
            assert len(feasible_set.violations(metric)) == 1 - inside

    # ... and 1e-12·C/K on the wrong side of 0
    @pytest.mark.parametrize(("share", "inside"), [(0.99, True), (1.01, False)])
    @pytest.mark.parametrize(
        ("kind", "sign"), [("diagonal", 1), ("diagonal", -1), ("graph", 1), ("signed", -1)]
    )
    def test_slack_of_entries(self, kind: str, sign: float, share: float, inside: bool) -> None:
        feasible_set = SETS[kind](trace_bound=4.0)
        assert (edge(-sign * share * 1e-12 * 4.0 / 4) in feasible_set) is inside

    @families
    @PROPERTY
    @given(
        rng=generators, size=st.integers(1, 12), scale=st.sampled_from([1e-16, 1e-13, 1e-10, 1e-6])
    )
    def test_round_off_is_removed(self, family: Family, rng: Rng, size: int, scale: float) -> None:
        feasible_set = family.feasible_set(size)
        member = family.member(rng, size)
        feasible = feasible_set.made_feasible(member + scale * random_symmetric(rng, size))
        assert feasible in feasible_set
        assert np.linalg.eigvalsh(feasible)[0] >= RHO - 1e-14 * size
        assert np.trace(feasible) <= family.bound(size) * (1 + 1e-14)
        assert np.abs(feasible - member).max() <= 100 * size**2 * scale
        again = feasible_set.made_feasible(feasible)
        np.testing.assert_allclose(again, feasible, rtol=0, atol=1e-14 * size)


# --- Matrices that are none ----------------------------------------------------------------------

WRONG: list[tuple[Any, str]] = [
    ([[1.0, np.nan], [np.nan, 1.0]], r"holds nan at index \(0, 1\); all of its entries"),
    ([[-np.inf, 0.0], [0.0, 1.0]], r"holds -inf at index \(0, 0\); all of its"),
    ([[np.inf, 0.0], [0.0, -np.inf]], r"holds inf at index \(0, 0\); all of its"),
    ([[1.0, 2.0], [3.0, 1.0]], r"is not symmetric: \[0,1\] is 2, \[1,0\] is 3"),
    ([[1.0, 2.0, 3.0]], r"must be square, got shape \(1, 3\)"),
    ([[1.0, 1j], [1j, 1.0]], "is complex; pass real numbers"),
]


@families
@pytest.mark.parametrize("use", ["minimize_linear", "projected", "violations"])
def test_wrong_matrices_are_refused(family: Family, use: str) -> None:
    for matrix, message in WRONG:
        with pytest.raises(InvalidInputError, match=f"^(gradient|metric) {message}"):
            getattr(family.feasible_set(2), use)(np.array(matrix))
    for matrix, message in WRONG[:3]:
        with pytest.raises(InvalidInputError, match=f"^gradient {message}"):
            family.feasible_set(2).family.best_atoms(np.array(matrix))


@families
def test_a_member_is_made_feasible_without_a_change(family: Family) -> None:
    size, rng = 6, np.random.default_rng(0)
    feasible_set = family.feasible_set(size)
    for _ in range(10):
        share = rng.uniform(0.1, 0.9, size) * feasible_set.budget(size) / size
        metric = feasible_set.base(size) + np.diag(share)
        np.testing.assert_array_equal(feasible_set.made_feasible(metric), metric)


@pytest.mark.parametrize("size", [3, 7])
def test_a_budget_that_is_small_beside_the_trace_bound_is_rounded(size: int) -> None:
    gradient, errors = -np.eye(size), []
    for seed in range(10):
        rho = np.random.default_rng(seed).random()
        feasible_set = GraphMetrics(size * rho * (1 + 1e-9), rho)
        members = Members(feasible_set, size)
        support = members.support(gradient)
        exact = mpmath.mpf(feasible_set.trace_bound) - size * mpmath.mpf(rho)
        errors.append(float(abs(support.least + exact)))
        assert errors[-1] <= members.round_off(support, np.zeros(size))
    assert max(errors) > 1e-17
