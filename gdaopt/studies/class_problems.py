"""The problem of each class of a data set against the rest, and its solution by a method."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gdaopt.constraints.rows import read_constraints
from gdaopt.datasets import Dataset
from gdaopt.datasets.numbers import float_or_nan
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.laplacian import edge_threshold, n_edges
from gdaopt.linalg.samples import is_sparse
from gdaopt.methods import Method
from gdaopt.objectives import OBJECTIVES
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.scaling import SCALES, TRACE_BOUNDS, read_trace_bound, scale_features
from gdaopt.sets import SETS, EdgeMask, FeasibleSet
from gdaopt.solving import solve
from gdaopt.studies.sources import read_edges
from gdaopt.support.files import digest
from gdaopt.support.options import option, read_number
from gdaopt.support.processes import forget_peak_memory, peak_memory
from gdaopt.support.text import shortened
from gdaopt.support.validation import (
    check_instance,
    check_name,
    integer,
    number,
    store_checked,
)

_FIGURES = (
    *("objective", "lower_bound", "components", "seconds", "tracing_seconds", "iterations"),
    *("oracle_calls", "eigen_decompositions", "repair_distance", "status", "message"),
)

_SCALE = "features are " + ", ".join(f"{words} ({name})" for name, words in SCALES.items())
_TRACE_BOUND = "C, the largest trace: a number, or " + ", ".join(
    f"{name} ({words})" for name, words in TRACE_BOUNDS.items()
)

TIMES = ("build_seconds", "solve_seconds", "eig_seconds", "objective_seconds")
"""The parts of a run's time that its trace has, which a row has the sums of."""


def _read_max_samples(text: str) -> int | None:
    """Return the number of samples that a text stands for; None for all of them."""
    if text == "all":
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError(
            f"--max-samples must be a whole number or all, got {shortened(text)}"
        ) from None


