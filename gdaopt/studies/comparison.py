"""The same problems by several methods and solvers, each run a task of a resumable study.

Methods with their options are written as text, such as ``frank-wolfe:variant=away``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from gdaopt.datasets import Dataset
from gdaopt.errors import GdaoptError, InvalidInputError, SolverNotFoundError
from gdaopt.methods import METHODS, Method
from gdaopt.methods.solve import make_method
from gdaopt.result import Result
from gdaopt.studies.class_problems import ProblemOptions, solve_task
from gdaopt.studies.comparison_table import add_excess, markdown, name_among, to_pandas
from gdaopt.studies.named_options import NamedOptions, SolverSpec
from gdaopt.studies.pictures import picture_names, write_pictures
from gdaopt.studies.runner import Progress, Study, Task, run_tasks
from gdaopt.studies.saved_runs import make_runs
from gdaopt.studies.study_directory import (
    StudyDirectory,
    sole_writer,
    task_key,
    versions,
    write_frame,
)
from gdaopt.studies.task_workers import TaskWorkers
from gdaopt.support.files import write_text
from gdaopt.support.options import option, read_words
from gdaopt.support.validation import as_tuple, check_instance, integer, number, store_checked

_METHODS = "alternating, joint:tolerance=1e-3, sdp, projected-gradient, certified"
_DRAWN = "alternating"  # the method whose left-ends and discs are drawn
_NOT_TEXT = ("callback", "initial", "solver_opts")  # options that are not a word or a number


class MethodSpec(NamedOptions):
    """A method's name and the options to make it with; `method` looks the names up."""

    kind = "method"

    def method(self, common: Mapping[str, Any]) -> Method:
        """Return the method, made with its own options and, if it has none, common ones."""
        for name, _ in self.options:
            if name in _NOT_TEXT:
                raise InvalidInputError(
                    f"option {name!r} of method {str(self)!r} cannot be written as text; "
                    "leave it out, or call gdaopt.solve"
                )
        return make_method(self.name, **{**common, **dict(self.options)})

    def takes_solver(self, common: Mapping[str, Any]) -> bool:
        """Say whether the method takes a solver and its own options name none."""
        if "solver" in dict(self.options):
            return False
        try:
            method: Any = self.method(common)
        except SolverNotFoundError:  # the default solver is missing; others may be there
            return True
        return "solver" in {each.name for each in fields(method)}


@dataclass(frozen=True)
class Combination:
    """A method that was made with a solver."""

    spec: MethodSpec
    solver: str  # the canonical name, with options; "analytic" if no programs are solved
    method: Method


