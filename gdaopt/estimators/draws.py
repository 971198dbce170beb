"""Which samples and pairs a learner looks at, where it does not look at all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

from gdaopt.errors import TimeLimitError
from gdaopt.estimators.inputs import Codes
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

Indices = npt.NDArray[np.intp]

_FEWEST = 5  # samples of a class that are kept, where it has so many
_QUERIES = 256  # samples whose neighbours are found at a time


def stratified_sample(codes: Codes, count: int, seed: int) -> Indices:
    """Return about so many samples in the proportions of the classes, of small ones at least 5."""
    rng = np.random.default_rng(seed)
    chosen = []
    for code in range(codes.max() + 1):
        members = np.flatnonzero(codes == code)
        share = max(round(count * len(members) / len(codes)), _FEWEST)
        chosen.append(rng.permutation(members)[:share])
    return np.sort(np.concatenate(chosen))


def random_pairs(codes: Codes, count: int, seed: int, *, differ: bool) -> Indices | None:
    """Return random pairs i < j, ascending, each once; None where that would be all of them."""
    size, sizes = len(codes), np.bincount(codes)
    total = (size**2 - int((sizes**2).sum())) // 2 if differ else size * (size - 1) // 2
    if count >= total:
        return None
    rng = np.random.default_rng(seed)
    numbers = np.empty(0, dtype=np.intp)
    while len(numbers) < count:
        left, right = rng.integers(size, size=(2, 2 * count))
        smaller, larger = np.minimum(left, right), np.maximum(left, right)
        fits = codes[smaller] != codes[larger] if differ else smaller < larger
        drawn = smaller[fits] * size + larger[fits]
        _, first = np.unique(np.concatenate([numbers, drawn]), return_index=True)
        numbers = np.concatenate([numbers, drawn])[np.sort(first)][
            :count
        ]  # in the order of the draw
    return np.column_stack(np.divmod(np.sort(numbers), size))


def nearest_of_other_classes(X: FloatArray, codes: Codes, n_neighbors: int) -> Indices:
    """Return the pairs of each sample with its nearest of all other classes, each pair once."""
    pairs = []
    for code in range(codes.max() + 1):
        members, others = np.flatnonzero(codes == code), np.flatnonzero(codes != code)
        search = NearestNeighbors(n_neighbors=min(n_neighbors, len(others))).fit(X[others])
        for part in gen_batches(len(members), _QUERIES):
            try:
                check_time()
            except TimeLimitError as error:
                raise TimeLimitError(
                    f"{error} in the search for the neighbours of {len(codes)} samples, before "
                    "there was anything to learn; raise time_limit, or pass fewer samples"
                ) from None
            some = members[part]
            nearest = others[search.kneighbors(X[some], return_distance=False)]
            pairs.append(np.column_stack([np.repeat(some, nearest.shape[1]), nearest.ravel()]))
    return np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)
