"""Methods as text, and what they are combined with."""

import re

import pytest

import gdaopt as gda
from gdaopt.errors import GdaoptError, SolverNotFoundError
from gdaopt.studies.comparison import MethodSpec, combinations

Pairs = list[tuple[str, str]]


def test_options_reach_the_method() -> None:
    spec = MethodSpec.parse("joint: solver = analytic :tolerance=1e-3:max_iterations=None")
    method = spec.method({"tolerance": 1e-5, "time_limit": 3.0})
    assert isinstance(method, gda.methods.Joint)
    assert (method.solver, method.tolerance, method.max_iterations) == ("analytic", 1e-3, None)
    assert method.time_limit == 3.0
    assert MethodSpec.parse(str(spec)) == spec


def test_options_reach_the_solver() -> None:
    """The name becomes the canonical one, and the options stay part of it."""
    given = ["highs : solver = ipm", "clarabel:max_iter=9", "HIGHS"]
    found, _ = combinations(["joint", "certified"], given, {})
    assert [each.solver for each in found] == [
        *("HIGHS:solver=ipm", "CLARABEL:max_iter=9", "HIGHS"),
        "analytic",
    ]
    methods = [each.method for each in found]
    assert [made.solver_opts for made in methods if isinstance(made, gda.methods.Joint)] == [
        *({"solver": "ipm"}, {"max_iter": 9}),
        {},
    ]
    for text, says in {
        "HIGHS:color=red": "HIGHS refuses the options {'color': 'red'}",
        "highspy:solver=red": "HiGHS refuses the option solver = 'red'",
        "HIGHS:solver": "'solver' of solver 'HIGHS:solver' does not have the form option=value",
        "red:solver=ipm": "unknown solver 'red'",
    }.items():
        with pytest.raises(GdaoptError, match=re.escape(says)):
            combinations(["joint"], [text], {})
    with pytest.raises(SolverNotFoundError, match=f"HIGHS {NO_CONE}"):  # no method takes it
        combinations(["sdp"], ["HIGHS"], {})


NO_CONE = "has no semidefinite cone"


@pytest.mark.parametrize(
    ("methods", "solvers", "expected", "left_out"),
    [
        (["certified", "joint"], [], [("certified", "analytic"), ("joint", "HIGHS")], []),
        (["joint", "joint"], ["highs", "HIGHS"], [("joint", "HIGHS")], []),
        (
            ["joint:solver=HIGHS", "joint"],
            ["analytic"],
            [("joint:solver=HIGHS", "HIGHS"), ("joint", "analytic")],
            [],
        ),
        (  # backends beside CVXPY's solvers are known here, too, and linear
            ["joint", "sdp"],
            ["HiGHSpy", "ANALYTIC", "clarabel"],
            [
                ("joint", "highspy"),
                ("joint", "analytic"),
                ("joint", "CLARABEL"),
                ("sdp", "CLARABEL"),
            ],
            [f"sdp with {x}: solver {x} {NO_CONE}" for x in ("highspy", "analytic")],
        ),
        (
            ["sdp", "certified", "alternating"],
            ["HIGHS"],
            [("certified", "analytic"), ("alternating", "HIGHS")],
            [f"sdp with HIGHS: solver HIGHS {NO_CONE}"],
        ),
    ],
)
def test_solvers_go_to_methods_that_take_them(
    methods: list[str], solvers: list[str], expected: Pairs, left_out: list[str]
) -> None:
    found, without = combinations(methods, solvers, {})
    assert [(str(each.spec), each.solver) for each in found] == expected
    assert [text.partition(".")[0] for text in without] == left_out
