"""A valid call of each public constructor and function, to be spoiled one argument at a time."""

import atexit
import inspect
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier

import gdaopt as gda
from gdaopt import bench, datasets, plotting, programs
from gdaopt.estimators import baselines
from gdaopt.objectives import Objective
from gdaopt.studies.class_problems import ProblemOptions
from gdaopt.studies.comparison import ComparisonOptions
from gdaopt.studies.sources import load_source
from gdaopt.studies.task_workers import TaskWorkers

MODULES = (
    "",
    "datasets",
    "estimators",
    "estimators.baselines",
    "linalg",
    "plotting",
    "bench",
    "programs",
    "scaling",
    "methods",
    "methods.steps",
)
"""The packages whose names users import, the package itself first."""

EXEMPT: dict[str, str] = {
    name: why
    for why, names in {
        "what the package returns": "Result methods.State linalg.Alignment "
        "estimators.MetricGraph bench.RecordedProgram",
        "an abstract class: its subclasses are walked": "methods.AlignedMethod methods.Method "
        "methods.ProgramMethod methods.steps.Step "
        "linalg.Direction estimators.BaseMetricLearner",
        "what methods of one's own are made of: made in each run": "methods.Context "
        "methods.LowerBound methods.Patience methods.StallRule "
        "methods.solve_model",
        "made in each step, of arrays that were checked before": "linalg.Atoms "
        "linalg.AtomsDirection linalg.ColumnDirection linalg.DenseDirection "
        "linalg.DiagonalDirection",
        "made by its class methods": "bench.ProgramSequence",
        "write to any path that they are given": "bench.recording",
        "as MetricLearner, which they are": "GraphMetricLearner DiagonalMetricLearner "
        "PositiveDefiniteMetricLearner",
        "takes any object, as scikit-learn passes it": "estimators.expected_failed_checks",
        "takes no arguments": "solvers methods.steps.Agnostic methods.steps.Full",
    }.items()
    for name in names.split()
}
"""Public names that take nothing from users, and why."""

X = np.array([[0.0, 0, 1], [1, 0, 0.5], [0, 2, 0], [1, 1, 1], [2, 0, 3], [0.5, 0.25, 0.125]])
Z = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])
Y = ["a", "b", "b", "a", "a", "b"]
M = np.array([[2.0, -0.5, 0.0], [-0.5, 2.0, -0.25], [0.0, -0.25, 2.0]])
V = np.ones(3)
EDGES = ([0, 0, 1], [1, 2, 2])


class Trace(gda.DenseObjective):
    """The trace, as an objective of one's own."""

    def value(self, metric: Any) -> float:
        return float(np.trace(metric))

    def gradient(self, metric: Any) -> Any:
        return np.eye(len(metric))


def _fitted(kind: Any) -> Callable[..., Any]:
    """Return a function of the parameters of an estimator and of its `fit`."""

    def fit(**options: Any) -> Any:
        of_fit = inspect.signature(kind.fit).parameters.keys() & options.keys()
        given = {name: options.pop(name) for name in of_fit}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # not converged, masked entries converted
            return kind(**options).fit(**given)

    return fit


def _solved(*, problem: Any, method: Any, **options: Any) -> Any:
    return gda.solve(problem, method, **options).metric


