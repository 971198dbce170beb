"""Learning a metric for each class of a data set against the rest, and what is said of it."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gdaopt.constraints.rows import ConstraintsOf, LinearConstraints, read_constraints
from gdaopt.datasets import BUILTIN, FROM_UCI, Dataset, TableFormat, load, read_table
from gdaopt.datasets.numbers import float_or_nan
from gdaopt.datasets.svmlight import is_svmlight, load_svmlight
from gdaopt.datasets.tabular import column_names
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.laplacian import edge_threshold, n_edges
from gdaopt.linalg.samples import is_sparse
from gdaopt.methods import METHODS, Method
from gdaopt.objectives import OBJECTIVES
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.scaling import SCALES, TRACE_BOUNDS, read_trace_bound, scale_features
from gdaopt.sets import SETS, EdgeMask, FeasibleSet
from gdaopt.solving import iterate, solve
from gdaopt.support.processes import forget_peak_memory, peak_memory
from gdaopt.support.text import percent, reason
from gdaopt.support.validation import (
    as_path,
    check_instance,
    check_name,
    integer,
    number,
    store_checked,
    unknown_name,
)
from gdaopt.trace import relative_gap

_FIGURES = (
    *("objective", "lower_bound", "components", "seconds", "tracing_seconds", "iterations"),
    *("oracle_calls", "eigen_decompositions", "repair_distance", "status", "message"),
)

TIMES = ("build_seconds", "solve_seconds", "eig_seconds", "objective_seconds")
"""The parts of a run's time that its trace has, which a row has the sums of."""


