"""A valid call of each public constructor and function, to be spoiled one argument at a time."""

from __future__ import annotations

import atexit
import inspect
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

import gdaopt as gda
from gdaopt import bench, datasets, estimators, linalg, methods, plotting, programs, scaling
from gdaopt.estimators import baselines
from gdaopt.methods import steps
from gdaopt.studies.comparison import ComparisonOptions
from gdaopt.studies.learning import LearningOptions, load_source
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
    **dict.fromkeys(
        ("Certificate", "Result", "methods.State", "linalg.Alignment"),
        "what the package returns",
    ),
    **dict.fromkeys(
        ("estimators.MetricGraph", "programs.ProgramSolution"), "what the package returns"
    ),
    **dict.fromkeys(
        (
            *("methods.AlignedMethod", "methods.Method", "methods.ProgramMethod"),
            *("programs.Polytope", "programs.Program", "methods.steps.Step", "linalg.Direction"),
        ),
        "an abstract class: its subclasses are walked",
    ),
    **{
        f"methods.{name}": "what methods of one's own are made of: made in each run"
        for name in ("Clock", "LowerBound", "Patience", "StallRule", "make_method", "solve_model")
    },
    "estimators.expected_failed_checks": "takes any object, as scikit-learn passes it",
    "linalg.MaskedMatrix": "made in each step",
    **{
        f"estimators.{name}": "an abstract class: its subclasses are walked"
        for name in (
            "BaseMetricLearner",
            "SupervisedMetricLearner",
            "TransductiveMetricLearner",
        )
    },
    **{
        f"linalg.{name}": "made in each step, of arrays that were checked before"
        for name in (
            "Atoms",
            "AtomsDirection",
            "ColumnDirection",
            "DenseDirection",
            "DiagonalDirection",
            "best_pairs",
            "pair_atoms",
            "spanning_forest",
        )
    },
    **{
        f"programs.{name}": "made in each step, of arrays that were checked before"
        for name in ("ConstrainedPolytope", "ConstrainedProgram")
    },
    **{
        f"programs.{name}": "made by bench.Sequence, of arrays that LinearArrays.of checked"
        for name in ("LinearPolytope", "LinearProgram")
    },
    "bench.Sequence": "made by its class methods",
    **dict.fromkeys(
        ("bench.recording", "bench.save_programs"), "write to any path that they are given"
    ),
    **dict.fromkeys(("bench.RecordedProgram", "bench.Replayed"), "what the package returns"),
    **dict.fromkeys(
        ("GraphMetricLearner", "DiagonalMetricLearner", "PositiveDefiniteMetricLearner"),
        "as MetricLearner, which they are",
    ),
    "solvers": "takes no arguments",
    "methods.steps.Agnostic": "takes no arguments",
    "methods.steps.Full": "takes no arguments",
}
"""Public names that take nothing from users, and why."""

X = np.array([[0.0, 0, 1], [1, 0, 0.5], [0, 2, 0], [1, 1, 1], [2, 0, 3], [0.5, 0.25, 0.125]])
Z = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])
Y = ["a", "b", "b", "a", "a", "b"]
M = np.array([[2.0, -0.5, 0.0], [-0.5, 2.0, -0.25], [0.0, -0.25, 2.0]])
V = np.ones(3)
EDGES = ([0, 0, 1], [1, 2, 2])
NAMES = ["height", "width", "depth"]

