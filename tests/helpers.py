"""What several test files share: random metrics, scaled data sets, settings of properties."""

import tracemalloc
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from gdaopt.datasets.builtin import load
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.gershgorin import comparison_matrix
from gdaopt.linalg.laplacian import (
    edge_threshold,
    generalized_laplacian,
    n_components,
    path_edges,
    unit_laplacian,
)
from gdaopt.scaling import scale_features
from gdaopt.sets import EntrywiseMetrics, FeasibleSet
from gdaopt.support import resources
from gdaopt.support.validation import FloatArray

Rng = np.random.Generator


def properties(n_examples: int) -> settings:
    """Return settings of properties: the same examples in every run, a quarter unless it is slow.

    The run of the slow tests makes them all (tests/conftest.py).
    """
    if settings.get_current_profile_name() != "slow":
        n_examples = -(-n_examples // 4)
    return settings(deadline=None, derandomize=True, max_examples=n_examples)


PROPERTY = properties(60)
"""Settings of most properties."""

generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)
"""Hypothesis strategy of NumPy generators."""


def path_laplacian(size: int) -> FloatArray:
    """Return the Laplacian of the path 0 – 1 – … – (K-1) with unit weights."""
    return unit_laplacian(size, path_edges(size))


def random_metric(rng: Rng, size: int, *, density: float = 1.0, decades: float = 0.0) -> FloatArray:
    """Return a positive definite graph metric of trace `size`.

    `density` is the share of the edges that are there; weights spread over so many decades.
    """
    weights = rng.random((size, size)) * 10 ** rng.uniform(-decades, 0, (size, size))
    weights *= rng.random((size, size)) <= density
    weights = np.triu(weights, 1)
    metric = generalized_laplacian(weights + weights.T, rng.uniform(0.01, 1, size))
    scaled_metric: FloatArray = metric * (size / np.trace(metric))
    return scaled_metric


def start_of(feasible_set: FeasibleSet, size: int) -> FloatArray:
    """Return where the aligned methods start, and for a set that they do not take its middle."""
    if isinstance(feasible_set, EntrywiseMetrics):
        return feasible_set.start(size)
    return feasible_set.base(size) + feasible_set.budget(size) / size * np.eye(size)


def n_parts(feasible_set: FeasibleSet, metric: FloatArray) -> int:
    """Return the number of components of the graph of a metric's edges that count."""
    threshold = edge_threshold(feasible_set.trace_bound, len(metric))
    return n_components(comparison_matrix(metric), threshold)


def sum_of_atoms(feasible_set: FeasibleSet, metric: FloatArray) -> tuple[Atoms, FloatArray]:
    """Return the atoms and the weights of a member."""
    return feasible_set.family.decomposed(metric - feasible_set.base(len(metric)))


def random_symmetric(rng: Rng, size: int) -> FloatArray:
    """Return a symmetric matrix of entries about 1."""
    matrix = rng.standard_normal((size, size))
    return (matrix + matrix.T) / 2


def traced_peak(call: Callable[[], object]) -> int:
    """Return the most bytes that Python holds during a call, which is made once before."""
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def leave_memory(monkeypatch: pytest.MonkeyPatch, n_bytes: float) -> None:
    """Let the machine say that so many bytes are free, and count small arrays, too."""
    monkeypatch.setattr(resources, "_LITTLE", 0)
    monkeypatch.setattr(resources, "free_memory", lambda: n_bytes)


@cache
def scaled(name: str, positive: str) -> tuple[FloatArray, FloatArray]:
    """Return a built-in data set as ``gdaopt learn`` sees it: scaled features, ±1 signal."""
    data = load(name)
    return scale_features(data.features), data.signal(positive)


def damaged(data: bytes, rng: Rng) -> bytes:
    """Return a file with one fault: bytes that are changed, lost, added, or the end cut off."""
    start, length = int(rng.integers(len(data))), int(rng.integers(1, 30))
    if rng.random() < 0.3:  # near the end, where archives have their directory
        start = max(len(data) - 1 - int(rng.integers(2000)), 0)
    noise = rng.bytes(length)
    match rng.integers(5):
        case 0:
            return data[:start] + data[start + 1 :]
        case 1:
            return data[:start] + data[start + length :]
        case 2:
            return data[:start] + noise + data[start:]
        case 3:
            return data[:start]
    flipped = data[start] ^ 1 << int(rng.integers(8))
    return data[:start] + bytes([flipped]) + data[start + 1 :]


def refusals(path: Path, read: Callable[[], object], times: int) -> list[str]:
    """Damage a file so many times; return the messages of a reader that refuses it in a line.

    The messages name the file, and are short.
    """
    rng, content, messages = np.random.default_rng(0), path.read_bytes(), []
    for _ in range(times):
        path.write_bytes(damaged(content, rng))
        try:
            read()
        except InvalidInputError as error:
            messages.append(str(error))
    for message in messages:
        assert str(path) in message
        assert len(message.removeprefix(str(path))) < 400
        assert message.isprintable()
    return messages
