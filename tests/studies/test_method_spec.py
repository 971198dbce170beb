"""Methods as text, and what they are combined with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gdaopt as gda
from gdaopt.studies.comparison import MethodSpec, combinations

TASKS = [("certified", "analytic"), ("joint", "HIGHS"), ("joint", "analytic")]


class TestSpecs:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "has no name; write name:option=value"),
            (":variant=away", "has no name; write name:option=value"),
            (
                "frank-wolfe:away",
                "'away' of method 'frank-wolfe:away' does not have the form",
            ),
            (
                "joint:tolerance=",
                "'tolerance=' of method 'joint:tolerance=' does not have the ",
            ),
            ("joint:tolerance=1:tolerance=2", "gives option 'tolerance' twice"),
        ],
    )
    def test_malformed(self, text: str, message: str) -> None:
        with pytest.raises(gda.errors.InvalidInputError, match=message):
            MethodSpec.parse(text)

    def test_options_reach_the_method(self) -> None:
        spec = MethodSpec.parse("joint: solver = analytic :tolerance=1e-3:max_iterations=None")
        method = spec.method({"tolerance": 1e-5, "time_limit": 3.0})
        assert isinstance(method, gda.methods.Joint)
        assert (method.solver, method.tolerance, method.max_iterations) == ("analytic", 1e-3, None)
        assert method.time_limit == 3.0
        assert MethodSpec.parse(str(spec)) == spec

    def solvers(self, *methods: str, solvers: tuple[str, ...]) -> list[tuple[str, str]]:
        found, _ = combinations(methods, solvers, {})
        return [(str(each.spec), each.solver) for each in found]

    def test_solvers_go_to_methods_that_take_them(self) -> None:
        both = ("HIGHS", "analytic")
        assert self.solvers("certified", "joint", solvers=()) == TASKS[:2]
        assert self.solvers("joint", "joint", solvers=("highs", "HIGHS")) == TASKS[1:2]
        assert self.solvers("certified:pricing=program", solvers=both[:1]) == [
            ("certified:pricing=program", "HIGHS")
        ]
        assert self.solvers("joint:solver=HIGHS", "joint", solvers=("analytic",)) == [
            ("joint:solver=HIGHS", "HIGHS"),
            ("joint", "analytic"),
        ]

    def test_backends_beside_cvxpys_solvers(self) -> None:
        """They are known here, too, and linear: methods with cones say so."""
        found, left_out = combinations(["joint", "sdp"], ["HiGHSpy", "ANALYTIC", "clarabel"], {})
        assert [(each.spec.name, each.solver) for each in found] == [
            ("joint", "highspy"),
            ("joint", "analytic"),
            ("joint", "CLARABEL"),
            ("sdp", "CLARABEL"),
        ]
        assert [text.partition(".")[0] for text in left_out] == [
            "sdp with HiGHSpy: solver highspy has no semidefinite cone",
            "sdp with ANALYTIC: solver analytic has no semidefinite cone",
        ]

    @pytest.fixture
    def refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have joint refuse HIGHS, as methods refuse solvers without their cone."""
        original: Callable[..., Any] = MethodSpec.method

        def method(spec: MethodSpec, common: dict[str, Any]) -> Any:
            if spec.name == "joint" and common.get("solver") == "HIGHS":
                raise gda.errors.SolverNotFoundError("HIGHS lacks a cone")
            return original(spec, common)

        monkeypatch.setattr(MethodSpec, "method", method)

    @pytest.mark.usefixtures("refused")
    def test_combinations_that_are_refused_are_left_out(self) -> None:
        found, left_out = combinations(["joint", "alternating"], ["HIGHS", "analytic"], {})
        assert [(each.spec.name, each.solver) for each in found] == [
            ("joint", "analytic"),
            ("alternating", "HIGHS"),
            ("alternating", "analytic"),
        ]
        assert left_out == ["joint with HIGHS: HIGHS lacks a cone"]

    @pytest.mark.usefixtures("refused")
    def test_a_solver_that_no_method_takes_is_an_error(self) -> None:
        with pytest.raises(gda.errors.SolverNotFoundError, match="HIGHS lacks a cone"):
            combinations(["joint"], ["HIGHS", "analytic"], {})
        with pytest.raises(gda.errors.SolverNotFoundError, match="HIGHS has no semidefinite cone"):
            combinations(["sdp"], ["HIGHS"], {})
        with pytest.raises(
            gda.errors.InvalidInputError, match="none of the methods takes a solver"
        ):
            combinations(["joint:solver=CLARABEL"], ["analytic"], {})

    def test_a_method_without_any_solver_is_left_out(self) -> None:
        found, left_out = combinations(["sdp", "certified", "alternating"], ["HIGHS"], {})
        assert [each.spec.name for each in found] == ["certified", "alternating"]
        assert len(left_out) == 1
        assert left_out[0].startswith("sdp with HIGHS: solver HIGHS has no semidefinite cone")