@dataclass(frozen=True, kw_only=True)
class LearningOptions:
    """What defines the problems of a data set: options of ``gdaopt learn``, which explains them."""

    positive: str | None = None  # each class in turn; the one problem of two classes
    objective: str = "glr"
    scale: str = "unit"
    trace_bound: str | float = "K"
    min_eigenvalue: float = 1e-6
    set: str = "graph"
    constraints: ConstraintsOf | None = None
    max_classes: int = 20
    edges: Sequence[tuple[str, str]] | None = None
    max_samples: int | None = None  # always the same; features are scaled by all samples

    def __post_init__(self) -> None:
        if self.positive is not None:
            check_instance("positive", self.positive, str)
        check_name("objective", self.objective, OBJECTIVES)
        check_name("scale", self.scale, SCALES)
        if isinstance(self.trace_bound, str):
            check_name("trace bound (or a number):", self.trace_bound, TRACE_BOUNDS)
        else:
            store_checked(self, number, "trace_bound", above=0)
        store_checked(self, number, "min_eigenvalue", at_least=0)
        check_name("kind of metrics", self.set, SETS)
        store_checked(self, integer, "max_classes", "max_samples", at_least=2)
        masked = [name for name, kind in SETS.items() if _takes_edges(kind)]
        if self.edges is not None and self.set not in masked:
            raise InvalidInputError(
                f"edges go with the sets {', '.join(masked)}, and not with {self.set}"
            )

    def classes(self, dataset: Dataset) -> tuple[str, ...]:
        """Return the classes to learn; of two only the second, as the first is the same problem."""
        if self.positive is None:
            self._check_number(dataset)
            return dataset.classes[1:] if len(dataset.classes) == 2 else dataset.classes
        check_name("class", self.positive, dataset.classes)
        return (self.positive,)

    def _check_number(self, dataset: Dataset) -> None:
        n_classes = len(dataset.classes)
        if n_classes <= self.max_classes:
            return
        are_numbers = all(math.isfinite(float_or_nan(name)) for name in dataset.classes)
        kind = "numbers, a target of regression as it seems" if are_numbers else "different texts"
        raise InvalidInputError(
            f"the labels of {dataset.name} are {n_classes} {kind}; name the column of the classes "
            f"(of a CSV file) by --label, one class by --positive, or, to learn all of them in "
            f"turn, pass --max-classes {n_classes}"
        )

    def problem(self, dataset: Dataset, positive: str) -> MetricProblem:
        """Return the problem of one class."""
        chosen = self.samples(dataset)
        features = scale_features(dataset.features, self.scale)[chosen]
        signal = dataset.signal(positive)[chosen]
        objective = OBJECTIVES[self.objective](features, signal)

        options = {} if self.edges is None else {"edges": self.mask(dataset)}

        def feasible_set(trace_bound: float, min_eigenvalue: float) -> FeasibleSet:
            return SETS[self.set].for_signal(
                features,
                signal,
                trace_bound=trace_bound,
                min_eigenvalue=min_eigenvalue,
                **options,
            )

        trace_bound = read_trace_bound(self.trace_bound, objective, feasible_set(1.0, 0.0))
        return MetricProblem(
            objective, feasible_set(trace_bound, self.min_eigenvalue), self.constraints
        )

    def samples(self, dataset: Dataset) -> npt.NDArray[np.intp]:
        """Return the samples to learn from, ascending."""
        n_samples = len(dataset.labels)
        if self.max_samples is None or n_samples <= self.max_samples:
            return np.arange(n_samples)
        # On demand: scikit-learn is slow to import
        from gdaopt.estimators.draws import stratified_sample

        codes = np.unique(dataset.labels, return_inverse=True)[1]
        return stratified_sample(codes, self.max_samples, seed=0)

    def mask(self, dataset: Dataset) -> EdgeMask:
        """Return the pairs that may have an edge, by the numbers of the features."""
        return EdgeMask.of(self.edges, dataset.feature_names)

    def problems(self, dataset: Dataset) -> Iterator[tuple[str, MetricProblem]]:
        """Yield each class to learn with its problem, which is built only then."""
        classes = self.classes(dataset)  # refused here rather than at the first problem
        return ((name, self.problem(dataset, name)) for name in classes)

    def with_rows(self, dataset: Dataset) -> LearningOptions:
        """Return the options with the constraints as rows, which other processes can be sent."""
        if self.constraints is None:
            return self
        return replace(
            self, constraints=read_constraints(self.constraints, dataset.features.shape[1])
        )

    def record(self, dataset: Dataset) -> dict[str, Any]:
        """Return which problems are solved as plain values, equal for the same problems alone."""
        mask = None if self.edges is None else self.mask(dataset)
        return {
            "dataset": dataset.name,
            "data_sha256": dataset.sha256,
            "features": list(dataset.feature_names),
            "classes": list(self.classes(dataset)),
            "scale": self.scale,
            "objective": self.objective,
            "set": self.set,
            "trace_bound": self.trace_bound,
            "min_eigenvalue": self.min_eigenvalue,
            "constraints": None if self.constraints is None else _rows_hash(self.constraints),
            **({} if mask is None else {"edges": _mask_text(mask)}),
            "samples": len(self.samples(dataset)),
        }

    def outline(self, dataset: Dataset) -> str:
        """Return how much there is to learn from, and what is learned, in a few words."""
        samples = f"{len(dataset.labels)} samples{self._describe_draw(dataset)}"
        features = f"{len(dataset.feature_names)} features"
        return f"{samples}, {features}; a metric is learned for {self._describe_metrics(dataset)}"

    def statement(self, dataset: Dataset) -> str:
        """Return which problems are solved, in one sentence."""
        samples, size = dataset.features.shape
        n_edges = 0 if self.edges is None else len(self.mask(dataset))
        masked = "" if self.edges is None else f" with at most {n_edges} edges"
        bound = self.trace_bound
        shown = f"{bound} ({TRACE_BOUNDS[bound]})" if isinstance(bound, str) else f"{bound:g}"
        centred = ", not centred" if is_sparse(dataset.features) else ""
        return (
            f"{samples} samples{self._describe_draw(dataset)}, K = {size} features "
            f"{SCALES[self.scale]} ({self.scale}{centred}), {self._describe_metrics(dataset)}; "
            f"objective {self.objective}, set "
            f"{self.set}{masked}, trace bound C = {shown}, smallest eigenvalue "
            f"ρ = {self.min_eigenvalue:g}"
            + ("" if self.constraints is None else ", and linear constraints")
        )

    def _describe_draw(self, dataset: Dataset) -> str:
        n_learned = len(self.samples(dataset))
        all_learned = n_learned == len(dataset.labels)
        return "" if all_learned else f", {n_learned} of them drawn to learn from"

    def _describe_metrics(self, dataset: Dataset) -> str:
        classes = dataset.classes
        if len(classes) == 2:
            positive = self.positive or classes[1]
            return f"class {positive} against class {classes[classes[0] == positive]}"
        if self.positive is not None:
            return f"class {self.positive} against the rest"
        return f"each of {len(classes)} classes against the rest"


