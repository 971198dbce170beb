"""Compare learners on data sets that the authors of other systems chose, by their protocol.

The binary data sets of the folder ``sgml`` in ``GDAOPT_DATA`` are divided at random ten times, 60 %
for training, stratified, and 3 nearest neighbours classify the rest. All learners see the same
divisions, and features that are standardised by the training samples. The rows are those of
``experiments/learners``, but for metric-learn's and searches along a single path. The search judges
metrics by 5 neighbours; there is a second row of it, which is told that 3 neighbours will classify.
madelon and colon-cancer, whose features are many, and leukemia are left out.

Each line that is measured is in ``others_data.jsonl``, as in ``signed.py``.
"""

import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import sem
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import gdaopt as gda
from experiments.learners import rows
from experiments.pages import Experiment, MeasuredRows, Page, header, write_figure
from experiments.signed import Row, data_sets
from gdaopt.support.validation import FloatArray

SETS = ("australian", "breast-cancer", "diabetes", "heart", "monk1", "sonar", "WDBC", "fourclass")
APART = ("fourclass",)  # its published numbers are of features that were not standardised
DIVISIONS, TRAINING, NEIGHBORS = 10, 0.6, 3
NONE, NCA, SEARCH = "no learning", "scikit-learn NCA", rows.SEARCH
TOLD = f"{SEARCH}, judged by {NEIGHBORS} neighbours"
SHOWN = (NCA, rows.named("graph"), rows.named("graph", "nca"), SEARCH, TOLD)

LEARNERS: dict[str, Callable[[], Any]] = {
    NONE: FunctionTransformer,
    **{
        row.name: row.make
        for row in rows.LEARNERS
        if not row.needs_environment and "learner" not in row.parameters
    },
    TOLD: lambda: gda.MetricLearnerCV(classifier=KNeighborsClassifier(NEIGHBORS)),
}


def accuracies(make: Callable[[], Any], X: FloatArray, y: Any) -> Row:
    """Return the accuracies in percent, seconds, and how often each objective was chosen."""
    divisions = StratifiedShuffleSplit(DIVISIONS, train_size=TRAINING, random_state=0)
    scores, seconds, chosen = [], [], Counter[str]()
    for train, test in divisions.split(X, y):
        model = make_pipeline(StandardScaler(), make(), KNeighborsClassifier(NEIGHBORS))
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of metrics that are as without learning
            model.fit(X[train], y[train])
        seconds.append(time.process_time() - start)
        scores.append(100 * model.score(X[test], y[test]))
        chosen.update([getattr(model[1], "objective_", "")])
    return {"accuracies": scores, "seconds": float(np.median(seconds)), "chosen": chosen}


def differences(table: pd.DataFrame, other: str) -> Iterator[tuple[str, list[str]]]:
    """Yield for each learner its gain over another one, and the sets where it is below that one.

    On a set it is above or below where the mean difference over the divisions exceeds its standard
    error.
    """
    for name in table.index:
        gains = np.array(list(table.loc[name])) - np.array(list(table.loc[other]))
        means, errors = gains.mean(axis=1), sem(gains, axis=1)
        won, lost = means > errors, means < -errors
        spread = np.sqrt(np.sum(errors**2)) / len(gains)
        counts = f"{won.sum()}–{(~won & ~lost).sum()}–{lost.sum()}"
        below = [column for column, is_lost in zip(table.columns, lost, strict=True) if is_lost]
        yield f"{means.mean():+.2f} ± {spread:.2f} ({counts})", below


