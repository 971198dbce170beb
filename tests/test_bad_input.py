"""Bad input of every kind raises a clear error before any work is done."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse import csr_array

import gdaopt as gda
from gdaopt.datasets.builtin import load
from gdaopt.methods import METHODS
from gdaopt.programs import Program
from gdaopt.scaling import scale_features
from gdaopt.studies.class_problems import ProblemOptions
from gdaopt.studies.sources import load_source

FEATURES = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.5], [0.0, 2.0, 0.0], [1.0, 1.0, 1.0]])
SIGNAL = np.array([1.0, -1.0, -1.0, 1.0])
NAN, INF = float("nan"), float("inf")


def changed(array: np.ndarray, index: tuple[int, ...], value: float) -> np.ndarray:
    copy = array.copy()
    copy[index] = value
    return copy


def problem(
    C: Any = 3.0, rho: Any = 1e-3, path_weight: Any = 0.0, X: Any = FEATURES, z: Any = SIGNAL
) -> gda.MetricProblem:
    return gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(C, rho, path_weight))


GRAPHS: Any = gda.GraphMetrics(3.0, 1e-3)

Make = Callable[[], object]


def glr(X: Any = FEATURES, z: Any = SIGNAL, **options: Any) -> Make:
    return lambda: gda.GLR(X, z, **options)


def metrics_of(objective: Any) -> Make:
    return lambda: gda.MetricProblem(objective, gda.GraphMetrics(3.0))


def solve(method: Any = "alternating", rho: float = 1e-3, **options: Any) -> Make:
    return lambda: gda.solve(problem(3.0, rho), method, **options)


def method(**options: Any) -> Make:
    return lambda: gda.methods.Alternating(**options)


class Nothing(gda.DenseObjective):
    """An objective whose author has forgotten to return."""

    def value(self, metric: Any) -> Any:
        return None

    def gradient(self, metric: Any) -> Any:
        return None


CASES: list[tuple[str, Make, str]] = [
    # features and signals
    ("NaN in X", glr(changed(FEATURES, (2, 1), NAN)), r"X holds nan at index \(2, 1\); remove"),
    ("inf in X", glr(changed(FEATURES, (0, 2), -INF)), r"X holds -inf at index \(0, 2\); remove"),
    ("text in X", glr([["a", "b"], ["c", "d"]], [1, -1]), "X cannot be read .* numbers: .*'a'"),
    ("complex X", glr(FEATURES + 1j), "X is complex; pass real numbers"),
    ("ragged X", glr([[1.0, 2.0], [3.0]], [1, -1]), "X cannot be read .* numbers: .*inhomogen"),
    ("None in X", glr([[None, 1.0], [2.0, 3.0]], [1, -1]), r"holds None at index \(0, 0\); rem"),
    ("no rows", glr(np.empty((0, 3)), []), r"X is empty \(shape \(0, 3\)\)"),
    ("no columns", glr(np.empty((4, 0))), r"X is empty \(shape \(4, 0\)\)"),
    ("X of one dimension", glr(FEATURES[:, 0]), r"X must have 2 dimension.*shape \(4,\)"),
    ("z of three dimensions", glr(z=np.ones((4, 1, 1))), r"z must have 1 or 2 .*\(4, 1, 1\)"),
    ("NaN in z", glr(z=changed(SIGNAL, (1,), NAN)), r"z holds nan at index \(1,\)"),
    ("text in z", glr(z=["yes", "no", "no", "yes"]), "z cannot be read .*'yes'"),
    ("complex z", glr(z=[1, -1, 1, 1j]), "z is complex"),
    ("empty z", glr(z=[]), r"z is empty"),
    ("lengths differ", glr(z=SIGNAL[:3]), "X has 4 samples and z has 3; .* as many"),
    ("one sample", glr([[1.0, 2.0]], [1.0]), "X has 1 sample; pairs need at least 2"),
    ("one label value", glr(z=[-1, -1, -1, -1]), "z is -1.0 for all 4 samples; .* two values"),
    ("masked X", glr(np.ma.masked_equal(FEATURES, 2.0)), r"X has 1 masked value\(s\); remove"),
    ("dates in X", glr(np.full((4, 3), "2020", dtype="M8[Y]")), "X cannot be read as an array of"),
    ("numbers as text in X", glr([["1", "2"], ["3", "4"]], [1, -1]), "it holds '1' at index"),
    ("10^400 in X", glr([[10**400], [1]], [1, -1]), "X holds a number that is too large for a"),
    (
        "sparse reference of other features",
        lambda: scale_features(csr_array(FEATURES), reference=csr_array(FEATURES[:, :2])),
        "reference has 2 columns and X has 3; they must be as many",
    ),
    # what takes the place of what
    (
        "set and objective swapped",
        metrics_of(gda.GraphMetrics(3.0)),
        r"objective is the set GraphMetrics\(.*; pass the objective first, then the set",
    ),
    (
        "an expression as objective",
        metrics_of(cp.Variable((2, 2))),
        r"not a CVXPY expression: pass gdaopt.CvxpyObjective\(lambda M: .* got Variable",
    ),
    (
        "a function as objective",
        metrics_of(np.sum),
        "not a bare function: pass gdaopt.CvxpyObjective.* or gdaopt.FunctionObjective.* got <",
    ),
    (
        "two sets",
        lambda: gda.check_objective(gda.GraphMetrics(3.0)),  # type: ignore[arg-type]
        "not a set of metrics, which is the second argument; got GraphMetrics",
    ),
    (
        "a CVXPY problem as objective",
        metrics_of(cp.Problem(cp.Minimize(0))),
        "such as a gdaopt.GLR, .*got Problem",
    ),
    (
        "a class as objective",
        metrics_of(gda.GLR),
        "objective must be .*, not a class: call it with its data; got <class ",
    ),
    (
        "a class as set",
        lambda: gda.MetricProblem(problem().objective, gda.GraphMetrics),  # type: ignore[arg-type]
        "feasible_set must be a FeasibleSet, got <class ",
    ),
    (
        "an objective without a value",
        lambda: gda.solve(gda.MetricProblem(Nothing(2), gda.GraphMetrics(3.0)), "certified"),
        r"Nothing.(value|gradient) returned None; it must return",
    ),
    (
        "a gradient that is none",
        lambda: Nothing(2).at(np.eye(2)).gradient(),
        r"Nothing.gradient returned None; it must return an array of shape \(2, 2\)",
    ),
    (
        "an objective that is None",
        lambda: gda.GraphMetricLearner(objective=lambda X, z: None).fit(FEATURES, SIGNAL),  # type: ignore[arg-type, return-value]
        "objective must be a gdaopt.objectives.Objective.* got None",
    ),
    ("solver_opts as text", method(solver_opts="x"), "solver_opts must be a dict .* got 'x'"),
    ("fallback as number", method(fallback=3), "fallback must be names of solvers, got 3"),
    ("a problem that is none", lambda: gda.solve(None), "problem must be a MetricProblem, got"),  # type: ignore[arg-type]
    ("initial with NaN is not missing", method(initial=[[NAN]]), "all of its entries must be fin"),
    # sets
    ("floor negative", method(edge_floor=-0.5), r"edge_floor must be at least 0, got -0\.5"),
    ("another's floor", solve("certified", edge_floor=0.1), "unknown option .* 'edge_floor'"),
    ("C = K rho", lambda: problem(3.0, 1.0), "trace_bound 3 must exceed .* 3 · 1 = 3; raise"),
    (
        "floor leaves no budget",
        solve(rho=0.0, edge_floor=0.75),
        "edge_floor 0.75 leaves no budget: 2 edges .* trace of 3, trace_bound is 3; lower",
    ),
    (
        "path for a method that moves all edges",
        lambda: gda.solve(problem(3.0, 0.0, 0.1), "alternating"),
        "method 'alternating' moves all edges, .* contains a path; .* edge_floor=0.1 to the method",
    ),
    # starts
    (
        "erratum 3: edge weight of the start too large",
        lambda: GRAPHS.start(3, 0.7065),
        r"edge_weight 0.7065 is above .* = 0\.7064.*lower it, or leave it out",
    ),
    (
        "edge weight negative",
        lambda: GRAPHS.start(3, -0.1),
        "edge_weight must be at least 0, got -0",
    ),
    ("edge weight of a name", lambda: GRAPHS.start(3, "auto"), "edge_weight must be a number, got"),
    (
        "initial asymmetric",
        solve(initial=changed(np.eye(3), (0, 1), -0.25)),
        r"initial is not symmetric: \[0,1\] is -0.25, \[1,0\] is 0",
    ),
    # limits
    ("absolute tolerance", method(absolute_tolerance=-1), "absolute_tolerance must be at least 0"),
    ("time limit 0", method(time_limit=0), "time_limit must be above 0, got 0"),
    ("max_iterations negative", method(max_iterations=-1), "max_iterations .* least 0, got -1"),
    ("max_iterations 2.5", method(max_iterations=2.5), "max_iterations .* whole number, got 2.5"),
    ("block_iterations 0", method(block_iterations=0), "block_iterations .* at least 1, got 0"),
    ("callback no function", method(callback=3), "callback must be callable, got 3"),
    # names
    ("method", solve("alternatin"), "unknown method 'alternatin'; did you mean 'alternating'"),
    ("method of no kind", solve(3), "method must be a name or a method object, got 3"),
    ("option", solve(tolerence=1), "'alternating': 'tolerence'; did you mean 'tolerance'"),
    ("connectivity", method(connectivity="tre"), "connectivity 'tre'; did you mean 'tree'"),
    ("on_interrupt", method(on_interrupt="retrun"), "on_interrupt 'retrun'; .* 'return'"),
    (
        "neither data set nor file",
        lambda: load_source("iris.txt"),
        "no file of this name.*mean 'iris'",
    ),
    ("scale", lambda: scale_features(FEATURES, "zscor"), "scale 'zscor'; did you mean 'zscore'"),
    (
        "class",
        lambda: ProblemOptions(positive="sitosa").problems(load("iris")),
        "unknown class 'sitosa'; did you mean 'setosa'",
    ),
]


@pytest.mark.parametrize(("make", "match"), [pytest.param(*case, id=id) for id, *case in CASES])
def test_bad_input(make: Make, match: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def solved(*_: Any) -> None:
        pytest.fail("a program was solved before the input was refused")

    monkeypatch.setattr(Program, "solve", solved)
    with pytest.raises(gda.errors.InvalidInputError, match=match):
        make()


def test_options_go_to_the_constructor_of_a_method_object() -> None:
    with pytest.raises(TypeError, match=r"options \['tolerance'\] go to the constructor of Altern"):
        solve(gda.methods.Alternating(), tolerance=1e-3)()


class TurningNaN(gda.DenseObjective):
    """The squared distance to a matrix, whose values or gradients are NaN after some calls."""

    TARGET = np.diag([3.0, 1.0, 0.5])

    def __init__(self, broken: str, calls: int) -> None:
        super().__init__(3)
        self.broken, self.left = broken, calls

    def _factor(self, what: str) -> float:
        self.left -= 1
        return NAN if self.left < 0 and what == self.broken else 1.0

    def value(self, metric: np.ndarray) -> float:
        return self._factor("value") * float(((metric - self.TARGET) ** 2).sum())

    def gradient(self, metric: np.ndarray) -> np.ndarray:
        return self._factor("gradient") * 2 * (metric - self.TARGET)


@pytest.mark.parametrize("broken", ["value", "gradient"])
@pytest.mark.parametrize("name", sorted(METHODS.keys() - {"sdp", "socp"}))
def test_numbers_of_our_own_are_not_called_missing(name: str, broken: str) -> None:
    """A projected gradient shortened its steps for ever, and others said to impute values."""
    for calls in (0, 3, 7):
        try:
            target = gda.MetricProblem(TurningNaN(broken, calls), gda.GraphMetrics(4.0))
            said = gda.solve(target, name, max_iterations=5).message
        except gda.errors.GdaoptError as error:
            said = str(error)
        assert "impute" not in said
        assert "\n" not in said


def test_one_except_clause_catches_them() -> None:
    assert issubclass(gda.errors.InvalidInputError, gda.errors.GdaoptError)
    assert issubclass(gda.errors.InvalidInputError, ValueError)
    assert issubclass(gda.errors.SolverNotFoundError, gda.errors.GdaoptError)
