"""The study of `gdaopt learn`: a task for each metric and each fold, and the files for people."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from scipy.sparse import triu
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from gdaopt.datasets import Dataset
from gdaopt.errors import InvalidInputError
from gdaopt.plotting.canvas import save_figure
from gdaopt.result import Result
from gdaopt.studies.class_problems import figures
from gdaopt.studies.importance import Importance, draw_importance
from gdaopt.studies.learned_report import Part, html_page
from gdaopt.studies.learner_options import ALL_CLASSES, LearnerOptions, as_frame, labels_of
from gdaopt.studies.measuring import NEIGHBORS, Judgement, judge_task, split_folds
from gdaopt.studies.pictures import picture_names, write_pictures
from gdaopt.studies.runner import Progress, Study, Task, run_here
from gdaopt.studies.saved_runs import make_runs, samples_file, write_samples
from gdaopt.studies.study_directory import (
    StudyDirectory,
    file_digest,
    sole_writer,
    task_key,
    versions,
)
from gdaopt.support.files import parse_json, write_atomically, write_text
from gdaopt.support.processes import forget_peak_memory, peak_memory
from gdaopt.support.warning_filters import ignoring

PICTURES = {
    "importance": "which features and edges matter, and how sure that is",
    "graph": "which features a metric joins, and how strongly",
    "convergence": "the objective over the steps, and its gap to a lower bound",
    "discs": "the Gershgorin discs of a metric, raw and aligned",
    "left_ends": "the left-ends of these discs over the steps",
}
"""The pictures of a run, and what they show."""

NUMBERS, PAGE = "result.json", "report.html"
"""The files for people: all numbers of a run and its files, and a page."""

RANKINGS = {"features": "features.csv", "edges": "edges.csv"}
"""The files of the rankings."""

_FIRST = "importance"  # which no other command draws
_ENDINGS = {"file": ".npz", "learner": ".joblib", "metric": "-metric.csv", "trace": "-trace.csv"}
_TRIED = 200  # samples with which it is tried whether a fit can begin


def check_start(dataset: Dataset, options: LearnerOptions) -> None:
    """Raise the error that fits would raise at their start, before any is begun.

    It is tried with fewer samples if there are many.
    """
    name = options.metric_names(dataset)[0]
    learner = options.make_base_learner().set_params(max_iterations=0)
    few, most = options.draw(dataset, _TRIED), options.draw(dataset)
    with ignoring():
        try:
            learner.fit(as_frame(few), labels_of(few, name))
        except InvalidInputError:
            learner.fit(as_frame(most), labels_of(most, name))


def learn_task(
    path: Path, dataset: Dataset, options: LearnerOptions, name: str, verbose: bool
) -> dict[str, Any]:
    """Learn a metric, save its result and its learner, and return its figures as plain values.

    The learner comes in a pipeline, before a classifier by nearest neighbours.
    """
    forget_peak_memory()
    part = options.draw(dataset)
    learner = options.make_learner().set_params(verbose=verbose)
    with ignoring():  # the report says it
        learner.fit(as_frame(part), labels_of(part, name))
    neighbors = KNeighborsClassifier(min(NEIGHBORS, len(dataset.labels)))
    neighbors.fit(learner.transform(as_frame(dataset)), labels_of(dataset, name))
    pipeline = Pipeline([("metric", learner), ("neighbors", neighbors)])
    result = learner.result_
    result.save(f"{path}.npz")
    write_atomically(Path(f"{path}.joblib"), partial(joblib.dump, pipeline))
    chosen = learner.objective_ if options.search else learner.objective
    return {
        **figures(result),
        "chosen_objective": chosen,
        "spreads": learner.scale_.tolist(),
        "importances": learner.feature_importances_.tolist(),
        "peak_memory": peak_memory(),
    }


class Learning(Study[Importance]):
    """A directory with the metrics of a data set, learned in this process.

    It goes on with a run of the same data, options and versions. With `force` it begins anew: files
    of an earlier run go when this one is finished, and all other files stay. `asked` is how the
    data were read. `runs` has the row and the result of each metric that is there.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        dataset: Dataset,
        options: LearnerOptions,
        asked: Mapping[str, Any],
        *,
        force: bool = False,
        verbose: bool = False,
    ) -> None:
        self._dataset, self._options = dataset, options
        names = options.metric_names(dataset)
        self._stems = file_stems(names) if options.has_class_metrics else {ALL_CLASSES: "learned"}
        method = options.make_method()
        about = {"method": method.name, "options": "", "solver": method.solver}
        self.tasks: dict[str, Task] = {
            task_key(name): Task(
                learn_task,
                (dataset, options, name, verbose),
                {"class": name, **about},
                (".npz", ".joblib"),
                self._stems[name],
            )
            for name in names
        }
        said = {
            "samples_file": samples_file(dataset),
            **options.record(dataset),
            **asked,
            **versions(),
        }
        remedy = "pass --force to replace an earlier run, or choose another --out"
        self._directory = StudyDirectory(path, "learn", said, replace=force, remedy=remedy)
        self._stale: Mapping[str, str] = {}
        self.runs: dict[str, tuple[Mapping[str, Any], Result]] = {}

    def label(self, key: str) -> str:
        """Return the name of a task's metric."""
        return str(self.tasks[key].about["class"])

    def run(self, progress: Progress | None = None) -> Importance:
        """Learn the metrics that are missing, write their files, and return what matters."""
        with sole_writer(self.path):
            self._stale = _unchanged_files(self.path)
            write_samples(self.path, self._dataset)
            for key, row in self._directory.rows(self.tasks).items():
                self._write_files(row["class"], self._add(key, row), only_missing=True)
            self._write_numbers({})

            def note(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
                if row is not None:
                    self._write_files(self.label(key), self._add(key, row))
                    self._write_numbers({})
                if progress is not None:
                    progress(key, done, total, row)

            run_here(self._directory, self.tasks, note)
        shares = [np.array(row["importances"]) for row, _ in self.runs.values()]
        results = [result for _, result in self.runs.values()]
        return Importance.of_metrics(self._dataset.feature_names, shares, results)

    def measure(
        self, importance: Importance, progress: Callable[[str], object]
    ) -> tuple[Judgement, Importance]:
        """Judge the metrics fold by fold, and return that, and the importance with its ranges.

        Folds that were judged before are read. `progress` is called with what is done.
        """
        folds = {
            task_key("fold", number): Task(
                judge_task, (self._dataset, self._options, fold, importance.edges)
            )
            for number, fold in enumerate(split_folds(self._dataset), 1)
        }

        def note(_: str, n_done: int, n_folds: int, row: Mapping[str, Any] | None) -> None:
            if row is None:
                progress(f"accuracy: fold {n_done + 1} of {n_folds}")

        with sole_writer(self.path):
            rows = list(run_here(self._directory, folds, note).values())
        return Judgement.of_folds(self._dataset, rows), replace(importance, folds=tuple(rows))

    def report(
        self, importance: Importance, parts: Sequence[Part], numbers: Mapping[str, Any]
    ) -> None:
        """Write the rankings, the pictures, a page with the parts, and all numbers."""
        title = self._dataset.name
        with sole_writer(self.path):
            rankings = importance.tables()
            for what, table in rankings.items():
                write_text(self.path / RANKINGS[what], table.to_csv(index=False))
            save_figure(self.path / f"{_FIRST}.png", draw_importance(importance, title))
            runs = make_runs(self._directory.options, self.runs.values())
            drawn = [name for name in PICTURES if name != _FIRST]
            write_pictures(runs, self.path, title, names=drawn, replace=True)
            pictures = {self.path / f"{name}.png": what for name, what in PICTURES.items()}
            write_text(self.path / PAGE, html_page(title, parts, pictures))
            for name in self._stale.keys() - set(self._files()):
                if file_digest(self.path / name) == self._stale[name]:
                    (self.path / name).unlink(missing_ok=True)
            self._stale = {}
            of_rankings = {what: table.to_dict("records") for what, table in rankings.items()}
            self._write_numbers({**numbers, "rankings": of_rankings})

    def _add(self, key: str, row: Mapping[str, Any]) -> Result:
        result = Result.load(self.path / f"{self.tasks[key].stem}.npz")
        runs = {**self.runs, row["class"]: (row, result)}
        self.runs = {name: runs[name] for name in map(self.label, self.tasks) if name in runs}
        return result

    def _write_files(self, name: str, result: Result, only_missing: bool = False) -> None:
        """Write a metric and its trace."""
        trace, metric = (
            self.path / f"{self._stems[name]}{_ENDINGS[kind]}" for kind in ("trace", "metric")
        )
        if not (only_missing and trace.exists()):
            result.trace.to_csv(trace)
        if not (only_missing and metric.exists()):
            write_text(metric, _metric_text(result, self._dataset.feature_names))

    def _files(self) -> list[str]:
        stems = [self._stems[name] for name in self.runs]
        files = [f"{stem}{end}" for stem in stems for end in _ENDINGS.values()]
        files += [*picture_names(PICTURES), *RANKINGS.values(), PAGE]
        return [*files, samples_file(self._dataset)]

    def _write_numbers(self, numbers: Mapping[str, Any]) -> None:
        metrics = {
            name: {kind: f"{self._stems[name]}{end}" for kind, end in _ENDINGS.items()} | dict(row)
            for name, (row, _) in self.runs.items()
        }
        # With their SHA-256; those of an earlier run until this one has finished.
        files = {name: file_digest(self.path / name) for name in self._files()}
        report = {
            **self._directory.options,
            "metrics": metrics,
            **numbers,
            "files": {**self._stale, **files},
        }
        write_text(self.path / NUMBERS, json.dumps(report, indent=2, ensure_ascii=False))


def _unchanged_files(path: Path) -> dict[str, str]:
    """Return the files of an earlier report with their SHA-256, if they still have it."""
    try:
        files = parse_json((path / NUMBERS).read_text(encoding="utf-8"))["files"].items()
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    said = {name: digest for name, digest in files if digest and Path(name).name == name}
    return {name: digest for name, digest in said.items() if file_digest(path / name) == digest}


def _metric_text(result: Result, names: Sequence[str]) -> str:
    """Return a metric as a table of K rows and columns, or, of many features, as its entries."""
    if result.features is None:
        table = pd.DataFrame(result.metric, index=list(names), columns=list(names))
        return table.to_csv(index_label="feature")
    upper = triu(result.sparse_metric).tocoo()
    rows, columns = (np.array(names)[places] for places in upper.coords)
    entries = {"feature": rows, "other feature": columns, "entry": upper.data}
    return pd.DataFrame(entries).to_csv(index=False)


_LONGEST = 50  # characters: file systems allow 255 bytes, endings included

# Windows takes these for devices, whatever follows a dot.
_PORTS = {f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³"}
_DEVICES = {"aux", "con", "nul", "prn"} | _PORTS


def file_stems(labels: Iterable[str]) -> dict[str, str]:
    """Return a file name for each label that all file systems take; they confuse no two of them."""
    stems: dict[str, str] = {}
    taken: set[str] = set()
    for label in labels:
        safe = _safe(label)
        candidates = chain([safe], (f"{safe}-{number}" for number in count(2)))
        stems[label] = next(stem for stem in candidates if _fold_name(stem) not in taken)
        taken.add(_fold_name(stems[label]))
    return stems


def _safe(label: str) -> str:
    letters = re.sub(r"[^\w.+-]+", "_", unicodedata.normalize("NFC", label))
    name = letters.lstrip(".")[:_LONGEST].rstrip(".") or "class"
    return f"_{name}" if name.partition(".")[0].casefold() in _DEVICES else name


def _fold_name(name: str) -> str:
    """Return what is equal for names that a file system may take for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", name).casefold())
