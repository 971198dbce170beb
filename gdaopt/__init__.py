"""Learn positive definite metrics without projections.

The paper's problem, minimise a convex Q(M) over graph metrics, is a `MetricProblem` of an objective
(`GLR`) and a set (`GraphMetrics`); `solve` runs a method (``"alternating"``) on it::

    import gdaopt as gda

    problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=X.shape[1]))
    result = gda.solve(problem, "alternating", solver="HIGHS")

The exceptions are in `gdaopt.errors`, the classes of the methods and the step rules in
`gdaopt.methods`, and all learners and classifiers in `gdaopt.estimators`.

Importing the package loads none of its modules: each is loaded when one of its names is first used.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gdaopt.support.cvxpy_loading import when_cvxpy_is_loaded

if TYPE_CHECKING:  # the names below once more, for type checkers and editors
    import cvxpy as cp

    from gdaopt import bench as bench
    from gdaopt import datasets as datasets
    from gdaopt import errors as errors
    from gdaopt import estimators as estimators
    from gdaopt import linalg as linalg
    from gdaopt import lmi as lmi
    from gdaopt import methods as methods
    from gdaopt import plotting as plotting
    from gdaopt import programs as programs
    from gdaopt.backends import solvers as solvers
    from gdaopt.estimators import DiagonalMetricLearner as DiagonalMetricLearner
    from gdaopt.estimators import GraphClassifier as GraphClassifier
    from gdaopt.estimators import GraphMetricLearner as GraphMetricLearner
    from gdaopt.estimators import LaplacianGraphicalModelCV as LaplacianGraphicalModelCV
    from gdaopt.estimators import MetricLearner as MetricLearner
    from gdaopt.estimators import MetricLearnerCV as MetricLearnerCV
    from gdaopt.estimators import PositiveDefiniteMetricLearner as PositiveDefiniteMetricLearner
    from gdaopt.methods.context import Change as Change
    from gdaopt.objectives import DEML as DEML
    from gdaopt.objectives import GLR as GLR
    from gdaopt.objectives import GMML as GMML
    from gdaopt.objectives import LMNN as LMNN
    from gdaopt.objectives import LSML as LSML
    from gdaopt.objectives import MCML as MCML
    from gdaopt.objectives import NCA as NCA
    from gdaopt.objectives import CvxpyObjective as CvxpyObjective
    from gdaopt.objectives import DenseObjective as DenseObjective
    from gdaopt.objectives import FunctionObjective as FunctionObjective
    from gdaopt.objectives import Linear as Linear
    from gdaopt.objectives import LogDet as LogDet
    from gdaopt.objectives import LogisticPairs as LogisticPairs
    from gdaopt.objectives import LogisticTriplets as LogisticTriplets
    from gdaopt.objectives import PairHinge as PairHinge
    from gdaopt.objectives import PairLoss as PairLoss
    from gdaopt.objectives import Ridge as Ridge
    from gdaopt.objectives import TripletHinge as TripletHinge
    from gdaopt.objectives import TripletLoss as TripletLoss
    from gdaopt.objectives import check_objective as check_objective
    from gdaopt.problem import MetricProblem as MetricProblem
    from gdaopt.result import Result as Result
    from gdaopt.sets import DiagonalMetrics as DiagonalMetrics
    from gdaopt.sets import GraphMetrics as GraphMetrics
    from gdaopt.sets import PositiveDefiniteMetrics as PositiveDefiniteMetrics
    from gdaopt.sets import SDDMetrics as SDDMetrics
    from gdaopt.sets import SignedGraphMetrics as SignedGraphMetrics
    from gdaopt.solving import certify as certify
    from gdaopt.solving import iterate as iterate
    from gdaopt.solving import solve as solve

__version__ = "0.1.0"

_PACKAGES = (
    "bench",
    "datasets",
    "errors",
    "estimators",
    "linalg",
    "lmi",
    "methods",
    "plotting",
    "programs",
)
_NAMES = {
    "backends": ("solvers",),
    "estimators": (
        *("DiagonalMetricLearner", "GraphClassifier", "GraphMetricLearner", "MetricLearner"),
        *("LaplacianGraphicalModelCV", "MetricLearnerCV", "PositiveDefiniteMetricLearner"),
    ),
    "methods.context": ("Change",),
    "objectives": (
        *("DEML", "GLR", "GMML", "LMNN", "LSML", "MCML", "NCA"),
        *("CvxpyObjective", "DenseObjective", "FunctionObjective", "Linear", "LogDet"),
        *("LogisticPairs", "LogisticTriplets", "PairHinge", "PairLoss", "Ridge", "TripletHinge"),
        *("TripletLoss", "check_objective"),
    ),
    "problem": ("MetricProblem",),
    "result": ("Result",),
    "sets": (
        *("DiagonalMetrics", "GraphMetrics", "PositiveDefiniteMetrics", "SDDMetrics"),
        "SignedGraphMetrics",
    ),
    "solving": ("certify", "iterate", "solve"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted((*_PACKAGES, *_MODULE_OF))


def __getattr__(name: str) -> Any:
    """Load what is used for the first time, also modules that are not in ``__all__``."""
    if name in _MODULE_OF:
        value = getattr(import_module(f"gdaopt.{_MODULE_OF[name]}"), name)
    elif find_spec(f"gdaopt.{name}"):
        value = import_module(f"gdaopt.{name}")
    else:
        raise AttributeError(f"module 'gdaopt' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _solve_model(problem: "cp.Problem", **options: Any) -> float:
    from gdaopt.methods import solve_model

    return solve_model(problem, **options)


def _solve_by_discs(problem: "cp.Problem", **options: Any) -> float:
    from gdaopt.lmi import solve_by_discs

    return solve_by_discs(problem, **options)


def _register_solve_methods() -> None:
    import cvxpy as cp

    cp.Problem.register_solve("gdaopt", _solve_model)
    cp.Problem.register_solve("discs", _solve_by_discs)


when_cvxpy_is_loaded(_register_solve_methods)
