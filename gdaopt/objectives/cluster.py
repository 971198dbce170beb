"""Sums over many pairs on the machines of a Dask cluster, or on the workers of another executor.

A pass is a task for each chunk of the pairs. The chunks are the same as on one machine and are
added up in the same order, so that the numbers are the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from typing import Any

from gdaopt.errors import ClusterError, GdaoptError, InvalidInputError
from gdaopt.objectives.pair_loss import DistanceLoss
from gdaopt.objectives.pair_sums import PairSums, add_sums, chunk_sums
from gdaopt.objectives.pairs.pairs import Pairs
from gdaopt.support.dask_executor import DaskExecutor
from gdaopt.support.deadline import check_time
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray

_ATTEMPTS = 3  # to have a pass done, after each of which the pairs are sent again
_PATIENCE = 120.0  # seconds in which no task ends; tasks take seconds
_LOST = 10.0  # seconds for the samples to begin to be sent
_POLL = 0.05  # seconds between looks at the clock


class Cluster:
    """The chunks of some pairs, which share their samples, on the workers of an executor."""

    def __init__(self, client: Any, loss: DistanceLoss, chunks: Sequence[Pairs]) -> None:
        self._client = client if hasattr(client, "scatter") else None  # None for another executor
        executor = client if self._client is None else DaskExecutor(client)
        if not isinstance(executor, Executor):
            raise InvalidInputError(
                "client must be a distributed.Client or a concurrent.futures.Executor, got "
                f"{shortened(client)}; make one by distributed.Client(address), or leave it out to "
                "compute on this machine"
            )
        self._executor = executor
        self._loss = loss
        self._chunks = chunks
        self._sent: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()  # a client cannot be copied: copies compute on their own machine

    def sums(self, metric: FloatArray) -> PairSums:
        """Return the sums of all chunks at a K×K metric, or raise an error within minutes."""
        reason: Exception | None = None
        for _ in range(_ATTEMPTS):
            try:
                return add_sums(self._compute(metric))
            except GdaoptError:
                raise
            except Exception as error:  # tasks and samples are lost in many ways
                self._sent, reason = None, error
            if self._client is not None and self._client.status != "running":
                raise ClusterError(
                    f"the client of the cluster is {self._client.status}: its scheduler is closed "
                    "or out of reach; make a new client, and the objective with it"
                ) from reason
        raise ClusterError(
            f"the cluster lost its tasks {_ATTEMPTS} times: {shortened(reason)}; are its workers "
            "killed, for want of memory?"
        ) from reason

    def _compute(self, metric: FloatArray) -> list[PairSums]:
        if self._sent is None:
            self._sent = self._loss, self._chunks
            if self._client is not None:
                options = {"hash": False, "direct": False, "broadcast": True, "timeout": _LOST}
                self._sent = self._client.scatter(self._sent, **options)
        futures = [
            self._executor.submit(_task, self._sent, place, metric)
            for place in range(len(self._chunks))
        ]
        pending, last = set(futures), time.monotonic()
        try:
            while pending:
                check_time()
                ended, pending = wait(pending, timeout=_POLL, return_when=FIRST_COMPLETED)
                for future in ended:
                    last = time.monotonic()
                    future.result()  # raises the error of a task that failed
                if time.monotonic() - last > _PATIENCE:
                    raise ClusterError(
                        f"no task of the cluster ended in {_PATIENCE:g} s; does it have workers?"
                    )
        finally:
            for future in pending:
                future.cancel()
        return [future.result() for future in futures]


def _task(sent: tuple[DistanceLoss, Sequence[Pairs]], place: int, metric: FloatArray) -> PairSums:
    loss, chunks = sent
    return chunk_sums(loss, chunks[place], metric)
