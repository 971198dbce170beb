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

if TYPE_CHECKING:
    from gdaopt import (
        bench,
        datasets,
        errors,
        estimators,
        linalg,
        methods,
        plotting,
        programs,
    )
    from gdaopt.backends import solvers
    from gdaopt.certificate import Certificate, certify
    from gdaopt.estimators import (
        DiagonalMetricLearner,
        GraphClassifier,
        GraphMetricLearner,
        MetricLearner,
        MetricLearnerCV,
        PositiveDefiniteMetricLearner,
    )
    from gdaopt.methods import iterate, solve
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
        SDDMetrics,
        SignedGraphMetrics,
    )
else:
    # Lowest first: what a later one imports is loaded already, and scikit-learn only for the last.
    _OFFERING = (
        *("objectives", "sets", "result", "problem", "certificate", "backends"),
        *("methods", "estimators"),
    )

    def __getattr__(name: str) -> object:
        """Import on first use; all of it takes half a second, and scikit-learn another one."""
        if name.startswith("_"):
            raise AttributeError(f"module 'gdaopt' has no attribute {name!r}")
        try:
            return importlib.import_module(f"gdaopt.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"gdaopt.{name}":
                raise
        for package in _OFFERING if name in __all__ else ():
            module = importlib.import_module(f"gdaopt.{package}")
            if name in module.__all__:
                globals()[name] = getattr(module, name)
                return globals()[name]
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
    "PositiveDefiniteMetricLearner",
    "PositiveDefiniteMetrics",
    "Result",
    "Ridge",
    "SDDMetrics",
    "SignedGraphMetrics",
    "TripletHinge",
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
