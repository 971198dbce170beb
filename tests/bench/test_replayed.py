"""Recorded programs solved again: the same answers, judged alike, with the time of each stage."""

import time
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import Answer, highspy
from gdaopt.bench import RecordedProgram, load_programs, recording, replay
from tests.helpers import scaled

STARTS = ("cold", "re-solve", "hot")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[RecordedProgram]:
    path = tmp_path_factory.mktemp("recorded") / "run.npz"
    problem = gda.MetricProblem(gda.GLR(*scaled("iris", "setosa")), gda.GraphMetrics(4.0, 1e-3))
    with recording(path):
        gda.solve(problem, "alternating", solver="analytic", max_iterations=8)
        gda.solve(problem, "joint", solver="analytic", max_iterations=5)
    return load_programs(path)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("solver", ["analytic", "highspy", "HIGHS", "CLARABEL"])
def test_answers_are_verified(solver: str, start: Any, programs: list[RecordedProgram]) -> None:
    began = time.perf_counter()
    found = list(replay(programs, solver, start=start))
    wall = time.perf_counter() - began
    assert len(found) == len(programs) > 8
    for solved in found:
        assert solved.failure == ""
        assert solved.is_verified(1e-12 if solver == "analytic" else 1e-6)
    assert 0 < sum(solved.seconds.total for solved in found) < wall


def test_what_starts_keep(programs: list[RecordedProgram], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    hot: list[bool] = []
    real = highspy.HighsModel

    class Model(real):  # type: ignore[misc, valid-type]
        def __init__(self, options: Any) -> None:
            made.append(options)
            super().__init__(options)

        def minimize(self, *args: Any, **options: Any) -> Any:
            hot.append(options["hot"])
            return super().minimize(*args, **options)

    monkeypatch.setattr("gdaopt.backends.highspy.HighsModel", Model)
    structures = len({program.structure for program in programs})
    assert structures == 3
    for start, n_made in zip(STARTS, (len(programs), structures, structures), strict=True):
        made.clear()
        hot.clear()
        list(replay(programs, "highspy", start=start))  # type: ignore[arg-type]
        assert len(made) == n_made
        assert set(hot) == {start == "hot"}


def test_failures_and_wrong_points_are_seen(
    programs: list[RecordedProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    points = iter([None, np.nan, 1.1, -0.1, "fail"])

    class Wrong:
        name = "wrong"

        def minimize(self, program: Any, watch: Any, time_limit: float | None) -> Answer:
            factor: Any = next(points)
            if factor == "fail":
                raise gda.errors.SolverFailedError("out of luck")
            watch.lap("solve")
            exact, unit = program.closed_form().point, program.polytope.unit
            return Answer(point=None if factor is None else factor * exact / unit)

    monkeypatch.setattr("gdaopt.bench.replayed.make_backend", lambda *_, **__: Wrong())
    diagonal = [program for program in programs if program.kind == "diagonal"][:1]
    nothing, nan, above, below, failed = replay(5 * diagonal, "HIGHS")
    for solved, says in ((nothing, "None"), (nan, "nan"), (failed, "out of luck")):
        assert says in solved.failure
        assert not solved.is_verified(1.0)
    assert above.infeasibility > 0.05
    assert below.suboptimality > 0
    assert not above.is_verified(1e-3)
    assert not below.is_verified(1e-3)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"solver": "highs py"}, "unknown solver"),
        ({"solver": "highspy", "start": "warm"}, "unknown start 'warm'"),
        ({"solver": "highspy", "solver_opts": {"presolv": "off"}}, "did you mean 'presolve'"),
    ],
)
def test_bad_options_before_any_work(
    options: dict[str, Any], says: str, programs: list[RecordedProgram]
) -> None:
    with pytest.raises(gda.errors.GdaoptError, match=says):
        replay(programs, **options)