@dataclass(frozen=True, kw_only=True)
class ProblemChoice:
    """What is learned, and from which samples; None if nothing is asked for."""

    # Without one it is each class in turn, and the one problem of two classes.
    positive: str | None = option(None, "learn a metric for this class against the rest alone")
    objective: str | None = option(
        None,
        f"what is minimised: {', '.join(OBJECTIVES)}; see gdaopt.objectives (default: mcml, or glr "
        "for one class against the rest)",
    )
    metrics: str = option("graph", f"kind of the feasible set: {', '.join(SETS)}; see gdaopt.sets")
    scale: str | None = option(None, f"{_SCALE} (default: zscore)")
    trace_bound: str | float | None = option(
        None, f"{_TRACE_BOUND} (default: auto)", read=read_number
    )
    min_eigenvalue: float | None = option(
        None, "ρ, the smallest eigenvalue allowed (default: a tenth of C/K)"
    )
    edges: Sequence[tuple[str, str]] | None = option(
        None,
        "CSV file of the only pairs of features that may have an edge, with two names and no "
        "header: one pair a line (default: all pairs may)",
        read=read_edges,
        metavar="FILE",
    )
    max_classes: int = option(
        20, "most classes to learn in turn; more look like a target of regression"
    )
    max_samples: int | None = option(  # always the same; features are scaled by all samples
        None,
        "learn from at most about so many samples, drawn at random in the proportions of the "
        "classes: the time of an evaluation grows with the square of their number",
        read=_read_max_samples,
        text="4000",
        metavar="N|all",
    )

    def __post_init__(self) -> None:
        if self.positive is not None:
            check_instance("positive", self.positive, str)
        for what, name, choices in (
            ("objective", "objective", OBJECTIVES),
            ("scale", "scale", SCALES),
            ("kind of metrics", "metrics", SETS),
        ):
            # None is a choice if it is the default.
            if getattr(self, name) is not None or getattr(type(self), name) is not None:
                check_name(what, getattr(self, name), choices)
        if isinstance(self.trace_bound, str):
            check_name("trace bound (or a number):", self.trace_bound, TRACE_BOUNDS)
        else:
            store_checked(self, number, "trace_bound", above=0)
        store_checked(self, number, "min_eigenvalue", at_least=0)
        store_checked(self, integer, "max_classes", "max_samples", at_least=2)
        kinds: dict[str, Any] = SETS
        masked = [kind for kind in kinds if "edges" in {each.name for each in fields(kinds[kind])}]
        if self.edges is not None and self.metrics not in masked:
            raise InvalidInputError(
                f"edges go with the sets {', '.join(masked)}, and not with {self.metrics}"
            )

    def classes(self, dataset: Dataset) -> tuple[str, ...]:
        """Return the classes to learn against the rest: one, or all, if they are not too many.

        Of two it is only the second, because the first is the same problem.
        """
        if self.positive is None:
            self._refuse_many_classes(dataset)
            return dataset.classes[1:] if len(dataset.classes) == 2 else dataset.classes
        check_name("class", self.positive, dataset.classes)
        return (self.positive,)

    def _refuse_many_classes(self, dataset: Dataset) -> None:
        """Refuse labels of many values, which look like no classes."""
        n_classes = len(dataset.classes)
        if n_classes <= self.max_classes:
            return
        are_numbers = all(math.isfinite(float_or_nan(name)) for name in dataset.classes)
        kind = "numbers, a target of regression as it seems" if are_numbers else "different texts"
        raise InvalidInputError(
            f"the labels of {dataset.name} are {n_classes} {kind}; name the column of the classes "
            f"(of a CSV file) by --label, one class by --positive, or, to learn all of them, "
            f"pass --max-classes {n_classes}"
        )

    def samples(self, dataset: Dataset, most: int | None = None) -> npt.NDArray[np.intp]:
        """Return the samples to learn from, ascending, in the proportions of the classes.

        They are always the same, and `most` at most.
        """
        n_samples = len(dataset.labels)
        limits = (limit for limit in (most, self.max_samples) if limit is not None)
        limit = min(limits, default=n_samples)
        if n_samples <= limit:
            return np.arange(n_samples)
        # On demand: scikit-learn is slow to import
        from gdaopt.estimators.draws import stratified_sample

        codes = np.unique(dataset.labels, return_inverse=True)[1]
        return stratified_sample(codes, limit, seed=0)

    def mask(self, dataset: Dataset) -> EdgeMask | None:
        """Return the pairs that may have an edge, by the numbers of the features; None for all."""
        return None if self.edges is None else EdgeMask.of(self.edges, dataset.feature_names)

    def record(self, dataset: Dataset) -> dict[str, Any]:
        """Return what is learned as plain values, equal for the same problems alone."""
        record = {
            "dataset": dataset.name,
            "data_sha256": dataset.sha256,
            "features": list(dataset.feature_names),
            "set": self.metrics,
        }
        mask = self.mask(dataset)
        if mask is not None:
            record["edges"] = f"{len(mask)} pairs, SHA-256 {digest(mask.record())}"
        return record


