"""What `gdaopt learn` says of its runs in plain words, and how good it finds the metrics."""

from dataclasses import replace
from functools import cache
from typing import Any, get_args

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from gdaopt.datasets import Dataset, load
from gdaopt.methods import Certified
from gdaopt.status import Status
from gdaopt.studies.applying import FOLDS, cross_validated
from gdaopt.studies.class_problems import _ENDS, ProblemOptions, advice, outcome, work
from gdaopt.studies.pictures import MOST_PANELS, PICTURES, Run
from tests.plotting.layout import outside, overprinted
from tests.result_cases import solved

IRIS = load("iris")
PROBLEM = ProblemOptions().problem(IRIS, "setosa")


@pytest.mark.parametrize("status", get_args(Status))
def test_how_each_run_ended(status: Any) -> None:
    result = replace(solved("analytic"), status=status, message="no block improves: by 1e-5")
    said = outcome(result)
    assert said.startswith(_ENDS.get(status, "no block improves; at most "))
    assert said.endswith(f" to {result.objective:.6g}")


@pytest.mark.parametrize(
    ("objective", "bound", "says"),
    [
        (2.48, 1.0, "at most 148 % above the optimum"),
        (-1.0, -4.0, "at most 75 % above the optimum"),
        (1.0, 0.0, "how far above the optimum is not known"),
        (1.0, None, "how far above the optimum is not known"),
        (1.0, 1 - 1e-12, "at most 0.0001 % above the optimum"),
    ],
)
def test_above_a_bound_is_a_share_of_the_bound(
    objective: float, bound: float | None, says: str
) -> None:
    """Of the objective of 2.48 the gap is 59.7 %, but that is 148 % above 1."""
    result = replace(solved("analytic"), status="stalled", objective=objective, lower_bound=bound)
    assert f"; {says}; " in outcome(result)
    far = "0.0001" not in says
    assert (advice([result], "joint") is not None) == far
    assert advice([result], "certified") is None
    # With an edge floor the problem is another one, which that method does not solve.
    assert advice([result], "joint", edge_floor=0.1) is None


@pytest.mark.parametrize(
    ("method", "options", "says"),
    [
        ("alternating", {"solver": "HIGHS"}, "6 linear programs by HIGHS, in "),
        ("joint", {"solver": "analytic"}, "6 linear programs in closed form, in "),
        ("certified", {}, "8 linear minimisations over the set, in closed form, in "),
        ("projected-gradient", {}, " projections by eigen-decomposition, in "),
        ("sdp", {"max_iterations": None}, "2 semidefinite programs by CLARABEL, in "),
    ],
)
def test_what_was_solved(method: Any, options: dict[str, Any], says: str) -> None:
    result = gda.solve(PROBLEM, method, **{"max_iterations": 3, **options})
    said = work([result, result])
    assert says in said
    inside = 2 * np.nansum(result.trace.column("solve_seconds"))
    ends = f"in {2 * result.seconds:.2g} s. Solving them took {inside:.2g} s of this time"
    assert said.endswith(ends)


def test_the_accuracy_is_that_of_a_cross_validation() -> None:
    method = Certified(tolerance=1e-2)
    found = cross_validated(IRIS, ProblemOptions(), method)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    plain = make_pipeline(StandardScaler(), KNeighborsClassifier(5))
    scores = cross_val_score(plain, IRIS.features, IRIS.labels, cv=folds)
    assert found.without_learning == pytest.approx(scores.mean())
    assert 0.9 < found.learned != found.without_learning


def test_metrics_are_learned_without_the_samples_that_they_judge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learned: list[Dataset] = []
    problems = ProblemOptions.problems

    def noted(options: ProblemOptions, dataset: Dataset) -> Any:
        learned.append(dataset)
        return problems(options, dataset)

    monkeypatch.setattr(ProblemOptions, "problems", noted)
    said: list[str] = []
    options = ProblemOptions(positive="virginica")
    cross_validated(IRIS, options, Certified(tolerance=1e-1), said.append)
    assert [len(part.labels) for part in learned] == [120] * FOLDS
    assert said == [f"accuracy, fold {number} of 5" for number in range(1, 6)]


def test_small_classes_and_interrupts_end_it() -> None:
    few = Dataset("few", np.arange(14.0)[:, None], np.array(["a"] * 10 + ["b"] * 4), ("x",))
    with pytest.raises(gda.errors.InvalidInputError, match="class 'b' has 4 samples, fewer than"):
        cross_validated(few, ProblemOptions(), Certified())
    stopped = Certified(callback=lambda _: False, on_interrupt="return")
    with pytest.raises(KeyboardInterrupt):
        cross_validated(IRIS, ProblemOptions(), stopped)


# --- Pictures of many runs stay readable ---------------------------------------------------------


@cache
def result() -> gda.Result:
    rng = np.random.default_rng(0)
    glr = gda.GLR(rng.standard_normal((9, 3)), np.arange(9) % 2)
    return gda.solve(gda.MetricProblem(glr, gda.GraphMetrics(3.0)), "joint", max_iterations=3)


def runs(problems: int, of_each: int = 1) -> list[Run]:
    return [
        Run(name=f"class {problem}, run {run}", problem=problem, result=result())
        for problem in range(problems)
        for run in range(of_each)
    ]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)]


@pytest.mark.parametrize(
    "picture",
    ["discs", *(pytest.param(name, marks=pytest.mark.slow) for name in ("left_ends", "graph"))],
)
def test_the_first_runs_have_panels_of_their_own(picture: str) -> None:
    figure = PICTURES[picture](runs(MOST_PANELS + 1), "title")
    shown = texts(figure)
    titles = {number: any(f"class {number}, " in text for text in shown) for number in range(7)}
    assert titles == {number: number < MOST_PANELS for number in range(7)}
    assert figure.get_suptitle() == "title (the first 6 of 7 runs)"
    assert "first" not in PICTURES[picture](runs(1), "title").get_suptitle()


@pytest.mark.parametrize("of_each", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_many_problems_have_small_panels(of_each: int) -> None:
    figure = PICTURES["convergence"](runs(9, of_each), "title")
    figure.draw_without_rendering()
    assert outside(figure) == []
    assert overprinted(figure) == []
    panels = [ax for ax in figure.axes if ax.axison]
    assert [len(ax.lines) for ax in panels] == [of_each] * 9
    assert figure.get_suptitle() == "title"


@pytest.mark.parametrize("problems", [2, pytest.param(9, marks=pytest.mark.slow)])
def test_each_class_has_a_row_of_gaps_below_one_screen(problems: int) -> None:
    """Runs of one name look alike in all rows, also where a row lacks one."""
    every = [
        Run(name=f"method {n}", problem=name, group=f"class {name}", result=result())
        for name in range(problems)
        for n in range(3)
    ][1:]
    figure = PICTURES["convergence"](every, "title")
    figure.draw_without_rendering()
    assert outside(figure) == []
    assert overprinted(figure) == []
    assert figure.get_figheight() < 9
    if problems <= MOST_PANELS:
        (legend,) = (box for box in figure.findobj(Legend) if isinstance(box, Legend))
        assert {text.get_text() for text in legend.get_texts()} == {f"method {n}" for n in range(3)}
        looks = [[line.get_marker() for line in ax.lines[-2:]] for ax in figure.axes]
        assert looks == [looks[0]] * len(looks)
    shown = texts(figure)
    assert [shown.count(f"class {name}") for name in range(problems)] == [1] * problems