_LIMITS = {
    "tolerance": 0.5,
    "absolute_tolerance": 0.5,
    "max_iterations": 2,
    "time_limit": 2.0,
    "initial": M,
    "callback": None,
    "verbose": False,
    "on_interrupt": "raise",
    "trace_every": 1,
    "keep_iterates": False,
}
_CONIC = {"solver": "CLARABEL", "solver_opts": None, "isolate": False}
_LINEAR = {**_CONIC, "solver": "HIGHS", "fallback": ()}
_ALIGNED = {
    **_LIMITS,
    **_LINEAR,
    "step": "exact",
    "edge_floor": 0.5,
    "initial_edge_weight": 2.0,
    "initial": None,
}
_SOLVING = {
    "metrics": "graph",
    "edges": None,
    "edge_floor": 0.125,
    "method": "certified",
    "solver": None,
    "trace_bound": 4.0,
    "min_eigenvalue": 0.5,
    "scale": "auto",
    "tolerance": 0.5,
    "max_iterations": 2,
    "time_limit": 60.0,
    "verbose": False,
    "n_components": 2,
}
_LEARNER = {
    **_SOLVING,
    "objective": "glr",
    "class_weight": None,
    "n_neighbors": 1,
    "max_pairs": None,
    "max_samples": "auto",
    "random_state": 0,
    "X": X,
    "y": Y,
}
_LEARNER_CV = {
    "learner": gda.MetricLearner(tolerance=0.5),
    "trace_bounds": [4.0],
    "objectives": ["glr"],
    "cv": 2,
    "scoring": "accuracy",
    "classifier": KNeighborsClassifier(1),
    "rule": "best",
    "path_tolerance": 0.5,
    "n_jobs": 1,
    "X": X,
    "y": Y,
}
_BOUNDS = {"trace_bound": 4.0, "min_eigenvalue": 0.5}


class Trace(gda.DenseObjective):
    """The trace, as an objective of one's own."""

    def value(self, metric: Any) -> float:
        return float(np.trace(metric))

    def gradient(self, metric: Any) -> Any:
        return np.eye(len(metric))


