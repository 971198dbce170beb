"""The same problems by several methods and solvers, each run in a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gdaopt.datasets import Dataset
from gdaopt.errors import InvalidInputError
from gdaopt.io import write_atomically, write_text
from gdaopt.result import Result
from gdaopt.studies.comparison_cell import solve_cell
from gdaopt.studies.comparison_table import completed, markdown, spec_of, to_pandas
from gdaopt.studies.learning import LearningOptions
from gdaopt.studies.method_spec import Combination, combinations
from gdaopt.studies.pictures import Run, write_pictures
from gdaopt.studies.process_per_cell import ProcessPerCell
from gdaopt.studies.runner import Cell, Progress, run_cells
from gdaopt.studies.study_directory import StudyDirectory, cell_key
from gdaopt.studies.versions import versions
from gdaopt.validation import integer

__all__ = ["Comparison", "ComparisonOptions"]


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    """What to compare.

    Attributes
    ----------
    problem : LearningOptions
        Defines the problems.
    methods : sequence of str
        Names with options, see `gdaopt.studies.method_spec.MethodSpec`.
    solvers : sequence of str
        For methods that solve programs, each with each; without any they use their own default.
    tolerance, time_limit : float or None
        For all methods that do not give their own; None for their defaults.
    trace_every : int
        The same.
    jobs : int
        How many runs at a time.
    """

    problem: LearningOptions = field(default_factory=LearningOptions)
    methods: Sequence[str]
    solvers: Sequence[str] = ()
    tolerance: float | None = None
    time_limit: float | None = None
    trace_every: int = 1
    jobs: int = 1

    def __post_init__(self) -> None:
        integer("jobs", self.jobs, at_least=1)

    @property
    def common(self) -> dict[str, Any]:
        """The options that all methods share."""
        limits = {"tolerance": self.tolerance, "time_limit": self.time_limit}
        given = {name: value for name, value in limits.items() if value is not None}
        return {**given, "trace_every": self.trace_every}

    @property
    def deadline(self) -> float | None:
        """Seconds after which the process of a run is killed that does not heed its time limit.

        Imports, compiling a program and tracing do not count for the method.
        """
        return None if self.time_limit is None else 60 + 2 * self.time_limit


class Comparison:
    """A directory with a row and a saved result for each class, method and solver.

    Parameters
    ----------
    path : path-like
        Where; an earlier comparison of the same options there is gone on with.
    dataset : Dataset
        What is learned from.
    options : ComparisonOptions
        What to compare.

    Attributes
    ----------
    cells : dict of str to Cell
        What is run, by key.
    left_out : list of str
        A sentence for each method and solver that do not go together.

    Raises
    ------
    InvalidInputError, SolverNotFoundError
        For bad options, a method or a solver without which nothing would be run, and a directory
        that is not fit (see `StudyDirectory`): before any work.
    """

    def __init__(
        self, path: str | os.PathLike[str], dataset: Dataset, options: ComparisonOptions
    ) -> None:
        self._dataset, self._options = dataset, options
        pairs, self.left_out = combinations(options.methods, options.solvers, options.common)
        classes = options.problem.classes(dataset)
        for name in classes:
            options.problem.problem(dataset, name)  # refused here rather than in each cell
        self.cells = {
            cell_key(name, str(pair.spec), pair.solver): Cell(
                solve_cell, (dataset, options.problem, name, pair), _about(name, pair)
            )
            for name in classes
            for pair in pairs
        }
        self._directory = StudyDirectory(path, _protocol(dataset, options))

    @property
    def path(self) -> Path:
        """The directory."""
        return self._directory.path

    def label(self, key: str) -> str:
        """Return what a cell is called where it is one of many."""
        about = self.cells[key].about
        return f"{about['class']}: {self._name(about)}"

    @property
    def n_done(self) -> int:
        """How many cells are finished on disk."""
        return sum(self._directory.row(key) is not None for key in self.cells)

    def run(self, progress: Progress | None = None) -> list[dict[str, Any]]:
        """Run what is missing, write tables and picture, and return the rows.

        Those of processes that died are among them, see `run_cells`.
        """
        executor = ProcessPerCell(self._options.jobs, self._options.deadline)
        return self._write(run_cells(self._directory, self.cells, executor, progress=progress))

    def _write(self, rows: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """Write tables and picture from the finished rows; return all, the excess added."""
        results = {key: self._load(key) for key, row in rows.items() if "objective" in row}
        whole = completed(rows, results)
        finished = [row for row in whole if row["status"] != "died"]
        frame = to_pandas(finished)
        write_atomically(
            self.path / "comparison.parquet", lambda file: frame.to_parquet(file, index=False)
        )
        write_text(
            self.path / "comparison.md",
            markdown(
                whole, self._dataset.name, _statement(self._dataset, self._options), self.left_out
            ),
        )
        runs = [
            Run(
                name=self._name(rows[key]) if self._is_alone else self.label(key),
                problem=rows[key]["class"],
                result=result,
                feature_names=self._dataset.feature_names,
                min_eigenvalue=self._options.problem.min_eigenvalue,
            )
            for key, result in results.items()
        ]
        if runs:
            only = f", {runs[0].problem}" if self._is_alone else ""
            title = f"{self._dataset.name}{only}: methods compared"
            write_pictures(runs, self.path, title, names=["convergence"], replace=True)
        return whole

    def _load(self, key: str) -> Result:
        """Return a cell's saved result."""
        path = f"{self._directory.stem(key)}.npz"
        try:
            return Result.load(path)
        except (InvalidInputError, OSError) as error:
            raise InvalidInputError(
                f"{error}; remove {path} and run the same command again"
            ) from error

    @property
    def _is_alone(self) -> bool:
        """Whether a single class is learned."""
        return len({cell.about["class"] for cell in self.cells.values()}) == 1

    def _name(self, row: Mapping[str, Any]) -> str:
        """Return a method with its options, and with its solver where it is run with several."""
        of_method = [
            cell.about["solver"]
            for cell in self.cells.values()
            if (cell.about["class"], cell.about["method"], cell.about["options"])
            == (row["class"], row["method"], row["options"])
        ]
        return spec_of(row) if len(of_method) == 1 else f"{spec_of(row)}, {row['solver']}"


