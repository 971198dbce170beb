"""Bad input of every kind raises a clear error before any work is done."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse import csr_array

import gdaopt as gda
from gdaopt.datasets import Dataset, load, read_csv, scale_features
from gdaopt.methods import METHODS
from gdaopt.programs import Program
from gdaopt.studies.learning import LearningOptions, load_source
from gdaopt.studies.run_directory import RunDirectory

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


def glr(X: Any = FEATURES, z: Any = SIGNAL, **options: Any) -> Callable[[Path], object]:
    return lambda _: gda.GLR(X, z, **options)


def metrics(*args: Any, **options: Any) -> Callable[[Path], object]:
    return lambda _: gda.GraphMetrics(*args, **options)


def solve(method: Any = "alternating", **options: Any) -> Callable[[Path], object]:
    return lambda _: gda.solve(problem(), method, **options)


def method(**options: Any) -> Callable[[Path], object]:
    return lambda _: gda.methods.Alternating(**options)


def csv(text: str | None, label: str | None = None) -> Callable[[Path], object]:
    def read(folder: Path) -> Dataset:
        path = folder / "leaves.csv"
        if text is not None:
            path.write_text(text, encoding="utf-8")
        return read_csv(path, label)

    return read


def unwritable(folder: Path) -> object:
    # The folder is below a regular file, where nobody can write, not even root.
    (folder / "file").touch()
    with RunDirectory(folder / "file" / "out", load("iris"), {"scale": "unit"}) as run:
        return run


def occupied(folder: Path) -> object:
    (folder / "mine.txt").touch()
    with RunDirectory(folder, load("iris"), {"scale": "unit"}) as run:
        return run


class Nothing(gda.DenseObjective):
    """An objective whose author has forgotten to return."""

    def value(self, metric: Any) -> Any:
        return None

    def gradient(self, metric: Any) -> Any:
        return None


Case = tuple[str, Callable[[Path], object], str]

CASES: list[Case] = [
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
        "sparse X to be centred",
        lambda _: scale_features(csr_array(FEATURES)),  # type: ignore[arg-type]
        "X is sparse; pass a dense array",
    ),
    # what takes the place of what
    (
        "set and objective swapped",
        lambda _: gda.MetricProblem(gda.GraphMetrics(3.0), problem().objective),  # type: ignore[arg-type]
        r"objective is the set GraphMetrics\(.*; pass the objective first, then the set",
    ),
    (
        "an expression as objective",
        lambda _: gda.MetricProblem(cp.Variable((2, 2)), gda.GraphMetrics(3.0)),  # type: ignore[arg-type]
        r"not a CVXPY expression: pass gdaopt.CvxpyObjective\(lambda M: .* got Variable",
    ),
    (
        "a function as objective",
        lambda _: gda.MetricProblem(np.sum, gda.GraphMetrics(3.0)),  # type: ignore[arg-type]
        "not a bare function: pass gdaopt.CvxpyObjective.* or gdaopt.FunctionObjective.* got <",
    ),
    (
        "two sets",
        lambda _: gda.check_objective(gda.GraphMetrics(3.0)),  # type: ignore[arg-type]
        "not a set of metrics, which is the second argument; got GraphMetrics",
    ),
    (
        "a CVXPY problem as objective",
        lambda _: gda.MetricProblem(
            cp.Problem(cp.Minimize(0)),  # type: ignore[arg-type]
            gda.GraphMetrics(3.0),
        ),
        "such as a gdaopt.GLR, .*got Problem",
    ),
    (
        "a class as objective",
        lambda _: gda.MetricProblem(gda.GLR, gda.GraphMetrics(3.0)),  # type: ignore[arg-type]
        "objective must be .*, not a class: call it with its data; got <class ",
    ),
    (
        "a class as set",
        lambda _: gda.MetricProblem(problem().objective, gda.GraphMetrics),  # type: ignore[arg-type]
        "feasible_set must be a FeasibleSet, got <class ",
    ),
    (
        "an objective without a value",
        lambda _: gda.solve(gda.MetricProblem(Nothing(2), gda.GraphMetrics(3.0)), "certified"),
        r"Nothing.(value|gradient) returned None; it must return",
    ),
    (
        "a gradient that is none",
        lambda _: Nothing(2).at(np.eye(2)).gradient(),
        r"Nothing.gradient returned None; it must return an array of shape \(2, 2\)",
    ),
    (
        "an objective that is None",
        lambda _: gda.GraphMetricLearner(objective=lambda X, z: None).fit(FEATURES, SIGNAL),  # type: ignore[arg-type, return-value]
        "objective must be an object with n_features .* got None",
    ),
    ("solver_opts as text", method(solver_opts="x"), "solver_opts must be a dict .* got 'x'"),
    ("fallback as number", method(fallback=3), "fallback must be names of solvers, got 3"),
    ("a problem that is none", lambda _: gda.solve(None), "problem must be a MetricProblem, got"),  # type: ignore[arg-type]
    ("initial with NaN is not missing", method(initial=[[NAN]]), "all of its entries must be fin"),
    # sets
    ("trace bound negative", metrics(-2.0), r"trace_bound must be above 0, got -2\.0"),
    ("rho negative", metrics(3.0, -1e-3), r"min_eigenvalue must be at least 0, got -0\.001"),
    ("path negative", metrics(3.0, 0.0, -0.5), r"path_weight must be at least 0, got -0\.5"),
    ("floor negative", method(edge_floor=-0.5), r"edge_floor must be at least 0, got -0\.5"),
    (
        "floor of another method",
        solve("certified", edge_floor=0.1),
        "unknown option .* 'edge_floor'",
    ),
    ("C = K rho", lambda _: problem(3.0, 1.0), "trace_bound 3 must exceed .* 3 · 1 = 3; raise"),
    ("C < K rho", lambda _: problem(1.0, 0.5), "trace_bound 1 must exceed .* = 1.5; raise .*lower"),
    (
        "path leaves no budget",
        lambda _: problem(3.0, 0.0, 0.75),
        "path_weight 0.75 leaves no budget: 2 edges .* trace of 3, trace_bound is 3; lower",
    ),
    (
        "floor leaves no budget",
        lambda _: gda.solve(problem(3.0, 0.0), "alternating", edge_floor=0.75),
        "edge_floor 0.75 leaves no budget: 2 edges .* trace of 3, trace_bound is 3; lower",
    ),
    (
        "path for a method that moves all edges",
        lambda _: gda.solve(problem(3.0, 0.0, 0.1), "alternating"),
        "method 'alternating' moves all edges, .* contains a path; .* edge_floor=0.1 to the method",
    ),
    # starts
    (
        "erratum 3: initial edge weight too large",
        solve(initial_edge_weight=0.7065),
        r"initial_edge_weight 0.7065 is above .* = 0\.7064.*lower it or pass 'auto'",
    ),
    (
        "initial edge weight below the floor",
        lambda _: gda.solve(problem(), "alternating", edge_floor=0.1, initial_edge_weight=0.05),
        r"initial_edge_weight 0\.05 is below edge_floor 0\.1; raise it",
    ),
    ("edge weight negative", method(initial_edge_weight=-0.1), "weight must be at least 0, got -0"),
    ("edge weight of a name", solve(initial_edge_weight="aut0"), "a number or 'auto', got 'aut0'"),
    (
        "two starts",
        method(initial=np.eye(3), initial_edge_weight=0.1),
        "initial and initial_edge_weight both say where to start; pass one",
    ),
    ("initial not square", solve(initial=np.ones((3, 2))), r"initial must be square.*\(3, 2\)"),
    (
        "initial asymmetric",
        solve(initial=changed(np.eye(3), (0, 1), -0.25)),
        r"initial is not symmetric: \[0,1\] is -0.25, \[1,0\] is 0",
    ),
    (
        "initial disconnected",
        lambda _: gda.solve(problem(), "alternating", edge_floor=0.1, initial=np.eye(3)),
        "edges of weight ≥ edge_floor = 0.1 leave 3 components, not 1",
    ),
    # limits
    ("tolerance negative", method(tolerance=-1e-3), r"tolerance must be at least 0, got -0\.001"),
    ("absolute tolerance", method(absolute_tolerance=-1), "absolute_tolerance must be at least 0"),
    ("time limit 0", method(time_limit=0), "time_limit must be above 0, got 0"),
    ("max_iterations negative", method(max_iterations=-1), "max_iterations .* least 0, got -1"),
    ("max_iterations 2.5", method(max_iterations=2.5), "max_iterations .* whole number, got 2.5"),
    ("max_iterations a truth value", method(max_iterations=True), "whole number, got True"),
    ("block_iterations 0", method(block_iterations=0), "block_iterations .* at least 1, got 0"),
    ("callback no function", method(callback=3), "callback must be callable, got 3"),
    # names
    ("method", solve("alternatin"), "unknown method 'alternatin'; did you mean 'alternating'"),
    ("method of no kind", solve(3), "method must be a name or a method object, got 3"),
    ("option", solve(tolerence=1), "'alternating': 'tolerence'; did you mean 'tolerance'"),
    ("connectivity", method(connectivity="tre"), "connectivity 'tre'; did you mean 'tree'"),
    ("on_interrupt", method(on_interrupt="retrun"), "on_interrupt 'retrun'; .* 'return'"),
    ("data set", lambda _: load("whine"), "unknown data set 'whine'; did you mean 'wine'"),
    ("neither data set nor CSV", lambda _: load_source("iris.txt"), "ending in .csv.*mean 'iris'"),
    ("scale", lambda _: scale_features(FEATURES, "zscor"), "scale 'zscor'; did you mean 'zscore'"),
    (
        "class",
        lambda _: LearningOptions(positive="sitosa").problems(load("iris")),
        "unknown class 'sitosa'; did you mean 'setosa'",
    ),
    ("label of a built-in set", lambda _: load_source("wine", "x"), "--label x goes with a CSV"),
    # tables
    ("text in a feature", csv("a,kind\n1,x\nbig,y\n"), "column 'a' holds 'big' in row 2; .*finite"),
    (
        "gap in a feature",
        csv("a,kind\n1,x\n,y\n"),
        "column 'a' holds '' in row 2; .*fill missing values by --impute mean, leave .* by --drop",
    ),
    ("empty file", csv(""), "cannot read .*leaves.csv as comma-separated"),
    ("names only", csv("a,kind\n"), "column names but no rows; add samples"),
    ("one column", csv("kind\nx\ny\n"), "the one column 'kind'; it needs features and a label"),
    ("no file", csv(None), "cannot read .*leaves.csv.*No such file"),
    ("one class", csv("a,kind\n1,x\n2,x\n"), "all 2 labels are 'x'; .* 2 or more classes"),
    # directories
    ("unwritable directory", unwritable, r"cannot write to .*file/out: .*choose another --out"),
    ("directory with files", occupied, "already holds files; pass --force .*, or another --out"),
]
OTHER_ERRORS: list[tuple[str, Callable[[Path], object], type[Exception], str]] = [
    (
        "options beside an object",
        solve(gda.methods.Alternating(), tolerance=1e-3),
        TypeError,
        r"options \['tolerance'\] go to the constructor of Alternating",
    ),
]
ALL = [(id, make, gda.errors.InvalidInputError, match) for id, make, match in CASES] + OTHER_ERRORS


@pytest.mark.parametrize(
    ("make", "error", "match"), [pytest.param(*case, id=id) for id, *case in ALL]
)
def test_bad_input(
    make: Callable[[Path], object],
    error: type[Exception],
    match: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def solved(*_: Any) -> None:
        pytest.fail("a program was solved before the input was refused")

    monkeypatch.setattr(Program, "solve", solved)
    with pytest.raises(error) as caught:
        make(tmp_path)
    assert type(caught.value) is error
    assert re.search(match, str(caught.value)), str(caught.value)


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
