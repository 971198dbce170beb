"""The comparison as text: what was done, a table for each data set, and the ranks."""

from collections.abc import Iterator, Mapping
from statistics import mean

from experiments.learners.data import DATA, folds, labelled_samples
from experiments.learners.environment import REQUIREMENTS, Environment
from experiments.learners.fits import LIMIT, MEMORY, SEARCH_LIMIT, limit_of
from experiments.learners.rows import DEFAULTS, SEARCH
from experiments.learners.scores import NEIGHBORS, Score, Scores, best_of, is_near_best, ranks


def about(environment: Environment | None) -> str:
    """Return what was done, and the versions of the other environment."""
    there = ""
    if environment is not None:
        used = ", ".join(f"{name} {version}" for name, version in environment.versions.items())
        there = f" {REQUIREMENTS[0].replace('==', ' ')} runs by {used}."
    return (
        "Each data set is divided into stratified halves (seeds from 0 on), as often as its "
        "table says, the same for all learners; the features are z-scores by the training "
        "samples. Defaults everywhere but where the row names an objective, nothing is "
        "tuned; random_state=0 where there is one. Rows of GDA are the learners of this "
        "package over graph, diagonal and positive definite metrics; CV chooses the trace "
        f"bound, or no learning, by cross-validation, and {SEARCH} the objective over graph "
        f"metrics, too. All defaults: {'; '.join(DEFAULTS)}. metric-learn's "
        "ITML and MMC are ITML_Supervised and MMC_Supervised; LDA stands for the "
        "coordinates of scikit-learn's LinearDiscriminantAnalysis. Fit: median over the "
        "folds of the CPU seconds in `fit`, one at a time, one thread. Memory: the peak of "
        f"the process that fits, packages and samples included. Error of {NEIGHBORS} nearest "
        "neighbours in the learned metric: mean, ± its standard error over the samples, "
        "each of which counts by the share of its wrong answers; the least in bold. "
        "Differences are taken sample by sample, and so are their standard errors. A "
        f"learner of which a fit takes more than {LIMIT:g} s is stopped, {SEARCH}, which fits "
        f"a hundred metrics, after {SEARCH_LIMIT:g} s; one that needs more than {MEMORY:g} GiB "
        "fails." + there
    )


def table(data: str, by_learner: Mapping[str, Score]) -> Iterator[str]:
    """Yield the lines of the table of a data set."""
    X, y = labelled_samples(data)
    yield f"## {data}: {len(X)} samples, {X.shape[1]} features, {len(set(y.tolist()))} classes"
    yield ""
    parts = [f"{len(folds(data))} fits of {len(folds(data)[0].y)} samples"]
    if DATA[data].about:
        parts.insert(0, DATA[data].about)
    yield f"{'; '.join(parts)}."
    yield ""
    yield f"| learner | fit, s | memory, MiB | {NEIGHBORS}-NN error, % | |"
    yield "|---|--:|--:|--:|---|"
    best = best_of(by_learner, by_learner)
    for name, line in by_learner.items():
        seconds = f"> {limit_of(name):g}" if line.is_late else ""
        seconds = seconds if line.seconds is None else f"{line.seconds:.3g}"
        memory = "" if line.memory is None else f"{line.memory / 2**20:.0f}"
        error = "" if line.error is None else f"{line.error:.2f} ± {line.spread:.2f}"
        error = f"**{error}**" if name == best else error
        yield f"| {name} | {seconds} | {memory} | {error} | {line.remark.replace('|', '/')} |"
    yield ""


def rank_table(scores: Scores) -> Iterator[str]:
    """Yield the lines of the table of ranks, the best mean first."""
    places = ranks(scores)
    names = list(next(iter(scores.values())))
    means = {name: mean(places[data][name] for data in scores) for name in names}
    yield "## Ranks by error"
    yield ""
    yield f"1 is the least of {len(names)}; learners without a number share the last ranks. Near"
    yield "are the data sets on which a learner has the least error, or one that exceeds it by at"
    yield "most the standard error of the difference."
    yield ""
    yield f"| learner | mean | near | {' | '.join(scores)} |"
    yield f"|---|--:|--:|{'--:|' * len(scores)}"
    for name in sorted(names, key=means.__getitem__):
        cells = " | ".join(f"{places[data][name]:g}" for data in scores)
        near = sum(is_near_best(by_learner, name) for by_learner in scores.values())
        yield f"| {name} | {means[name]:.1f} | {near} | {cells} |"
    yield ""
