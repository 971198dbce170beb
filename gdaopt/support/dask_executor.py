"""The workers of a Dask cluster as an executor of the standard library.

Dask has one, too, but where a worker dies with results that were not fetched yet, its futures may
get no outcome at all, or the wrong one.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class DaskExecutor(Executor):
    """Computes calls by a `distributed.Client`; what a dead worker had is computed again."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand a call to the cluster, and return its outcome to come."""
        computed = self._client.submit(fn, *args, **kwargs, pure=False)
        outcome: Future[Any] = Future()
        outcome.add_done_callback(lambda done: computed.cancel() if done.cancelled() else None)
        self._client.loop.add_callback(_pass_on, computed, outcome)
        return outcome


async def _pass_on(computed: Any, outcome: Future[Any]) -> None:
    """Wait for a future of Dask, and give its result or error to one of the standard library."""
    try:
        result, error = await computed, None
    except Exception as raised:
        result, error = None, raised
    if not outcome.set_running_or_notify_cancel():
        return
    if error is None:
        outcome.set_result(result)
    else:
        outcome.set_exception(error)
