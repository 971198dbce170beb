"""Random problems with linear constraints: kept, or refused for a reason that a member confirms.

A failure prints the ingredients, so that it can be repeated::

    Judged(ConstrainedIngredients.drawn(17)).faults
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.support.validation import FloatArray
from tests.covering import chosen
from tests.fuzz.constrained import SORTS, Constrained, ConstrainedIngredients
from tests.fuzz.constrained_judge import Judged, stalls_early

FEW = {None: range(26, 38), "tiny": range(10), "nearly dependent": range(6, 9)}
"""Seeds of the default suite: about one second for all that are drawn, one for each other sort."""

CHUNKS, CHUNK = 60, 20  # of the slow and the thorough tests
NAMED, NAMED_CHUNKS = ("free", "tiny", "nearly dependent"), 20  # sorts that are drawn by name


def check(seeds: Iterable[int], sort: str | None = None, every: int = 5) -> None:
    """Run and judge the problems of some seeds; print how they ended.

    Other methods run on problems whose seed is a multiple of `every`, on none where it is 0.
    """
    ends: Counter[tuple[str, str]] = Counter()
    failures: list[str] = []
    for seed in seeds:
        ingredients = ConstrainedIngredients.drawn(seed, sort)
        case = Judged(ingredients, others=every > 0 and seed % every == 0)
        ends[ingredients.label, case.end] += 1
        failures += [f"{fault.kind}: {fault.sentence}\n    {ingredients}" for fault in case.faults]
    print(dict(ends))
    assert not failures, "\n\n".join(failures)


@pytest.mark.parametrize("sort", FEW)
def test_few(sort: str | None) -> None:
    check(FEW[sort], sort)


Problem = tuple[str | None, int]
WRONG: list[Problem] = [(None, seed) for seed in (1066, 1562)]
WRONG += [("tiny", seed) for seed in (62, 103, 195, 200, 202, 274, 392, 402, 440, 538)]
WRONG += [("nearly dependent", seed) for seed in (73, 90, 95, 249, 393, 6033)]
SLOWER: list[Problem] = [(None, seed) for seed in (1886, 2010, 8375)]
SLOWER += [("nearly dependent", seed) for seed in (71, 74, 214, 255, 278, 290, 325, 7313, 8004)]
"""Problems that once never ended, or worse than before, left the rows, were refused, or warned."""


@pytest.mark.parametrize("problem", chosen(WRONG + SLOWER, default=WRONG, slow=SLOWER), ids=str)
def test_what_once_went_wrong(problem: Problem) -> None:
    sort, seed = problem
    check([seed], sort, every=0 if sort else 5)


@pytest.mark.slow
def test_conic_ends_are_no_worse_than_the_start() -> None:
    check([101, 126], "nearly dependent", every=1)


@pytest.mark.parametrize("seed", [1335, 2138])
def test_multipliers_that_cancel_leave_no_gap(seed: int) -> None:
    """Tight ones of rows that are nearly the same have round-off, which a far trace bound shows."""
    assert Judged(ConstrainedIngredients.drawn(seed)).end == "converged"


@pytest.mark.parametrize("chunk", chosen(range(CHUNKS), slow=range(12)))
def test_many(chunk: int) -> None:
    first = 1000 + chunk * CHUNK
    check(range(first, first + CHUNK))


@pytest.mark.parametrize("sort", NAMED)
@pytest.mark.parametrize("chunk", chosen(range(NAMED_CHUNKS), slow=range(5)))
def test_many_of_a_sort(sort: str, chunk: int) -> None:
    first = 1000 + chunk * CHUNK
    check(range(first, first + CHUNK), sort)


@pytest.mark.parametrize("exponent", [8, 10, 12])
@pytest.mark.parametrize(
    ("seed", "kind"), [(2, gda.GraphMetrics), (7, gda.PositiveDefiniteMetrics)]
)
def test_hinges_stall_at_their_round_off(
    seed: int, kind: type[gda.GraphMetrics], exponent: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(20) > 0, 1, -1)
    problem = gda.MetricProblem(gda.PairHinge(X, y), kind(10.0**exponent))
    result = gda.solve(problem, "certified", tolerance=1e-7)
    assert result.status == "converged" or not stalls_early(result), result.message


# --- The judge -----------------------------------------------------------------------------------


def of_sort(sort: str, **others: Any) -> ConstrainedIngredients:
    """Return ingredients of a calm problem over graphs."""
    own = ConstrainedIngredients.drawn(3, sort)
    calm: dict[str, Any] = {
        "kind": "graph",
        "objective": "LogDet",
        "n_features": 3,
        "log_unit": 0.0,
        "log_room": 0.0,
        "eigenvalue_share": 1e-3,
        "path_share": 0.0,
        "middle_share": 0.5,
        "used_share": 0.7,
        "rows": ("diagonal", "entry"),
        "delta": 1e-5,
        "contradiction": "band",
    }
    return replace(own, **(calm | others))


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["graph", "sdd"])
@pytest.mark.parametrize("sort", [sort for sort in SORTS if sort != "barely infeasible"])
def test_calm_problems_have_no_faults(sort: str, kind: str) -> None:
    own = of_sort(sort, kind=kind, digits=12 if sort == "rounded" else 17)
    case = Judged(own, others=True)
    assert case.end == "converged"
    assert not case.faults
    others = {"sdp", "alternating"} if kind == "graph" else {"the conic optimum"}
    assert {"a member", "certify", *others} <= set(case.checked)


def moved(by: FloatArray) -> Callable[[gda.Result], dict[str, Any]]:
    return lambda result: {"block": result.metric + by}


LIES: tuple[tuple[str, Callable[[gda.Result], dict[str, Any]]], ...] = (
    ("rows broken, converged", moved(0.01 * np.ones((3, 3)))),
    ("not in the set, converged", moved(-1e-6 * np.eye(3))),
    ("a metric that is not finite", moved(np.full((3, 3), np.nan))),
    ("bound above the objective", lambda r: {"lower_bound": r.objective + 1e-3}),
    ("bound above a member", lambda r: {"lower_bound": 1e3, "objective": 1e3}),
    ("objective above the conic optimum", lambda r: {"objective": r.objective + 1e-4}),
    ("converged with a gap", lambda r: {"lower_bound": r.objective - 1e-3}),
    ("stall", lambda r: {"status": "stalled", "lower_bound": r.objective - 1e-3}),
    ("status solver_failed", lambda r: {"status": "solver_failed"}),
    ("no end", lambda r: {"status": "iteration_limit"}),
    ("status left_domain", lambda r: {"status": "left_domain"}),
    ("worse than its own start", lambda r: {"objective": r.trace[0].objective + 1e-6}),
    ("worse than its own state", lambda r: {"objective": r.objective + 1e-9}),
    ("worse than its own state, sdp", lambda r: {"objective": r.objective + 1e-9}),
    ("bound above the end of sdp", lambda r: {"lower_bound": r.objective + 1e-3}),
)


@pytest.mark.parametrize(("kind", "lie"), LIES)
def test_the_judge_sees(
    kind: str, lie: Callable[[gda.Result], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = gda.solve

    def lying(*args: Any, **options: Any) -> gda.Result:
        result = honest(*args, **options)
        return replace(result, **lie(result))

    monkeypatch.setattr(gda, "solve", lying)
    own = of_sort("plain", eigenvalue_share=0.9)
    faults = Judged(own, others="sdp" in kind).faults
    assert kind in [fault.kind for fault in faults]


UNNAMED = "refused without naming a row"
REFUSAL = gda.errors.InfeasibleProblemError("nothing can be kept")
FAILURE = gda.errors.SolverFailedError("HiGHS failed on the constraints")


@pytest.mark.parametrize(
    ("sort", "error", "kinds"),
    [
        ("plain", REFUSAL, [UNNAMED, "false infeasible"]),
        ("barely infeasible", REFUSAL, [UNNAMED]),
        ("plain", FAILURE, ["SolverFailedError, the constructor"]),
    ],
)
def test_the_judge_sees_errors(
    sort: str, error: Exception, kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Constrained, "problem", Mock(side_effect=error))
    assert [fault.kind for fault in Judged(of_sort(sort)).faults] == kinds


def test_the_judge_sees_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    warning = partial(warnings.warn, "divided by zero", RuntimeWarning)
    monkeypatch.setattr(gda, "solve", lambda *_, **__: warning())
    kinds = [fault.kind for fault in Judged(of_sort("plain")).faults]
    assert kinds == ["RuntimeWarning, certified"]


def test_the_judge_sees_what_is_accepted_for_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    own = of_sort("barely infeasible")
    feasible = Constrained(own)
    feasible.rows = feasible.rows[:1]
    problem = feasible.problem()
    monkeypatch.setattr(Constrained, "problem", lambda self: problem)
    assert [fault.kind for fault in Judged(own).faults] == ["false feasible, converged"]