@cache
def _recorded() -> str:
    """Return a file of recorded programs, beside which there is one of sparse samples."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = f"{folder}/run.npz"
    Path(folder, "words.svm").write_text("1 1:0.5 3:2\n-1 2:1\n")
    problem = gda.MetricProblem(gda.GLR(X, Z), gda.GraphMetrics(3.0))
    with gda.bench.recording(path):
        gda.solve(problem, "joint", solver="analytic", max_iterations=2)
    return path


def _started(*, problem: Any, method: Any, **options: Any) -> Any:
    return next(gda.iterate(problem, method, **options)).metric


def _learning_problem(**options: Any) -> Any:
    return dict(ProblemOptions(**options).problems(datasets.load("iris")))["setosa"].feasible_set


_OF_THE_COMMAND: dict[str, Any] = {
    "ProblemOptions": ProblemOptions,
    "ComparisonOptions": ComparisonOptions,
    "load_source": load_source,
    "TaskWorkers": TaskWorkers,
}
"""What is not public, but what the command line hands its options to."""


_MAKE_OBJECTIVES = ("LogisticPairs", "LogisticTriplets", "PairHinge", "TripletHinge")


def _call_of(name: str) -> Callable[..., Any]:
    """Return what calls a public name: of an objective its value, of an estimator its fit."""
    public: Any = _OF_THE_COMMAND.get(name) or attrgetter(name)(gda)
    bases = getattr(public, "__mro__", ())
    if Objective in bases or name in _MAKE_OBJECTIVES:
        return lambda **options: public(**options).value(M)
    return _fitted(public) if BaseEstimator in bases else public


# Where it is not the result itself that is compared.
_CALLS: dict[str, Callable[..., Any]] = {
    "DenseObjective": lambda **options: Trace(**options).n_features,
    "solve": _solved,
    "iterate": _started,
    "datasets.load": lambda **options: datasets.load(**options).features,
    "plotting.animate": lambda **options: len(plotting.animate(**options).to_jshtml()) > 0,
    "plotting.graph": lambda **options: len(plotting.graph(**options).lines),
    "bench.load_programs": lambda path: [program.cost for program in bench.load_programs(path)],
    "bench.replay": lambda **options: [solved.failure for solved in bench.replay(**options)],
    "programs.at": lambda **options: [each.value for each in programs.at(**options).parameters()],
    "ProblemOptions": _learning_problem,
    "load_source": lambda **options: load_source(**options).features,
}


@cache
def _valid() -> dict[str, Any]:
    """Return a valid value of each parameter, by its name."""
    glr, graphs = gda.GLR(X, Z), gda.GraphMetrics(4.0, 0.5)
    problem = gda.MetricProblem(glr, graphs)
    run = gda.solve(problem, "certified", max_iterations=2)
    recorded = _recorded()
    shared: list[tuple[Any, str]] = [
        (0.5, "absolute_tolerance accuracy bias decrease eta gamma inner_tolerance lipschitz"),
        (
            0.5,
            "frames_per_second min_eigenvalue path_weight push_weight similar_weight t threshold",
        ),
        (0.5, "tolerance upper width"),
        (2.0, "budget deadline increase lower margin max_log_scale"),
        (1, "n_metrics random_state seed trace_every"),
        (2, "alphas block_iterations count cv jobs max_iterations max_rounds n_components n_jobs"),
        (2, "n_neighbors n_steps realign_every"),
        (3, "n_features node_limit size"),
        (False, "assume_centered force greedy_colors isolate keep_iterates lower_bounds relative"),
        (False, "verbose zero_based"),
        (True, "circles convex legend"),
        (None, "ax callback class_weight classifier cone constraints covariance data_dir decimal"),
        (
            None,
            "form impute label max_pairs multipliers quadruplets scheduler schema signs similar",
        ),
        (None, "encoding skip_rows solver_opts table thousands trace_columns warm_start"),
        ([], "drop keep solvers"),
        (M, "A B D S gradient initial matrix metric"),
        (V, "guess v"),
        (0 * V, "current floor"),
        (X, "X features preprocessor reference"),
        (Y, "labels y"),
        ((), "missing notes"),
        (["height", "width", "depth"], "feature_names names"),
        ([(0, 1), (1, 2)], "edges"),
        ([[0, 1], [0, 3]], "pairs"),
        ([[0, 1, 2], [3, 4, 5]], "triplets"),
        (np.ones(6), "sample_weight"),
        (np.ones((3, 3)), "weights"),
    ]
    return {name: value for value, names in shared for name in names.split()} | {
        "threaded": True,
        "aggregation": "vote",
        "algorithm": "auto",
        "align": "eigenvector",
        "alpha": 0.125,
        "calibration_params": {"strategy": "f_beta", "beta": 2.0},
        "colors": [1, -1, 1],
        "connectivity": "tree",
        "criterion": "ebic",
        "edge_floor": 0.125,
        "edge_threshold": 0.0,
        "entries": np.arange(6.0),
        "expression": lambda metric: metric[0, 0],
        "fallback": (),
        "feasible_set": graphs,
        "function": "logistic",
        "kind": "joint",
        "learner": gda.MetricLearner(tolerance=0.5),
        "max_classes": 8,
        "max_iter": 10,
        "max_samples": 100,
        "memory_limit": 100,
        "method": "certified",
        "methods": ["certified"],
        "metrics": "graph",
        "missing_label": -1,
        "n_pairs": 8,
        "n_quadruplets": 4,
        "name": "iris",
        "objective": glr,
        "objectives": ["glr"],
        "on_interrupt": "raise",
        "path": recorded,
        "positive": "setosa",
        "problem": problem,
        "problems": ["a"],
        "programs": bench.load_programs(recorded),
        "projection": "dykstra",
        "result": run,
        "runs": [run],
        "run": run,
        "bands": (0.25, 0.75),
        "color_by": "method",
        "rule": "best",
        "scale": "unit",
        "scoring": "accuracy",
        "set": "graph",
        "solver": "HIGHS",
        "source": "iris",
        "start": "hot",
        "step": "exact",
        "time_limit": 60.0,
        "tol": 1e-6,
        "trace_bound": 4.0,
        "trace_bounds": [4.0],
        "value_and_gradient": lambda metric: (np.sum(metric**2) / 2, metric),
        "variant": "away",
        "what": "left_ends",
        "x": "seconds",
        "z": Z,
    }


_LEARNER = {"solver": None, "scale": "zscore"}
_CONIC = {"solver": "CLARABEL"}
_CHOSEN = {"objective": "glr", "edges": None, "min_eigenvalue": 0.25}
_OTHERS: dict[str, dict[str, Any]] = {
    "FunctionObjective": {"expression": None},
    "SDDMetrics": {"colors": [1, 0, -1]},
    "methods.Alternating": {"initial": None},
    "methods.Joint": {"initial": None},
    "methods.Semidefinite": _CONIC,
    "methods.SecondOrder": _CONIC,
    "methods.SemidefiniteFrankWolfe": _CONIC,
    "estimators.baselines.AlternatingClassifierWeights": {**_CONIC, "labels": "harmonic"},
    "solve": {"max_iterations": 1},
    "iterate": {"tolerance": 0.5},
    "MetricLearner": {**_LEARNER, "objective": "glr", "max_samples": "auto"},
    "MetricLearnerCV": {"classifier": KNeighborsClassifier(1)},
    "estimators.PairMetricLearner": {**_LEARNER, "objective": "pair-hinge"}
    | {"pairs": [[0, 1], [2, 3], [1, 3]], "y": [1, -1, -1]},
    "estimators.TripletMetricLearner": {**_LEARNER, "objective": "logistic-triplets"},
    "GraphClassifier": {"y": ["a", "b", -1, -1, "a", "b"]},
    "estimators.MetricKNeighborsClassifier": {"weights": "uniform"},
    "estimators.OneVsRestMetricClassifier": {"learner": baselines.EuclideanMetric()},
    "datasets.read_table": {"path": "absent.csv"},
    "datasets.read_svmlight": {"path": Path(_recorded()).parent / "words.svm"},
    "linalg.dual_alignment": {"edges": EDGES},
    "linalg.entries_of": {"edges": EDGES},
    "linalg.matrix_of": {"edges": EDGES},
    "plotting.convergence": {"x": None, "y": None, "colors": None},
    "plotting.animate": {"path": None},
    "bench.replay": {"solver": "highspy", "solver_opts": {"presolve": "off"}},
    "programs.Knapsack": {"floor": V / 2, "weights": V, "upper": V, "current": V},
    "programs.JointPolytope": {"edges": EDGES, "current": np.repeat([1.0, 0.0], 3)},
    "programs.at": {"metric": M / 2},
    "ProblemOptions": _CHOSEN,
    "ComparisonOptions": _CHOSEN,
}
"""Where a parameter has another valid value, or is one of the options that a name passes on."""


def _arguments(name: str) -> dict[str, Any]:
    """Return a valid value for each parameter, of an estimator those of `fit` as well."""
    public: Any = _OF_THE_COMMAND.get(name) or attrgetter(name)(gda)
    asked = [*inspect.signature(public).parameters.values()]
    if BaseEstimator in getattr(public, "__mro__", ()):
        asked += [*inspect.signature(public.fit).parameters.values()][1:]
    named = [each.name for each in asked if each.kind is not each.VAR_KEYWORD]
    others = _OTHERS.get(name, {})
    return {each: others[each] if each in others else _valid()[each] for each in named} | others


@cache
def calls() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Return for each public name a function that calls it, and valid arguments."""
    names = [name for name, _ in public_callables() if name not in EXEMPT]
    return {
        name: (_CALLS.get(name) or _call_of(name), _arguments(name))
        for name in [*names, *_OF_THE_COMMAND]
    }


def public_callables() -> Iterator[tuple[str, Any]]:
    """Yield the public constructors and functions with their names, each once."""
    seen: set[int] = set()
    for name in MODULES:
        module = attrgetter(name)(gda) if name else gda
        for public in module.__all__:
            value = getattr(module, public)
            is_error = inspect.isclass(value) and issubclass(value, Exception)
            if callable(value) and not is_error and id(value) not in seen:
                seen.add(id(value))
                yield (f"{name}.{public}" if name else public), value