def lines_of(measured: list[Row]) -> list[str]:
    """Return the tables."""
    table = pd.DataFrame([{"name": r["objective"], **r} for r in measured])
    lists = table.pivot_table(index="name", columns="data", values="accuracies", aggfunc="first")
    lists = lists.loc[
        [name for name in LEARNERS if name in lists.index],
        [name for name in SETS if name in lists.columns],
    ]
    means = lists.map(np.mean)
    counted = [name for name in lists.columns if name not in APART]
    ranks = means[counted].rank(ascending=False).mean(axis=1)
    seconds = table[table["data"].isin(counted)].groupby("name")["seconds"].max()
    lines = [
        *header(f"learner | {' | '.join(lists.columns)} | mean | rank | {NONE} | {NCA} | s"),
    ]
    from_none, from_nca = (differences(lists[counted], other) for other in (NONE, NCA))
    exceptions = []
    for name, (none, below), (nca, _) in zip(lists.index, from_none, from_nca, strict=True):
        exceptions.append(f"* {name}: {', '.join(below) or 'none'}")
        cells = [name, *(f"{mean:.1f}" for mean in means.loc[name])]
        cells += [f"{means.loc[name, counted].mean():.2f}", f"{ranks[name]:.1f}", none, nca]
        lines.append(f"| {' | '.join(cells)} | {seconds[name]:.2g} |")
    lines += ["", "Sets where they are below no learning by more than one standard error:", ""]
    lines += [
        *exceptions,
        "",
        "Objectives that `MetricLearnerCV()` chose in the ten divisions:",
        "",
    ]
    for row in measured:
        if row["objective"] == SEARCH:
            told = ", ".join(f"{kind} {count}" for kind, count in sorted(row["chosen"].items()))
            lines.append(f"* {row['data']}: {told}")
    path = Path(os.environ.get("GDAOPT_DATA", "data")) / "sgml" / "published_accuracy.csv"
    if path.exists():
        theirs = pd.read_csv(path, index_col="dataset")
        names = {name: name.replace("-", "") for name in counted}
        shared = theirs.loc[[name for name in names.values() if name in theirs.index]]
        lines += [
            "",
            "Published by others, with their divisions and their scaling (± standard deviations):",
            "",
            *header(f"system | {' | '.join(shared.index)} | mean"),
        ]
        for system in shared.columns:
            values = [float(str(cell).split("±")[0]) for cell in shared[system]]
            cells = [system, *map(str, shared[system]), f"{np.mean(values):.2f}"]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def picture(measured: list[Row]) -> Figure:
    """Return a picture of the gain over no learning by set and learner."""
    means = {(row["data"], row["objective"]): np.mean(row["accuracies"]) for row in measured}
    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots()
    sets = [name for name in SETS if (name, NONE) in means]
    for place, name in enumerate(SHOWN):
        gains = [means[data, name] - means[data, NONE] for data in sets]
        axes.bar(np.arange(len(sets)) + 0.16 * (place - 2), gains, 0.16, label=name)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(sets)), sets)
    axes.set_ylabel("accuracy above no learning (points)")
    axes.legend()
    return figure


def run(quick: bool, out: Path) -> None:
    """Measure what is missing, and write page and picture."""
    measured = MeasuredRows(out / "others_data.jsonl")
    if quick:  # a data set that comes with scikit-learn, by its name among these
        X, y = load_breast_cancer(return_X_y=True)
        names, learners, samples = ["WDBC"], [NONE, NCA, *SHOWN], {"WDBC": (X[:100], y[:100])}
    else:
        names, learners = list(SETS), list(LEARNERS)
        samples = {name: (X, y) for name, X, y in data_sets() if name in SETS}
    missing = [name for name in names if name not in samples]
    if missing:
        raise gda.errors.InvalidInputError(
            f"GDAOPT_DATA has no {', '.join(missing)} in its folder sgml; no table without them"
        )
    rows = [
        measured.get_or_measure(
            partial(accuracies, LEARNERS[learner], *samples[name]),
            **{"table": "accuracy", "data": name, "objective": learner},
        )
        for name, learner in product(names, dict.fromkeys(learners))
    ]
    page = Page(
        out,
        "others_data",
        "Learners on data sets that others chose",
        f"Accuracy in percent of {NEIGHBORS} nearest neighbours, means of {DIVISIONS} random "
        f"divisions, {TRAINING:.0%} for training. Columns after the sets: mean and mean rank over "
        f"all but {', '.join(APART)}; mean difference ± its standard error from no learning and "
        "from scikit-learn's NCA, and the sets with a gain above one standard error, within, and "
        "below; seconds of the slowest set. One thread. madelon, colon-cancer and leukemia, of 500 "
        "features and more, are left out.",
    )
    page.add(*lines_of(rows))
    page.write()
    write_figure(out / "others_data.png", picture(rows), dpi=100)


EXPERIMENT = Experiment(
    "learners on data sets that others chose, by their protocol",
    minutes=40,
    files=("others_data.md", "others_data.png", "others_data.jsonl"),
    run=run,
)