def load_source(
    source: str,
    label: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    impute: str | None = None,
    form: TableFormat | None = None,
) -> Dataset:
    """Return the data set of a name or a file; refuse options that do not go with it."""
    check_instance("source", source, str)
    form = TableFormat() if form is None else form
    check_instance("form", form, TableFormat)
    drop, keep = column_names("drop", drop), column_names("keep", keep)
    for name, value in (("label", label), ("impute", impute)):
        if value is not None:
            check_instance(name, value, str)
    is_missing = is_table(source) and not Path(source).expanduser().exists()
    if is_missing and (not Path(source).suffix or Path(source).stem in BUILTIN):
        raise unknown_name("data set (and no file of this name):", source, BUILTIN)
    if not is_table(source):
        options = {"label": label, "drop": drop, "keep": keep, "impute": impute, **form.record()}
        check_no_table(source, options)
    if data_dir is not None and source not in FROM_UCI:
        data_dir = as_path("data_dir", data_dir)
        raise InvalidInputError(
            f"--data-dir {data_dir} goes with {', '.join(FROM_UCI)}, not with {source}; "
            "leave it out"
        )
    if is_svmlight(source):
        return load_svmlight(source)
    if is_table(source):
        return read_table(source, label, drop=drop, keep=keep, impute=impute, form=form)
    return load(source, data_dir)


def is_table(source: str) -> bool:
    """Say whether a source is a file with a table: neither a known data set nor sparse samples."""
    return source not in BUILTIN and not is_svmlight(source)


def check_no_table(source: str | os.PathLike[str], options: Mapping[str, Any]) -> None:
    """Refuse options of tables, by their names, for another kind of data."""
    for name, value in options.items():
        if value not in (None, ()):
            option = name.replace("_", "-")
            shown = ",".join(value) if isinstance(value, tuple) else value
            raise InvalidInputError(
                f"--{option} {shown} goes with a table, which {source} is not; leave it out"
            )