def combinations(
    methods: Sequence[str], solvers: Sequence[str], common: Mapping[str, Any]
) -> tuple[list[Combination], list[str]]:
    """Return each method with each solver that it takes, and why others are left out.

    Without solvers, methods that take one use their own default.
    """
    if not methods:
        raise InvalidInputError("no methods are given; name at least one")
    asked = [SolverSpec.find(text) for text in solvers]  # unknown ones are errors, no refusals
    combinations: dict[tuple[MethodSpec, str], Combination] = {}
    left_out: list[str] = []
    refusals: dict[SolverSpec, GdaoptError] = {}
    used: set[SolverSpec | None] = set()
    for spec in dict.fromkeys(MethodSpec.parse(text) for text in methods):
        solvers_of_method: Sequence[SolverSpec | None] = asked if spec.takes_solver(common) else ()
        for solver in solvers_of_method or [None]:
            options = dict(common)
            if solver is not None:
                options |= {"solver": solver.name, "solver_opts": dict(solver.options)}
            try:
                method = spec.method(options)
            except (InvalidInputError, SolverNotFoundError) as error:
                if solver is None or isinstance(error, InvalidInputError):
                    raise
                refusals[solver] = error
                left_out.append(f"{spec} with {solver}: {error}")
            else:
                name = method.solver if solver is None else str(solver)
                combinations[spec, name] = Combination(spec, name, method)
                used.add(solver)
    for solver in asked:
        if solver not in used:
            raise refusals.get(
                solver,
                InvalidInputError(
                    f"solver '{solver}': none of the methods takes a solver; add one that does, "
                    "such as alternating"
                ),
            )
    return list(combinations.values()), left_out


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions(ProblemOptions):
    """The options of ``gdaopt compare``; its limits are for methods that give none of their own."""

    methods: Sequence[str] = option(
        read_words(_METHODS),
        f"methods, separated by commas, of {', '.join(METHODS)}; options follow a colon, as in "
        "joint:step=adaptive:solver=HIGHS",
        read=read_words,
    )
    solvers: Sequence[str] = option(
        (),
        "names, separated by commas: each method that solves programs is run with each (default: "
        "its own default); see gdaopt solvers; options follow a colon, as in HIGHS:solver=ipm",
        read=read_words,
    )
    tolerance: float | None = option(
        None, "relative gap or decrease that ends a run (default: the method's)"
    )
    time_limit: float | None = option(None, "seconds for each run")
    trace_every: int = option(1, "steps between rows of the trace; 0 for start and end alone")
    jobs: int = option(1, "runs at a time; more than one blurs their times")
    scheduler: str | None = option(
        None, "address of a Dask cluster, as tcp://host:port, whose workers compute the runs"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("methods", "solvers"):
            for text in as_tuple(name, getattr(self, name), "a list of texts"):
                check_instance(f"each of {name}", text, str)
        store_checked(self, number, "tolerance", at_least=0)
        store_checked(self, number, "time_limit", above=0)
        store_checked(self, integer, "trace_every", at_least=0)
        store_checked(self, integer, "jobs", at_least=1)
        self.workers()  # refuses here what it would refuse later

    def workers(self) -> TaskWorkers:
        """Return what computes the runs."""
        return TaskWorkers(self.jobs, self.scheduler, self.deadline, threaded=True)

    def record(self, dataset: Dataset) -> dict[str, Any]:
        """Return what all rows depend on, as plain values."""
        return {
            **super().record(dataset),
            **{name: list(getattr(self, name)) for name in ("methods", "solvers")},
            **{name: getattr(self, name) for name in ("tolerance", "time_limit", "trace_every")},
        }

    @property
    def common(self) -> dict[str, Any]:
        """The options that all methods share."""
        limits = {"tolerance": self.tolerance, "time_limit": self.time_limit}
        set_limits = {name: value for name, value in limits.items() if value is not None}
        return {**set_limits, "trace_every": self.trace_every}

    @property
    def deadline(self) -> float | None:
        """Seconds after which a run's process is killed; limits of methods do not count imports."""
        return None if self.time_limit is None else 60 + 2 * self.time_limit


class Comparison(Study[list[dict[str, Any]]]):
    """A directory with a row and a saved result for each class, method and solver.

    `left_out` has a sentence for each method and solver that do not go together; `pictures` has,
    after `run`, the names of the pictures.
    """

    pictures: list[str]

    def __init__(
        self, path: str | os.PathLike[str], dataset: Dataset, options: ComparisonOptions
    ) -> None:
        options = options.with_rows(dataset)
        self._dataset, self._options = dataset, options
        pairs, self.left_out = combinations(options.methods, options.solvers, options.common)
        classes = options.classes(dataset)
        for _, problem in options.problems(dataset):
            # Refused here rather than in each task
            for pair in pairs:
                pair.method.check(problem)
        self.tasks = {
            task_key(name, str(pair.spec), pair.solver): Task(
                solve_task,
                (dataset, options, name, pair.method),
                {
                    "class": name,
                    "method": pair.spec.name,
                    "options": pair.spec.options_text,
                    "solver": pair.solver,
                },
                endings=(".npz",),
            )
            for name in classes
            for pair in pairs
        }
        said = {**options.record(dataset), **versions()}
        self._directory = StudyDirectory(path, "compare", said)

    def label(self, key: str) -> str:
        """Return what a task is called if it is one of many."""
        about = self.tasks[key].about
        name = name_among(about, (task.about for task in self.tasks.values()))
        return f"{about['class']}: {name}"

    def run(self, progress: Progress | None = None) -> list[dict[str, Any]]:
        """Run what is missing, write tables and picture, and return the rows, of dead tasks too."""
        workers = self._options.workers()
        with sole_writer(self.path):
            return self._write(run_tasks(self._directory, self.tasks, workers, progress=progress))

    def _write(self, rows: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
        results = {
            key: Result.load(f"{self._directory.stem(key)}.npz")
            for key, row in rows.items()
            if "objective" in row
        }
        whole = add_excess(rows, results)
        finished = [row for row in whole if row["status"] != "died"]
        write_frame(self.path / "comparison.parquet", to_pandas(finished))
        limits = ", ".join(f"{name} {value:g}" for name, value in self._options.common.items())
        used = ", ".join(f"{name} {version}" for name, version in versions().items())
        solved = self._options.statement(self._dataset)
        statement = f"{solved}. For all methods: {limits}. Versions: {used}."
        page = markdown(whole, self._dataset.name, statement, self.left_out)
        write_text(self.path / "comparison.md", page)
        read = [(rows[key], result) for key, result in results.items()]
        runs = make_runs(self._directory.options, read)
        classes = self._directory.options["classes"]
        only = f", {classes[0]}" if len(classes) == 1 else ""
        title = f"{self._dataset.name}{only}: "
        # Each class has the discs of one alternation, the first.
        aligned = {run.problem: run for run in reversed(runs) if run.result.method == _DRAWN}
        self.pictures = []
        for names, shown, what in (
            (["convergence"], runs, "methods compared"),
            (["left_ends", "discs"], list(aligned.values())[::-1], _DRAWN),
        ):
            if shown:
                write_pictures(shown, self.path, title + what, names=names, replace=True)
                self.pictures += picture_names(names)
        return whole
