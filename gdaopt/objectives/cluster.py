"""Sums over many pairs on the machines of a Dask cluster.

The pairs are sent to the workers once. A pass is then a task for each chunk: a K×K metric goes
there, and a K×K matrix with a few numbers for each feature comes back. The chunks are the
same as on one machine and are added up in the same order, so that the numbers are the same.

Dask moves the tasks of a worker that is gone to another one. Where the pairs are gone with it, they
are sent again. A cluster that no longer answers ends in an error rather than in a wait: a task that
takes minutes is none of ours.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from gdaopt.errors import ClusterError, InvalidInputError
from gdaopt.objectives.pair_loss import DistanceLoss, loss_sums
from gdaopt.objectives.pairs import Pairs
from gdaopt.objectives.pairs.passes import PairSums
from gdaopt.support.deadline import check_time
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray

__all__ = ["Cluster"]

_ATTEMPTS = 3  # to have a pass done, after each of which the pairs are sent again
_PATIENCE = 120.0  # seconds in which no task ends
_LOST = 10.0  # seconds in which a client has no connection
_POLL = 0.05  # seconds between looks at the clock


class Cluster:
    """The chunks of some pairs, which share their samples, on the workers of a cluster."""

    def __init__(self, client: Any, loss: DistanceLoss, chunks: Sequence[Pairs]) -> None:
        if not all(hasattr(client, name) for name in ("scatter", "submit", "cancel", "status")):
            raise InvalidInputError(
                f"client must be a distributed.Client, got {shortened(client)}; make one by "
                "distributed.Client(address), or leave it out to compute on this machine"
            )
        self._client = client
        self._loss = loss
        self._chunks = chunks
        self._sum_of_samples = _check_sum(chunks)
        self._sent: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()  # a client cannot be copied: copies compute on their own machine

    def sums(self, metric: FloatArray) -> PairSums:
        """Return the sums of all chunks at a K×K metric.

        Raises
        ------
        TimeLimitError
            When the time is up (see `gdaopt.support.deadline`).
        ClusterError
            When the cluster no longer answers, or a worker has other samples.
        """
        reason: BaseException | None = None
        for _ in range(_ATTEMPTS):
            self._check_connection(0.0)
            try:
                return PairSums.added(self._computed(metric))
            except _LostError as error:
                self._sent, reason = None, error.__cause__
        raise ClusterError(
            f"the cluster lost its tasks {_ATTEMPTS} times: {shortened(reason)}; are its workers "
            "killed, for want of memory?"
        ) from reason

    def _computed(self, metric: FloatArray) -> list[PairSums]:
        """Return the sums of each chunk."""
        if self._sent is None:
            self._sent = self._lost_if_raised(
                lambda: self._client.scatter(
                    (self._loss, self._chunks),
                    hash=False,
                    direct=False,
                    broadcast=True,
                    timeout=_LOST,
                )
            )
        futures = self._lost_if_raised(
            lambda: [
                self._client.submit(_task, self._sent, place, metric, pure=False)
                for place in range(len(self._chunks))
            ]
        )
        try:
            self._wait(futures)
            # All tasks have ended; a result may be lost with its worker.
            found = self._lost_if_raised(
                lambda: [future.result(timeout=_LOST) for future in futures]
            )
        except BaseException:
            if self._is_connected:
                self._client.cancel(futures)
            raise
        if any(check_sum != self._sum_of_samples for _, check_sum in found):
            raise ClusterError(
                "a worker of the cluster has other samples than those it was sent; restart the "
                "cluster, and make a new objective"
            )
        return [sums for sums, _ in found]

    def _wait(self, futures: Sequence[Any]) -> None:
        """Wait until all tasks have ended, as long as there is time and they go on."""
        last, n_ended = time.monotonic(), -1
        connected = last
        while True:
            check_time()
            now = time.monotonic()
            statuses = [future.status for future in futures]
            ended = sum(status == "finished" for status in statuses)
            if ended == len(futures):
                return
            if ended > n_ended:
                last, n_ended = now, ended
            if any(status in ("error", "cancelled", "lost") for status in statuses):
                failed = next(future for future in futures if future.status != "finished")
                self._check_connection(0.0)
                raise _LostError from _reason(failed)
            connected = now if self._is_connected else connected
            self._check_connection(_LOST - (now - connected))
            if now - last > _PATIENCE:
                raise ClusterError(
                    f"no task of the cluster ended in {_PATIENCE:g} s; does it have workers?"
                )
            time.sleep(_POLL)

    @property
    def _is_connected(self) -> bool:
        return bool(self._client.status == "running")

    def _check_connection(self, left: float) -> None:
        """Raise `ClusterError` where there is no connection, and no time left to wait for one."""
        if not self._is_connected and left <= 0:
            raise ClusterError(
                f"the client of the cluster is {self._client.status}: its scheduler is closed or "
                "out of reach; make a new client, and the objective with it"
            )

    def _lost_if_raised(self, call: Callable[[], Any]) -> Any:
        """Return the result of a call of the client; an error in it means that tasks are lost."""
        try:
            return call()
        except Exception as error:
            self._check_connection(0.0)
            raise _LostError from error


class _LostError(Exception):
    """Tasks or samples are gone with a worker."""


def _reason(future: Any) -> BaseException | None:
    """Return why a task failed, as far as the scheduler knows."""
    if future.status != "error":
        return None
    error = future.exception(timeout=_LOST)
    return error if isinstance(error, BaseException) else None


def _check_sum(chunks: Sequence[Pairs]) -> int:
    return zlib.crc32(chunks[0].features.tobytes())


def _task(
    sent: tuple[DistanceLoss, Sequence[Pairs]], place: int, metric: FloatArray
) -> tuple[PairSums, int]:
    """Return the sums of one chunk, and the check sum of the samples they are of."""
    loss, chunks = sent
    sums = loss_sums(loss, chunks[place], chunks[place].transformed(metric))
    return sums, _check_sum(chunks)