def _fitted(kind: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the parameters of an estimator and of its `fit`."""
    of_fit = ("X", "y", "pairs", "triplets", "calibration_params")

    def fit(**options: Any) -> Any:
        given = {name: options.pop(name) for name in of_fit if name in options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # not converged, masked entries converted
            return kind(**options).fit(**given)

    return fit


def _solved(*, problem: Any, method: Any, **options: Any) -> Any:
    return gda.solve(problem, method, **options).metric


@cache
def _recorded() -> str:
    """Return a file of recorded programs."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = f"{folder}/run.npz"
    problem = gda.MetricProblem(gda.GLR(X, Z), gda.GraphMetrics(3.0))
    with gda.bench.recording(path):
        gda.solve(problem, "joint", solver="analytic", max_iterations=2)
    return path


def _started(*, problem: Any, method: Any, **options: Any) -> Any:
    return next(gda.iterate(problem, method, **options)).metric


def _learning_problem(**options: Any) -> Any:
    return dict(LearningOptions(**options).problems(datasets.load("iris")))["setosa"].feasible_set


@cache
def calls() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Return for each public name a function that calls it, and valid arguments."""
    glr, graphs = gda.GLR(X, Z), gda.GraphMetrics(4.0, 0.5)
    problem = gda.MetricProblem(glr, graphs)
    run = gda.solve(problem, "certified", max_iterations=2)
    transductive = {"missing_label": -1, "X": X, "y": Y}
    recorded = _recorded()
    return {
        "GLR": (
            lambda **options: gda.GLR(**options).value(M),
            {"X": X, "z": Z, "sample_weight": np.ones(6), "pairs": [[0, 1], [1, 3]]},
        ),
        "MCML": (
            lambda **options: gda.MCML(**options).value(M),
            {"X": X, "y": Y, "sample_weight": np.ones(6)},
        ),
        "NCA": (
            lambda **options: gda.NCA(**options).value(M),
            {"X": X, "y": Y, "sample_weight": np.ones(6)},
        ),
        "LMNN": (
            lambda **options: gda.LMNN(**options).value(M),
            {"X": X, "y": Y, "n_neighbors": 2, "push_weight": 0.5, "margin": 2.0, "width": 0.5},
        ),
        "LogisticPairs": (
            lambda **options: gda.LogisticPairs(**options).value(M),
            {"X": X, "y": Y, "bias": 0.5, "pairs": [[0, 1], [0, 3]], "similar": None},
        ),
        "PairHinge": (
            lambda **options: gda.PairHinge(**options).value(M),
            {"X": X, "y": Y, "upper": 0.5, "lower": 2.0, "width": 0.5}
            | {"pairs": [[0, 1], [0, 3]], "similar": None},
        ),
        "TripletHinge": (
            lambda **options: gda.TripletHinge(**options).value(M),
            {"X": X, "triplets": [[0, 1, 2]], "push_weight": 0.5, "margin": 2.0, "width": 0.5},
        ),
        "LogisticTriplets": (
            lambda **options: gda.LogisticTriplets(**options).value(M),
            {"X": X, "triplets": [[0, 1, 2]], "push_weight": 0.5, "margin": 2.0},
        ),
        "DEML": (
            lambda **options: gda.DEML(**options).value(M),
            {"X": X, "y": Y, "similar_weight": 0.5, "pairs": [[0, 1], [0, 3]]},
        ),
        "LSML": (
            lambda **options: gda.LSML(**options).value(M),
            {"X": X, "y": Y, "quadruplets": None, "n_quadruplets": 4, "random_state": 1},
        ),
        "LogDet": (lambda **options: gda.LogDet(**options).value(M), {"S": M}),
        "GMML": (lambda **options: gda.GMML(**options).value(M), {"S": M, "D": M}),
        "Linear": (lambda **options: gda.Linear(**options).value(M), {"A": M}),
        "Ridge": (lambda **options: gda.Ridge(**options).value(M), {"n_features": 3}),
        "CvxpyObjective": (
            lambda **options: gda.CvxpyObjective(**options).value(M),
            {"expression": lambda metric: metric[0, 0], "n_features": 3},
        ),
        "FunctionObjective": (
            lambda **options: gda.FunctionObjective(**options).value(M),
            {"value_and_gradient": lambda metric: (np.sum(metric**2) / 2, metric)}
            | {"n_features": 3, "convex": True, "expression": None},
        ),
        "DenseObjective": (lambda **options: Trace(**options).n_features, {"n_features": 3}),
        "MetricProblem": (
            gda.MetricProblem,
            {"objective": glr, "feasible_set": graphs, "constraints": None},
        ),
        "GraphMetrics": (
            gda.GraphMetrics,
            {**_BOUNDS, "path_weight": 0.5, "edges": [(0, 1), (1, 2)]},
        ),
        "DiagonalMetrics": (gda.DiagonalMetrics, _BOUNDS),
        "PositiveDefiniteMetrics": (gda.PositiveDefiniteMetrics, _BOUNDS),
        "SDDMetrics": (
            gda.SDDMetrics,
            {**_BOUNDS, "edges": [(0, 1), (1, 2)], "colors": [1, 0, -1]},
        ),
        "SignedGraphMetrics": (
            gda.SignedGraphMetrics,
            {"colors": [1, -1, 1], **_BOUNDS, "path_weight": 0.5, "edges": [(0, 1), (1, 2)]},
        ),
        "methods.Alternating": (
            methods.Alternating,
            {**_ALIGNED, "connectivity": "tree", "block_iterations": 2} | {"greedy_colors": False},
        ),
        "methods.Joint": (methods.Joint, {**_ALIGNED, "align": "eigenvector", "realign_every": 2}),
        "methods.Certified": (
            methods.Certified,
            {
                **_LIMITS,
                "memory_limit": 100,
                "pricing": "program",
                "solver": "HIGHS",
                "warm_start": None,
            }
            | {"solver_opts": None},
        ),
        "methods.Balanced": (methods.Balanced, {**_LIMITS, "node_limit": 3}),
        "methods.FrankWolfe": (methods.FrankWolfe, {**_LIMITS, "variant": "away", "step": "exact"}),
        "methods.Semidefinite": (methods.Semidefinite, {**_LIMITS, **_CONIC, "force": False}),
        "methods.SecondOrder": (methods.SecondOrder, {**_LIMITS, **_CONIC, "force": False}),
        "methods.SemidefiniteFrankWolfe": (
            methods.SemidefiniteFrankWolfe,
            {**_LIMITS, **_LINEAR, "solver": "CLARABEL", "step": "exact"} | {"force": False},
        ),
        "methods.ProjectedGradient": (
            methods.ProjectedGradient,
            {**_LIMITS, "projection": "dykstra"},
        ),
        "methods.ProjectedNewton": (methods.ProjectedNewton, {**_LIMITS}),
        "certify": (gda.certify, {"problem": problem, "metric": M, "multipliers": None}),
        "check_objective": (
            gda.check_objective,
            {"objective": glr, "tolerance": 0.5, "n_metrics": 1, "seed": 1},
        ),
        "solve": (
            _solved,
            {"problem": problem, "method": "certified", "max_iterations": 1},
        ),
        "iterate": (_started, {"problem": problem, "method": "certified", "tolerance": 0.5}),
        "MetricLearner": (_fitted(gda.MetricLearner), _LEARNER),
        "MetricLearnerCV": (_fitted(gda.MetricLearnerCV), _LEARNER_CV),
        "estimators.PairMetricLearner": (
            _fitted(estimators.PairMetricLearner),
            {
                **_SOLVING,
                "objective": "pair-hinge",
                "preprocessor": X,
                "pairs": [[0, 1], [2, 3], [1, 3]],
            }
            | {"y": [1, -1, -1], "calibration_params": {"strategy": "f_beta", "beta": 2.0}},
        ),
        "estimators.TripletMetricLearner": (
            _fitted(estimators.TripletMetricLearner),
            {
                **_SOLVING,
                "objective": "logistic-triplets",
                "preprocessor": X,
                "triplets": [[0, 1, 2], [3, 4, 5]],
            },
        ),
        "GraphClassifier": (
            _fitted(gda.GraphClassifier),
            {"metric": M, "n_neighbors": 2, **transductive, "y": ["a", "b", -1, -1, "a", "b"]},
        ),
        "estimators.LaplacianGraphicalModel": (
            _fitted(estimators.LaplacianGraphicalModel),
            {"alpha": 0.1, "weights": np.ones((3, 3)), "edges": [(0, 1)], "covariance": None}
            | {"tol": 1e-6, "max_iter": 10, "assume_centered": False, "X": X},
        ),
        "estimators.LaplacianGraphicalModelCV": (
            _fitted(estimators.LaplacianGraphicalModelCV),
            {"alphas": 2, "criterion": "ebic", "gamma": 0.5, "cv": 2, "weights": np.ones((3, 3))}
            | {"edges": [(0, 1)], "tol": 1e-6, "max_iter": 10, "assume_centered": False, "X": X},
        ),
        "estimators.MetricKNeighborsClassifier": (
            _fitted(estimators.MetricKNeighborsClassifier),
            {"n_neighbors": 2, "metric": M, "weights": "uniform", "algorithm": "auto"}
            | {"n_jobs": 1, "X": X, "y": Y},
        ),
        "estimators.OneVsRestMetricClassifier": (
            _fitted(estimators.OneVsRestMetricClassifier),
            {"learner": baselines.EuclideanMetric(), "classifier": None, "aggregation": "vote"}
            | transductive,
        ),
        "estimators.baselines.AlternatingClassifierWeights": (
            _fitted(baselines.AlternatingClassifierWeights),
            {"labels": "harmonic", "solver": "CLARABEL", "trace_bound": 2.0, "tolerance": 0.5}
            | {"max_rounds": 2, **transductive},
        ),
        "estimators.baselines.EuclideanMetric": (
            _fitted(baselines.EuclideanMetric),
            {"X": X, "y": Y},
        ),
        "estimators.baselines.FeatureGraphLearning": (
            _fitted(baselines.FeatureGraphLearning),
            {"trace_bound": 2.0, "tolerance": 0.5, "inner_tolerance": 0.5, "max_iterations": 2}
            | {"X": X, "y": Y},
        ),
        "estimators.baselines.GeometricMeanMetric": (
            _fitted(baselines.GeometricMeanMetric),
            {"t": 0.5, "n_pairs": 8, "cv": 2, "random_state": 1, "X": X, "y": Y},
        ),
        "estimators.baselines.HarmonicEntropyWeights": (
            _fitted(baselines.HarmonicEntropyWeights),
            {"eta": 0.5, "max_log_scale": 2.0, "tolerance": 0.5, "max_iterations": 2}
            | transductive,
        ),
        "estimators.baselines.JointClassifierWeights": (
            _fitted(baselines.JointClassifierWeights),
            {"n_steps": 2, **transductive},
        ),
        "datasets.Dataset": (
            datasets.Dataset,
            {"name": "d", "features": X, "labels": Y, "feature_names": NAMES},
        ),
        "datasets.load": (
            lambda **options: datasets.load(**options).features,
            {"name": "iris", "data_dir": None},
        ),
        "datasets.read_csv": (
            datasets.read_csv,
            {"path": "absent.csv", "label": None, "drop": [], "impute": None},
        ),
        "datasets.scale_features": (
            datasets.scale_features,
            {"X": X, "scale": "unit", "reference": X},
        ),
        "linalg.align": (
            linalg.align,
            {"metric": M, "min_eigenvalue": 0.5, "edge_threshold": 0.0, "guess": V},
        ),
        "linalg.decomposition": (linalg.decomposition, {"matrix": M, "v": V}),
        "linalg.discs": (linalg.discs, {"metric": M, "v": V}),
        "linalg.dual_alignment": (linalg.dual_alignment, {"gradient": M, "edges": None}),
        "linalg.edge_weights": (linalg.edge_weights, {"metric": M}),
        "linalg.entries_of": (linalg.entries_of, {"metric": M, "edges": EDGES, "signs": None}),
        "linalg.generalized_laplacian": (
            linalg.generalized_laplacian,
            {"weights": np.abs(M), "loops": V},
        ),
        "linalg.geometric_mean": (linalg.geometric_mean, {"A": M, "B": M, "t": 0.5}),
        "linalg.geometric_mean_of_inverse": (
            linalg.geometric_mean_of_inverse,
            {"S": M, "D": M, "t": 0.5},
        ),
        "linalg.left_ends": (linalg.left_ends, {"metric": M, "v": V}),
        "linalg.matrix_of": (
            linalg.matrix_of,
            {"entries": np.arange(6.0), "n_features": 3, "edges": EDGES, "signs": None},
        ),
        "linalg.maximum_spanning_tree": (linalg.maximum_spanning_tree, {"metric": M}),
        "linalg.n_components": (linalg.n_components, {"metric": M, "threshold": 0.5}),
        "linalg.path_laplacian": (linalg.path_laplacian, {"size": 3}),
        "linalg.self_loops": (linalg.self_loops, {"metric": M}),
        "linalg.smallest_eigenpairs": (
            linalg.smallest_eigenpairs,
            {"matrix": M, "count": 2, "guess": np.eye(3)},
        ),
        "linalg.smallest_eigenvalue": (linalg.smallest_eigenvalue, {"metric": M}),
        "plotting.convergence": (
            plotting.convergence,
            {"results": [run], "ax": None, "relative": False, "problems": ["a"], "legend": True}
            | {"x": None, "y": None, "colors": None, "lower_bounds": False},
        ),
        "plotting.discs": (
            plotting.discs,
            {"metric": M, "v": V, "names": NAMES, "ax": None, "circles": True},
        ),
        "plotting.eigenvalues": (
            plotting.eigenvalues,
            {"results": [run], "ax": None, "x": "seconds", "legend": True},
        ),
        "plotting.graph": (
            lambda **options: len(plotting.graph(**options).lines),
            {"metric": M, "names": NAMES, "ax": None, "threshold": 0.5},
        ),
        "plotting.left_ends": (plotting.left_ends, {"result": run, "ax": None, "legend": True}),
        "plotting.time_split": (
            plotting.time_split,
            {"results": run, "ax": None, "relative": False, "legend": True},
        ),
        "bench.load_programs": (
            lambda path: [program.cost for program in bench.load_programs(path)],
            {"path": recorded},
        ),
        "bench.replay": (
            lambda **options: [solved.failure for solved in bench.replay(**options)],
            {
                "programs": bench.load_programs(recorded),
                "solver": "highspy",
                "start": "hot",
                "solver_opts": {"presolve": "off"},
                "isolate": False,
                "time_limit": 10.0,
            },
        ),
        "programs.ProgramOptions": (programs.ProgramOptions, {**_LINEAR, "cone": None}),
        "programs.ColumnPolytope": (
            programs.ColumnPolytope,
            {"upper": V, "weights": V, "floor": 0 * V, "budget": 2.0, "current": 0 * V},
        ),
        "programs.ColumnProgram": (programs.ColumnProgram, {"size": 3, "solver": "HIGHS"}),
        "programs.DiagonalPolytope": (
            programs.DiagonalPolytope,
            {"lower": V, "trace_bound": 4.0, "current": V},
        ),
        "programs.DiagonalProgram": (programs.DiagonalProgram, {"size": 3, "solver": "HIGHS"}),
        "programs.JointPolytope": (
            programs.JointPolytope,
            {
                "v": V,
                **_BOUNDS,
                "edges": EDGES,
                "floor": 0 * V,
                "current": np.repeat([1.0, 0.0], 3),
            },
        ),
        "programs.JointProgram": (
            programs.JointProgram,
            {"n_features": 3, "edges": EDGES, "solver": "HIGHS"},
        ),
        "programs.SemidefiniteProgram": (
            programs.SemidefiniteProgram,
            {"feasible_set": graphs, "n_features": 3, "solver": "CLARABEL"},
        ),
        "programs.at": (
            lambda **options: [each.value for each in programs.at(**options).parameters()],
            {"problem": problem, "metric": M / 2, "kind": "joint"},
        ),
        "programs.WholeSet": (
            programs.WholeSet,
            {"feasible_set": graphs, "n_features": 3, "current": np.zeros(6)},
        ),
        "scaling.auto_min_eigenvalue": (
            scaling.auto_min_eigenvalue,
            {"trace_bound": 2.0, "n_features": 2},
        ),
        "scaling.auto_trace_bound": (
            scaling.auto_trace_bound,
            {"objective": glr, "feasible_set": graphs},
        ),
        "scaling.feature_scales": (scaling.feature_scales, {"X": X, "scale": "unit"}),
        "scaling.read_trace_bound": (
            scaling.read_trace_bound,
            {"trace_bound": 2.0, "objective": glr, "feasible_set": graphs},
        ),
        "methods.steps.Adaptive": (steps.Adaptive, {"decrease": 0.5, "increase": 2.0}),
        "methods.steps.Exact": (steps.Exact, {"accuracy": 0.5}),
        "methods.steps.Short": (steps.Short, {"lipschitz": 0.5}),
        "methods.steps.find_step": (steps.find_step, {"step": "exact"}),
        # Not public, but what the command line hands its options to
        "LearningOptions": (
            _learning_problem,
            {"positive": "setosa", "scale": "unit", **_BOUNDS, "min_eigenvalue": 0.25}
            | {"set": "graph", "max_classes": 8, "max_samples": 100},
        ),
        "ComparisonOptions": (
            ComparisonOptions,
            {"problem": LearningOptions(), "methods": ["certified"], "solvers": []}
            | {"tolerance": 0.5, "time_limit": 2.0, "trace_every": 1, "jobs": 1}
            | {"backend": "process", "scheduler": None},
        ),
        "load_source": (
            lambda **options: load_source(**options).features,
            {"source": "iris", "label": None, "data_dir": None, "drop": [], "impute": None},
        ),
        "TaskWorkers": (
            TaskWorkers,
            {"jobs": 2, "backend": "pool", "scheduler": None, "deadline": 2.0},
        ),
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
