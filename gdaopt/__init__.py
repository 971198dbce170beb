"""Learn positive definite metrics without projections.

The paper's problem, minimise a convex Q(M) over graph metrics, is a `MetricProblem` of an objective
(`GLR`) and a set (`GraphMetrics`); `solve` runs a method (`Alternating`) on it::

    import gdaopt as gda

    problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=X.shape[1]))
    result = gda.solve(problem, "alternating", solver="HIGHS")
"""

import importlib
from typing import TYPE_CHECKING

from gdaopt import linalg, programs
from gdaopt.backends import solvers
from gdaopt.certificate import Certificate, certify
from gdaopt.errors import (
    ClusterError,
    CutOffSamplesWarning,
    DirectoryInUseError,
    DownloadError,
    GdaoptError,
    InaccurateSolutionWarning,
    InfeasibleProblemError,
    InvalidInputError,
    LeftDomainError,
    NoInteriorError,
    SolverFailedError,
    SolverNotFoundError,
    TimeLimitError,
    UnwritableError,
)
from gdaopt.linalg import align
from gdaopt.methods import (
    Alternating,
    Certified,
    FrankWolfe,
    Joint,
    Method,
    ProjectedGradient,
    SecondOrder,
    Semidefinite,
    SemidefiniteFrankWolfe,
    State,
    iterate,
    solve,
    steps,
)
from gdaopt.objectives import (
    DEML,
    GLR,
    GMML,
    LMNN,
    LSML,
    MCML,
    CvxpyObjective,
    DenseObjective,
    FunctionObjective,
    Linear,
    LogDet,
    LogisticPairs,
    LogisticTriplets,
    PairHinge,
    Ridge,
    TripletHinge,
    check_objective,
)
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.sets import (
    DiagonalMetrics,
    GraphMetrics,
    PositiveDefiniteMetrics,
    SignedGraphMetrics,
)
from gdaopt.trace import Trace

if TYPE_CHECKING:
    from gdaopt import bench, datasets, estimators, plotting
    from gdaopt.estimators import (
        DiagonalMetricLearner,
        GraphClassifier,
        GraphMetricLearner,
        MetricKNeighborsClassifier,
        MetricLearner,
        MetricLearnerCV,
        OneVsRestMetricClassifier,
        PairMetricLearner,
        PositiveDefiniteMetricLearner,
        TripletMetricLearner,
    )
else:
    _PACKAGES = ("bench", "datasets", "estimators", "plotting")
    _ESTIMATORS = (
        "DiagonalMetricLearner",
        "GraphClassifier",
        "GraphMetricLearner",
        "MetricKNeighborsClassifier",
        "MetricLearner",
        "MetricLearnerCV",
        "OneVsRestMetricClassifier",
        "PairMetricLearner",
        "PositiveDefiniteMetricLearner",
        "TripletMetricLearner",
    )

    def __getattr__(name: str) -> object:
        """Import on first use what a run does without; scikit-learn alone takes a second."""
        if name in _PACKAGES:
            return importlib.import_module(f"gdaopt.{name}")
        if name in _ESTIMATORS:
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
    "Alternating",
    "Certificate",
    "Certified",
    "ClusterError",
    "CutOffSamplesWarning",
    "CvxpyObjective",
    "DenseObjective",
    "DiagonalMetricLearner",
    "DiagonalMetrics",
    "DirectoryInUseError",
    "DownloadError",
    "FrankWolfe",
    "FunctionObjective",
    "GdaoptError",
    "GraphClassifier",
    "GraphMetricLearner",
    "GraphMetrics",
    "InaccurateSolutionWarning",
    "InfeasibleProblemError",
    "InvalidInputError",
    "Joint",
    "LeftDomainError",
    "Linear",
    "LogDet",
    "LogisticPairs",
    "LogisticTriplets",
    "Method",
    "MetricKNeighborsClassifier",
    "MetricLearner",
    "MetricLearnerCV",
    "MetricProblem",
    "NoInteriorError",
    "OneVsRestMetricClassifier",
    "PairHinge",
    "PairMetricLearner",
    "PositiveDefiniteMetricLearner",
    "PositiveDefiniteMetrics",
    "ProjectedGradient",
    "Result",
    "Ridge",
    "SecondOrder",
    "Semidefinite",
    "SemidefiniteFrankWolfe",
    "SignedGraphMetrics",
    "SolverFailedError",
    "SolverNotFoundError",
    "State",
    "TimeLimitError",
    "Trace",
    "TripletHinge",
    "TripletMetricLearner",
    "UnwritableError",
    "align",
    "bench",
    "certify",
    "check_objective",
    "datasets",
    "estimators",
    "iterate",
    "linalg",
    "plotting",
    "programs",
    "solve",
    "solvers",
    "steps",
]

__version__ = "0.1.0"
