"""Measure value and gradient of the graph Laplacian regulariser: time, and peak memory.

Run ``python experiments/gradient_speed.py`` from the top of a checkout (20 seconds); it prints the
tables and writes ``figures/gradient_speed.md``.
"""

from collections.abc import Callable
from statistics import median

import numpy as np
from pages import Page, header, here, in_a_process, row, timed

import gdaopt as gda
from gdaopt.support.processes import peak_memory
from gdaopt.support.validation import FloatArray

SIGNALS = ("labels", "real")
SPEED_SIZE = (2000, 50)  # N, K
MEMORY_SIZE = (20_000, 20)
REPEATS = 31
BLOCK_ENTRIES = 2**16  # as in gdaopt.objectives.pairs.rectangles: a block stays in cache


def data(signal: str, n_samples: int, n_features: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return features of mean squared distance 1, a signal, and a graph metric of trace K."""
    rng = np.random.default_rng(n_samples)
    X = rng.standard_normal((n_samples, n_features)) / np.sqrt(2 * n_features)
    z = rng.standard_normal(n_samples) if signal == "real" else rng.choice([-1.0, 1.0], n_samples)
    return X, z, gda.GraphMetrics(trace_bound=n_features).start(n_features)


def ours(glr: gda.GLR, M: FloatArray) -> tuple[float, FloatArray]:
    """Return value and gradient by the package."""
    point = glr.at(M)
    return point.value, point.gradient()


def bare_labels(X: FloatArray, z: FloatArray, M: FloatArray) -> tuple[float, FloatArray]:
    """Return the same for ±1 labels: block products and one exp, without care for underflow."""
    first, second = X[z > 0], X[z < 0]
    own = np.einsum("nk,nk->n", second @ M, second)
    value, cross, degrees = 0.0, np.zeros_like(M), np.zeros(len(second))
    gradient = np.zeros_like(M)
    step = BLOCK_ENTRIES // len(second)
    for start in range(0, len(first), step):
        rows = first[start : start + step]
        product = rows @ M
        distance = product @ second.T
        distance *= -2
        distance += np.einsum("nk,nk->n", product, rows)[:, None]
        distance += own
        weight = np.exp(np.negative(distance, out=distance), out=distance)
        sums = weight.sum(axis=1)
        value += 8 * float(sums.sum())
        degrees += weight.sum(axis=0)
        gradient += (rows.T * sums) @ rows
        cross += rows.T @ (weight @ second)
    gradient += (second.T * degrees) @ second - cross - cross.T
    return value, -8 * gradient


def bare_real(X: FloatArray, z: FloatArray, M: FloatArray) -> tuple[float, FloatArray]:
    """Return the same for a real-valued signal, each pair once."""
    product = X @ M
    own = np.einsum("nk,nk->n", product, X)
    value, cross, degrees = 0.0, np.zeros_like(M), np.zeros(len(X))
    step = BLOCK_ENTRIES // len(X)
    for start in range(0, len(X), step):
        stop = min(start + step, len(X))
        distance = product[start:stop] @ X[start:].T
        distance *= -2
        distance += own[start:stop, None]
        distance += own[start:]
        weight = np.exp(np.negative(distance, out=distance), out=distance)
        difference = np.subtract.outer(z[start:stop], z[start:])
        weight *= np.multiply(difference, difference, out=difference)
        weight[:, : stop - start] /= 2  # the square on the diagonal holds both orders
        sums = weight.sum(axis=1)
        value += 2 * float(sums.sum())
        degrees[start:stop] += sums
        degrees[start:] += weight.sum(axis=0)
        cross += X[start:stop].T @ (weight @ X[start:])
    return value, -2 * ((X.T * degrees) @ X - cross - cross.T)


BARE: dict[str, Callable[[FloatArray, FloatArray, FloatArray], tuple[float, FloatArray]]] = {
    "labels": bare_labels,
    "real": bare_real,
}


def speed(signal: str) -> tuple[float, float]:
    """Return median seconds of ours and of bare numpy, interleaved in alternating order."""
    X, z, M = data(signal, *SPEED_SIZE)
    glr = gda.GLR(X, z)
    calls: list[Callable[[], tuple[float, FloatArray]]]
    calls = [lambda: ours(glr, M), lambda: BARE[signal](X, z, M)]
    (value, gradient), (expected_value, expected_gradient) = (call() for call in calls)
    np.testing.assert_allclose(value, expected_value, rtol=1e-10)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-10 * np.abs(gradient).max())
    seconds: tuple[list[float], list[float]] = ([], [])
    for repeat in range(REPEATS):
        for which in (0, 1) if repeat % 2 else (1, 0):
            seconds[which].append(timed(calls[which])[0])
    return median(seconds[0]), median(seconds[1])


def memory(signal: str) -> tuple[float, float]:
    """Return seconds of one evaluation and the peak of the process, a fresh one, in bytes."""
    X, z, M = data(signal, *MEMORY_SIZE)
    glr = gda.GLR(X, z)
    return timed(lambda: ours(glr, M))[0], peak_memory()


def main() -> None:
    peaks = {signal: in_a_process(memory, signal) for signal in SIGNALS}
    page = Page(
        "gradient_speed",
        "# Speed and memory of the graph Laplacian regulariser",
        "",
        "Value and gradient at a new metric. *bare*: the same block products and one exp in numpy,",
        f"interleaved with ours, median of {REPEATS}.",
        "",
        here(),
        "",
        *header("signal | N | K | ours, ms | bare, ms | ours / bare"),
    )
    for signal in SIGNALS:
        mine, bare = speed(signal)
        times = (f"{1e3 * mine:.1f}", f"{1e3 * bare:.1f}", f"{mine / bare:.2f}")
        page.add(row(signal, *SPEED_SIZE, *times))
    page.add("", *header("signal | N | K | seconds | peak of the process, MB"))
    for signal, (seconds, peak) in peaks.items():
        page.add(row(signal, *MEMORY_SIZE, f"{seconds:.2f}", f"{peak / 1e6:.0f}"))
    page.write()


if __name__ == "__main__":
    main()
