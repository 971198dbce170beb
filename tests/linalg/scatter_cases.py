"""Gradients of losses of distances that are hard to screen."""

import numpy as np
from scipy.sparse import csc_array

from gdaopt.linalg.scatter import ScatterMatrix

KINDS = ("negative", "both", "duplicates", "zeros", "ties", "scales", "sparse")


def gradient(rng: np.random.Generator, kind: str, most: int = 60) -> ScatterMatrix:
    """Return a gradient of random samples, of a kind that is hard to screen."""
    n_samples, size = int(rng.integers(2, 12)), int(rng.integers(2, most + 1))
    samples = rng.standard_normal((n_samples, size))
    weights = rng.exponential(size=(n_samples, n_samples))
    if kind == "both":
        weights -= rng.exponential(size=weights.shape)
    elif kind == "duplicates":
        samples = samples[:, rng.integers(0, max(1, size // 4), size)]
    elif kind == "zeros":
        samples[:, rng.random(size) < 0.5] = 0.0
    elif kind == "ties":
        samples = rng.integers(-1, 2, samples.shape).astype(np.float64)
    elif kind == "scales":
        samples *= 10.0 ** rng.uniform(-8, 8, size)
    elif kind == "sparse":
        samples[rng.random(samples.shape) < 0.7] = 0.0
    weights = np.triu(weights, 1)
    weights += weights.T
    laplacian = np.diag(weights.sum(axis=1)) - weights
    features = csc_array(samples) if kind == "sparse" else samples
    return ScatterMatrix(features, -laplacian, kind != "both")