def _protocol(dataset: Dataset, options: ComparisonOptions) -> dict[str, Any]:
    """Return all that the rows depend on."""
    problem = options.problem
    return {
        "dataset": dataset.name,
        "data_sha256": _fingerprint(dataset),
        "classes": list(problem.classes(dataset)),
        "scale": problem.scale,
        "set": problem.set,
        "trace_bound": problem.bound(dataset),
        "min_eigenvalue": problem.min_eigenvalue,
        "methods": list(options.methods),
        "solvers": list(options.solvers),
        "tolerance": options.tolerance,
        "time_limit": options.time_limit,
        "trace_every": options.trace_every,
        **versions(),
    }


def _statement(dataset: Dataset, options: ComparisonOptions) -> str:
    """Return which problems are solved, and by which versions, as a paragraph of Markdown."""
    problem = options.problem
    samples, size = dataset.features.shape
    bound = problem.bound(dataset)
    scaled = "z-scored and divided by √(2K)" if problem.scale == "zscore" else "not scaled"
    colors = (
        ", the colour of a feature -1 where its correlation with the signal is negative, else +1"
        if problem.set == "signed"
        else ""
    )
    limits = ", ".join(f"{name} {value:g}" for name, value in options.common.items())
    used = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        f"{samples} samples, K = {size} features, {scaled}; each class against the rest. "
        f"Minimise Q over the set `{problem.set}` (`--set`){colors}: trace bound C = {bound:g}, "
        f"smallest eigenvalue ρ = {problem.min_eigenvalue:g}. For all methods: {limits}. "
        f"Versions: {used}."
    )


def _about(name: str, pair: Combination) -> dict[str, Any]:
    """Return what identifies a cell in its row."""
    return {
        "class": name,
        "method": pair.spec.name,
        "options": pair.spec.options_text,
        "solver": pair.solver,
    }


def _fingerprint(dataset: Dataset) -> str:
    """Return a SHA-256 of features and labels."""
    shape = [list(dataset.features.shape), list(dataset.feature_names), dataset.labels.tolist()]
    digest = hashlib.sha256(json.dumps(shape).encode())
    digest.update(np.ascontiguousarray(dataset.features, dtype="<f8").tobytes())
    return digest.hexdigest()
