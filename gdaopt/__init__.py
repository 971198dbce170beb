"""Learn positive definite metrics without projections.

The paper's problem, minimise a convex Q(M) over graph metrics, is a `MetricProblem` of an objective
(`GLR`) and a set (`GraphMetrics`); `solve` runs a method (`"alternating"`) on it::

    import gdaopt as gda

    problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=X.shape[1]))
    result = gda.solve(problem, "alternating", solver="HIGHS")

The exceptions are in `gdaopt.errors`, the classes of the methods and the step rules in
`gdaopt.methods`, and all learners and classifiers in `gdaopt.estimators`.
"""

import importlib
from typing import TYPE_CHECKING

from gdaopt import errors, linalg, methods, programs
from gdaopt.backends import solvers
from gdaopt.certificate import Certificate
from gdaopt.methods.context import Change
from gdaopt.objectives import (
    DEML,
    GLR,
    GMML,
    LMNN,
    LSML,
    MCML,
    NCA,
    CvxpyObjective,
    DenseObjective,
    FunctionObjective,
    Linear,
    LogDet,
    LogisticPairs,
    LogisticTriplets,
    PairHinge,
    PairLoss,
    Ridge,
    TripletHinge,
    TripletLoss,
    check_objective,
)
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.sets import (
    DiagonalMetrics,
    GraphMetrics,
    PositiveDefiniteMetrics,
    SDDMetrics,
    SignedGraphMetrics,
)
from gdaopt.solving import certify, iterate, solve

if TYPE_CHECKING:
    from gdaopt import bench, datasets, estimators, plotting
    from gdaopt.estimators import (
        DiagonalMetricLearner,
        GraphClassifier,
        GraphMetricLearner,
        MetricLearner,
        MetricLearnerCV,
        PositiveDefiniteMetricLearner,
    )
else:
    _PACKAGES = ("bench", "datasets", "estimators", "plotting")

    def __getattr__(name: str) -> object:
        """Import on first use what a run does without; scikit-learn alone takes a second."""
        if name in _PACKAGES:
            return importlib.import_module(f"gdaopt.{name}")
        if name in __all__:
            return getattr(importlib.import_module("gdaopt.estimators"), name)
        raise AttributeError(f"module 'gdaopt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "DEML",
    "GLR",
    "GMML",
    "LMNN",
    "LSML",
    "MCML",
    "NCA",
    "Certificate",
    "Change",
    "CvxpyObjective",
    "DenseObjective",
    "DiagonalMetricLearner",
    "DiagonalMetrics",
    "FunctionObjective",
    "GraphClassifier",
    "GraphMetricLearner",
    "GraphMetrics",
    "Linear",
    "LogDet",
    "LogisticPairs",
    "LogisticTriplets",
    "MetricLearner",
    "MetricLearnerCV",
    "MetricProblem",
    "PairHinge",
    "PairLoss",
    "PositiveDefiniteMetricLearner",
    "PositiveDefiniteMetrics",
    "Result",
    "Ridge",
    "SDDMetrics",
    "SignedGraphMetrics",
    "TripletHinge",
    "TripletLoss",
    "bench",
    "certify",
    "check_objective",
    "datasets",
    "errors",
    "estimators",
    "iterate",
    "linalg",
    "methods",
    "plotting",
    "programs",
    "solve",
    "solvers",
]

__version__ = "0.1.0"