@dataclass(frozen=True, kw_only=True)
class ProblemOptions(ProblemChoice):
    """What defines the problems of a data set: options of ``gdaopt compare``."""

    positive: str | None = option(None, "class to learn against the rest (default: each in turn)")
    objective: str = option(
        "glr",
        f"what is minimised: {', '.join(OBJECTIVES)}; see gdaopt.objectives. All but glr go best "
        "with --trace-bound auto",
    )
    scale: str = option("unit", _SCALE)
    trace_bound: str | float = option("K", _TRACE_BOUND, read=read_number)
    min_eigenvalue: float = option(1e-6, "ρ, the smallest eigenvalue allowed")
    constraints: Callable[..., Any] | None = None  # as of `gdaopt.MetricProblem`

    def problem(self, dataset: Dataset, positive: str) -> MetricProblem:
        """Return the problem of one class."""
        chosen = self.samples(dataset)
        features = scale_features(dataset.features, self.scale)[chosen]
        signal = dataset.signal(positive)[chosen]
        objective = OBJECTIVES[self.objective](features, signal)

        mask = self.mask(dataset)
        options = {} if mask is None else {"edges": mask}

        def feasible_set(trace_bound: float, min_eigenvalue: float) -> FeasibleSet:
            return SETS[self.metrics].for_signal(
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

    def problems(self, dataset: Dataset) -> Iterator[tuple[str, MetricProblem]]:
        """Yield each class to learn with its problem, which is built only then."""
        classes = self.classes(dataset)  # refused here rather than at the first problem
        return ((name, self.problem(dataset, name)) for name in classes)

    def with_rows(self, dataset: Dataset) -> Self:
        """Return the options with the constraints as rows, which other processes can be sent."""
        if self.constraints is None:
            return self
        return replace(
            self, constraints=read_constraints(self.constraints, dataset.features.shape[1])
        )

    def _hash_rows(self, dataset: Dataset) -> str | None:
        """Return what tells constraints apart; None if there are none."""
        if self.constraints is None:
            return None
        rows = read_constraints(self.constraints, dataset.features.shape[1])
        matrices = rows.matrices.toarray()
        return digest(rows.labels, matrices, rows.bounds, rows.is_equality, rows.norms, rows.owners)

    def record(self, dataset: Dataset) -> dict[str, Any]:
        """Return which problems are solved as plain values, equal for the same problems alone."""
        return {
            **super().record(dataset),
            "classes": list(self.classes(dataset)),
            "scale": self.scale,
            "objective": self.objective,
            "trace_bound": self.trace_bound,
            "min_eigenvalue": self.min_eigenvalue,
            "constraints": self._hash_rows(dataset),
            "samples": len(self.samples(dataset)),
        }

    def statement(self, dataset: Dataset) -> str:
        """Return which problems are solved, in one sentence."""
        samples, size = dataset.features.shape
        n_learned = len(self.samples(dataset))
        drawn = "" if n_learned == samples else f", {n_learned} of them drawn to learn from"
        mask = self.mask(dataset)
        masked = "" if mask is None else f" with at most {len(mask)} edges"
        bound = self.trace_bound
        shown = f"{bound} ({TRACE_BOUNDS[bound]})" if isinstance(bound, str) else f"{bound:g}"
        centred = ", not centred" if is_sparse(dataset.features) else ""
        return (
            f"{samples} samples{drawn}, K = {size} features "
            f"{SCALES[self.scale]} ({self.scale}{centred}), {self._describe_metrics(dataset)}; "
            f"objective {self.objective}, set "
            f"{self.metrics}{masked}, trace bound C = {shown}, smallest eigenvalue "
            f"ρ = {self.min_eigenvalue:g}"
            + ("" if self.constraints is None else ", and linear constraints")
        )

    def _describe_metrics(self, dataset: Dataset) -> str:
        classes = dataset.classes
        if len(classes) == 2:
            positive = self.positive or classes[1]
            return f"class {positive} against class {classes[classes[0] == positive]}"
        if self.positive is not None:
            return f"class {self.positive} against the rest"
        return f"each of {len(classes)} classes against the rest"


def solve_task(
    path: Path, dataset: Dataset, options: ProblemOptions, positive: str, method: Method
) -> dict[str, Any]:
    """Solve the problem of a class, save the result, and return its figures as plain values."""
    forget_peak_memory()
    result = solve(options.problem(dataset, positive), method)
    result.save(path)
    return {**figures(result), "peak_memory": peak_memory()}


def figures(result: Result) -> dict[str, Any]:
    """Return what a row has of a result, as plain values."""
    feasible_set, trace = result.feasible_set, result.trace
    smallest, gap = result.lambda_min, result.relative_gap
    threshold = edge_threshold(feasible_set.trace_bound, result.n_features)
    return {
        "objective_start": trace[0].objective,
        **{name: getattr(result, name) for name in _FIGURES},
        "relative_gap": gap if gap is not None and math.isfinite(gap) else None,
        "lambda_min": smallest,
        "eigenvalue_slack": None if smallest is None else smallest - feasible_set.min_eigenvalue,
        "edges": n_edges(result.block, threshold),
        "trace_bound": feasible_set.trace_bound,
        **{name: float(np.nansum(trace.column(name))) for name in TIMES},
    }
