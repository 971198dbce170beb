"""The rows of the table: the paper's six, and further ones."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from experiments.table1.learner_rows import BASELINES, ByLearner
from experiments.table1.objective_rows import by_objective
from experiments.table1.protocol import Protocol
from experiments.table1.training import Learned, Training

_METRICS = {"graph": "graph", "diagonal": "diagonal", "definite": "positive definite"}


@dataclass(frozen=True, kw_only=True)
class Row:
    """A way to learn a metric."""

    title: str  # what tables call it
    settings: str  # what is run, in a few words, for the notes
    learn: Callable[[Training], Learned]
    one_metric: bool = False  # for all classes, instead of one for each class against the rest
    objective: str = ""  # that the row minimises, so that its facts say how well
    needs: str = ""  # a package that gdaopt does not need
    by_default: bool = True


def _objective(
    title: str, name: str, method: str, kind: str = "graph", *, one_metric: bool = False
) -> Row:
    of = " of all classes, one metric for all problems," if one_metric else ""
    return Row(
        title=title,
        settings=f"{name.upper()}{of} over {_METRICS[kind]} metrics, {method}",
        learn=by_objective(name, method, kind),
        one_metric=one_metric,
        objective=name.upper(),
    )


ROWS: Mapping[str, Row] = {
    "zhu2003": Row(
        title="Zhu, Ghahramani, Lafferty 2003",
        settings="diagonal M by minimum entropy, η = 0.01; sees the test half's features; scaled "
        "to trace C",
        learn=ByLearner(BASELINES, "HarmonicEntropyWeights"),
    ),
    "mao2016": Row(
        title="Mao, Cheung, Lin, Ji 2016",
        settings="diagonal M, 4 Newton steps after one prediction; sees the test half's features; "
        "scaled to trace C",
        learn=ByLearner(BASELINES, "JointClassifierWeights"),
    ),
    "yang2018": Row(
        title="Yang, Cheung, Stanković 2018",
        settings="diagonal M, trace bound C; labels by the harmonic sign, which stands in for the "
        "published semidefinite relaxation; sees the test half's features",
        learn=ByLearner(BASELINES, "AlternatingClassifierWeights", is_bounded=True),
    ),
    "gmml": Row(
        title="Zadeh, Hosseini, Sra 2016 (GMML)",
        settings="t = 0.5, pairs drawn by the seed; scaled to trace C",
        learn=ByLearner(BASELINES, "GeometricMeanMetric", {"t": 0.5}, is_seeded=True),
    ),
    "fgl": Row(
        title="Hu, Gao, Cheung, Guo 2019 (FGL)",
        settings="trace bound C",
        learn=ByLearner(BASELINES, "FeatureGraphLearning", is_bounded=True),
    ),
    "alternating": _objective("GDA, the paper's (alternating)", "glr", "alternating"),
    "euclidean": Row(
        title="no learning (M = I)",
        settings="the identity",
        learn=ByLearner(BASELINES, "EuclideanMetric"),
    ),
    "joint": _objective("GDA, all entries (joint)", "glr", "joint"),
    "certified-graph": _objective("optimum, graph metrics", "glr", "certified"),
    "certified-diagonal": _objective("optimum, diagonal", "glr", "certified", "diagonal"),
    "certified-definite": _objective("optimum, positive definite", "glr", "certified", "definite"),
    "multiclass": _objective(
        "optimum, one metric for all classes", "glr", "certified", one_metric=True
    ),
    # They draw each class together: of one class against the rest they would collapse the rest.
    **{
        f"{name}-{kind}": _objective(
            f"GDA, {name.upper()}, {words}", name, "certified", kind, one_metric=True
        )
        for name in ("mcml", "lmnn")
        for kind, words in _METRICS.items()
    },
    "nca": Row(
        title="NCA (scikit-learn)",
        settings="NeighborhoodComponentsAnalysis, its defaults; trace C",
        learn=ByLearner("sklearn.neighbors", "NeighborhoodComponentsAnalysis", is_seeded=True),
    ),
    "lmnn": Row(
        title="LMNN (metric-learn)",
        settings="its defaults; scaled to trace C",
        learn=ByLearner("metric_learn", "LMNN", is_seeded=True),
        needs="metric_learn",
    ),
    "itml": Row(
        title="ITML (metric-learn)",
        settings="ITML_Supervised, its defaults; scaled to trace C",
        learn=ByLearner("metric_learn", "ITML_Supervised", is_seeded=True),
        needs="metric_learn",
    ),
    "yang2018-sdp": Row(
        title="Yang, Cheung, Stanković 2018, labels by SDP",
        settings="as yang2018, labels by the semidefinite relaxation",
        learn=ByLearner(
            BASELINES, "AlternatingClassifierWeights", {"labels": "sdp"}, is_bounded=True
        ),
        by_default=False,
    ),
}
"""The rows by name: the paper's six first, in its order."""

DEFAULT = tuple(name for name, row in ROWS.items() if row.by_default)
"""The names of the rows that are run when none are named."""


def available(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the rows that can be run here, and a sentence for each of the others."""
    reasons = {name: _obstacle(ROWS[name]) for name in names}
    left_out = [f"{name}: {reason}" for name, reason in reasons.items() if reason]
    return [name for name, reason in reasons.items() if not reason], left_out


def _obstacle(row: Row) -> str:
    """Return why a row cannot be run here; empty where it can.

    A package may import and yet fail: metric-learn 0.7 does, with scikit-learn from 1.8 on.
    """
    if not row.needs:
        return ""
    package = row.needs.replace("_", "-")
    if find_spec(row.needs) is None:
        return f"{package} is not installed"
    rng = np.random.default_rng(0)
    signal = (np.arange(20) % 2).astype(float)[:, None]
    tiny = Training(rng.normal(size=(20, 2)) + signal, np.full(20, True), signal, 0, Protocol())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row.learn(tiny)
    except Exception as error:  # of any kind, when versions of packages do not go together
        return f"{package} does not work here ({type(error).__name__}: {error})"
    return ""
