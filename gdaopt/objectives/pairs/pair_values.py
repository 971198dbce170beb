"""The numbers of all pairs of samples: computed once, and kept in memory that is used again.

Each point of an objective holds a few arrays with one number a pair, and each step of a method
makes a new point. Fresh memory of this size comes from the system and costs a page fault every few
KB, which takes as long as the exponentials. So the memory of a point that is gone is lent to the
next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray, read_only

__all__ = ["Memory", "PairValues"]


class Memory:
    """Arrays of one size, lent out until the last view of them is gone.

    Parameters
    ----------
    size : int
        How many numbers each array holds.
    most : int
        How many arrays are held ready at most.

    Examples
    --------
    >>> memory = Memory(size=4, most=2)
    >>> array = memory.lend()
    >>> address = array.ctypes.data
    >>> memory.lend().ctypes.data == address
    False
    >>> view = array[1:3]
    >>> del array, view
    >>> memory.lend().ctypes.data == address
    True
    """

    def __init__(self, size: int, most: int) -> None:
        self._size = size
        self._most = most
        self._free: list[FloatArray] = []

    def lend(self) -> FloatArray:
        """Return an array that nobody else uses; its content is arbitrary."""
        free = self._free
        return np.asarray(_Loan(free.pop() if free else np.empty(self._size), self._take_back))

    def _take_back(self, array: FloatArray) -> None:
        if len(self._free) < self._most:
            self._free.append(array)

    def __reduce__(self) -> tuple[type[Memory], tuple[int, int]]:
        return Memory, (self._size, self._most)  # copies start without arrays


class _Loan:
    """The base of all views of a lent array: when the last view is gone, the loan ends."""

    def __init__(self, array: FloatArray, take_back: Callable[[FloatArray], None]) -> None:
        self._array = array
        self._take_back = take_back

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._array.__array_interface__

    def __del__(self) -> None:
        self._take_back(self._array)


class PairValues:
    """One array for each block of pairs, either kept or computed anew in each pass.

    Parameters
    ----------
    compute : callable
        Returns an iterator over the arrays.
    memory : Memory, optional
        Where the arrays are kept after the first pass; without it they are not kept.

    Examples
    --------
    >>> values = PairValues(lambda: iter([np.zeros(2), np.ones(2)]), Memory(size=4, most=1))
    >>> [float(block.sum()) for block in values], [float(block.sum()) for block in values]
    ([0.0, 2.0], [0.0, 2.0])
    """

    def __init__(
        self, compute: Callable[[], Iterator[FloatArray]], memory: Memory | None = None
    ) -> None:
        self._blocks: Callable[[], Iterator[FloatArray]] | list[FloatArray] = compute
        self._memory = memory

    def __iter__(self) -> Iterator[FloatArray]:
        if self._memory is not None and not isinstance(self._blocks, list):
            # The callable that computed them is let go: it often refers back to its owner, and such
            # a cycle would hold the arrays until the garbage collector comes by.
            self._blocks = list(_stored(_timed(self._blocks()), self._memory.lend()))
        return _timed(iter(self._blocks) if isinstance(self._blocks, list) else self._blocks())


def _timed(blocks: Iterator[FloatArray]) -> Iterator[FloatArray]:
    """Yield the arrays as long as there is time."""
    for block in blocks:
        check_time()
        yield block


def _stored(blocks: Iterator[FloatArray], store: FloatArray) -> Iterator[FloatArray]:
    """Yield read-only copies of arrays, one after the other in a large one."""
    start = 0
    for block in blocks:
        copy = store[start : start + block.size].reshape(block.shape)
        copy[...] = block
        start += block.size
        yield read_only(copy)