def read_edges(path: str | os.PathLike[str]) -> tuple[tuple[str, str], ...]:
    r"""Return the pairs of names in a CSV file of two columns without a header."""
    path = as_path("path", path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [(place, line) for place, line in enumerate(csv.reader(file), 1) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(
            f"cannot read the edges of {path} as CSV in UTF-8: {reason(error)}"
        ) from error
    for place, line in lines:
        if len(line) != 2:
            raise InvalidInputError(
                f"line {place} of {path} has {len(line)} names, not 2: a line names the two "
                "features of an edge, separated by a comma"
            )
    return tuple((line[0].strip(), line[1].strip()) for _, line in lines)


def check_starts(problems: Iterable[tuple[str, MetricProblem]], method: Method) -> None:
    """Raise the errors that the runs would raise at their start, before any is begun.

    Smaller problems are tried where there are many samples, and one is in memory at a time.
    """
    for _, problem in problems:
        sample = problem
        while (smaller := sample.subsample()) is not None:
            sample = smaller
        try:
            next(iterate(sample, method))
        except InvalidInputError:
            next(iterate(problem, method))


def solve_task(
    path: Path, dataset: Dataset, options: LearningOptions, positive: str, method: Method
) -> dict[str, Any]:
    """Solve the problem of a class, save the result, and return its figures as plain values."""
    forget_peak_memory()
    problem = options.problem(dataset, positive)
    result = solve(problem, method)
    result.save(path)
    trace, feasible_set = result.trace, problem.feasible_set
    smallest, gap = result.lambda_min, result.relative_gap
    return {
        "objective_start": trace[0].objective,
        **{name: getattr(result, name) for name in _FIGURES},
        "relative_gap": gap if gap is not None and math.isfinite(gap) else None,
        "lambda_min": smallest,
        "eigenvalue_slack": None if smallest is None else smallest - feasible_set.min_eigenvalue,
        "edges": n_edges(
            result.block, edge_threshold(feasible_set.trace_bound, problem.n_features)
        ),
        "trace_bound": feasible_set.trace_bound,
        **{name: float(np.nansum(trace.column(name))) for name in TIMES},
        "peak_memory": peak_memory(),
    }


def _rows_hash(rows: ConstraintsOf) -> str:
    assert isinstance(rows, LinearConstraints)
    digest = hashlib.sha256(json.dumps(rows.labels).encode())
    for array in (rows.matrices.toarray(), rows.bounds, rows.is_equality, rows.norms, rows.owners):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _mask_text(mask: EdgeMask) -> str:
    digest = hashlib.sha256(json.dumps(mask.record()).encode()).hexdigest()
    return f"{len(mask)} pairs, SHA-256 {digest}"


def _takes_edges(kind: type[FeasibleSet]) -> bool:
    return "edges" in {field.name for field in fields(kind)}  # type: ignore[arg-type]  # of subclasses


_LARGE = 1e-2
"""An objective that is above its bound by a larger share makes another method worth a word."""

_ENDS = {
    "converged": "the optimum is reached",
    "stationary": "a stationary point is reached",
    "block_minimum": "no block improves on its own",
    "slow_progress": "further steps gain too little",
    "inaccurate": "the solver was not accurate enough",
    "iteration_limit": "the limit of steps is reached",
    "time_limit": "the time limit is reached, and a longer one may lead further",
    "interrupted": "stopped, and the same command goes on with it",
    "solver_failed": "a solver failed, and another --solver may not",
    "left_domain": "a step left the domain of the objective or the set, and the metric is the one "
    "before that step",
    "disconnected": "another step would disconnect the graph, which the edge floor forbids",
    "infeasible": "the edge floor leaves a program without a feasible point, and a smaller one may "
    "not",
}
"""What a status means; of a run that stalled, its message says it."""


def outcome(result: Result) -> str:
    """Return how a run ended, and how far its objective can be above the optimum."""
    end = _ENDS.get(result.status) or result.message.partition(":")[0]
    above = _above(result)
    if result.status == "converged":
        end += f" to {percent(above)}"
    elif above < math.inf:
        end += f"; at most {percent(above)} above the optimum"
    else:
        end += "; how far above the optimum is not known"
    return f"{end}; objective from {result.trace[0].objective:.6g} to {result.objective:.6g}"


def work(results: Collection[Result]) -> str:
    """Return what runs of one method solved, who solved it, and in how many seconds."""
    programs = sum((Counter(result.solved_by) for result in results), Counter[str]())
    calls = sum(result.oracle_calls for result in results)
    projections = sum(result.eigen_decompositions for result in results)
    kinds = {getattr(METHODS.get(result.method), "cone", None) or "linear" for result in results}
    kind = " or ".join(sorted(kinds))
    if programs:
        solved = [
            f"{count} {kind} program{'s' * (count > 1)} "
            + ("in closed form" if name == "analytic" else f"by {name}")
            for name, count in programs.items()
        ]
    elif projections:
        solved = [f"{projections} projections by eigen-decomposition"]
    else:
        solved = [f"{calls} linear minimisations over the set, in closed form"]
    seconds = sum(result.seconds for result in results)
    inside = sum(float(np.nansum(result.trace.column("solve_seconds"))) for result in results)
    return f"{', '.join(solved)}, in {seconds:.2g} s. Solving them took {inside:.2g} s of this time"


def advice(results: Collection[Result], method: str, edge_floor: float = 0.0) -> str | None:
    """Return how to reach the optimum where it may be far; `certified` takes no edge floor."""
    far = any(_above(result) > _LARGE for result in results)
    if not far or method == "certified" or edge_floor:
        return None
    return "--method certified reaches the optimum, with a proof of the gap"


def _above(result: Result) -> float:
    """Return how far an objective can be above its lower bound, as a share of the bound's size."""
    if result.lower_bound is None:
        return math.inf
    return relative_gap(-result.lower_bound, -result.objective)
