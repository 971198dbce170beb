"""What `gdaopt learn` says of its metrics in plain words, and how good it finds them."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from gdaopt.datasets import Dataset, load
from gdaopt.status import ENDS, Status
from gdaopt.studies import measuring
from gdaopt.studies.class_problems import ProblemOptions, figures
from gdaopt.studies.learned_report import advice, describe_folds, outcome, work
from gdaopt.studies.learner_options import LearnerOptions
from gdaopt.studies.measuring import FOLDS, Judgement, judge_task, split_folds
from gdaopt.studies.pictures import MOST_PANELS, PICTURES, Run
from tests.plotting.layout import outside, overprinted
from tests.result_cases import solved

IRIS = load("iris")
PROBLEM = ProblemOptions().problem(IRIS, "setosa")


def row(result: gda.Result) -> dict[str, Any]:
    return {**figures(result), "chosen_objective": "glr"}


@pytest.mark.parametrize("status", get_args(Status))
def test_how_each_run_ended(status: Any) -> None:
    """In the words of the table of a comparison."""
    said = outcome(row(replace(solved("analytic"), status=status)))
    assert said.startswith(f"glr, {ENDS[status]}")
    assert " to " in said.rpartition("objective from ")[2]


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
    assert f"; {says}; " in outcome(row(result))
    assert (advice([result], "joint") is not None) == ("0.0001" not in says)
    assert advice([result], "certified") is None


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


# --- How good metrics are ------------------------------------------------------------------------


def judged(dataset: Dataset, options: LearnerOptions) -> tuple[Judgement, list[dict[str, Any]]]:
    rows = [judge_task(Path(), dataset, options, fold, []) for fold in split_folds(dataset)]
    return Judgement.of_folds(dataset, rows), rows


@pytest.mark.parametrize("search", [False, True])
def test_the_accuracy_is_that_of_a_cross_validation(search: bool) -> None:
    """Of scikit-learn's, with the learner and without it."""
    found, rows = judged(IRIS, LearnerOptions(search=search))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    learner = gda.MetricLearnerCV() if search else gda.MetricLearner()
    for shares, first in ((found.accuracy, learner), (found.without_learning, StandardScaler())):
        pipeline = make_pipeline(first, KNeighborsClassifier(5))
        right = cross_val_predict(pipeline, IRIS.features, IRIS.labels, cv=folds) == IRIS.labels
        assert shares[0] == pytest.approx(right.mean(), abs=0.01)
        assert shares[1] == pytest.approx(right.std() / np.sqrt(150), abs=0.003)
    assert found.gain[0] == pytest.approx(found.accuracy[0] - found.without_learning[0])
    assert all(sum(each["importances"]) == pytest.approx(1) for each in rows)


def test_folds_learn_from_few_samples_of_other_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "MOST_LEARNED", 60)
    learned: list[int] = []
    fit = gda.MetricLearner.fit

    def noted(learner: Any, X: Any, y: Any) -> Any:
        learned.append(len(X))
        return fit(learner, X, y)

    monkeypatch.setattr(gda.MetricLearner, "fit", noted)
    found, _ = judged(IRIS, LearnerOptions(positive="virginica", tolerance=0.1))
    assert learned == [60] * FOLDS
    assert len(found.truth) == 150


def test_rare_classes() -> None:
    """One sample is always learned from; where each is alone, nothing can be judged."""
    labels = np.array(["a"] * 10 + ["b"] * 3 + ["c"])
    few = Dataset("few", np.arange(14.0)[:, None], labels, ("x",))
    folds = split_folds(few)
    assert len(folds) == FOLDS
    assert all(13 in train and 13 not in test for train, test in folds)
    assert sorted(np.concatenate([test for _, test in folds])) == [*range(13)]
    found, _ = judged(few, LearnerOptions(tolerance=0.5))
    assert {name: each[0] for name, each in found.of_classes.items()} == {"a": 10, "b": 3}
    told = found.record()
    assert np.sum(told["confusion"]) == told["judged"] == 13
    assert np.trace(told["confusion"]) == pytest.approx(13 * told["learned"])
    three = Dataset("three", np.arange(6.0)[:, None], np.array(list("ababab")), ("x",))
    assert len(split_folds(three)) == 3
    assert describe_folds(6, 3).startswith("3-fold cross-validation")
    alone = Dataset("alone", np.arange(4.0)[:, None], np.array(list("abcd")), ("x",))
    with pytest.raises(gda.errors.InvalidInputError, match="each of the 4 labels of alone occurs"):
        split_folds(alone)


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
    if picture == "discs":
        figure.draw_without_rendering()
        assert outside(figure) == []
        assert overprinted(figure) == []
        assert figure.get_figheight() < 9  # it fits on one screen
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
