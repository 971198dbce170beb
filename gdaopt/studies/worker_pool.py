"""Many short cells by the same workers: processes of this machine, or a Dask cluster.

Rows come back to the runner's process, which writes each as it arrives: workers need not share the
directory, and whatever is killed, only what was under way is lost.
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import socket
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Future
from concurrent.futures import Executor as Futures
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeAlias

import gdaopt
from gdaopt.errors import GdaoptError, InvalidInputError, unknown_name
from gdaopt.processes import begin_worker, die_with, without_interrupts
from gdaopt.studies.runner import PASSING, Cell
from gdaopt.studies.study_directory import StudyDirectory
from gdaopt.validation import integer

__all__ = ["BACKENDS", "ONE_THREAD", "WorkerPool"]

BACKENDS = ("loky", "dask")
"""Kinds of workers: joblib's processes of this machine, and those of Dask."""

_PATIENCE = 5.0  # seconds to reach a scheduler, and again for a worker of it
_DASK_QUEUE = 1000  # cells handed out at a time, for the workers of any cluster

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
"""Environment for one BLAS thread. It is read when a library is loaded, which a cell may do after
`_compute` has set its limit."""

# Errors of loky and of Dask, by name: neither has to be loaded for the other.
_LOST = {"TerminatedWorkerError", "KilledWorker"}
_KILLED = "its process was killed, as happens when memory runs out"

_Outcome: TypeAlias = "Future[dict[str, Any] | str]"


@dataclass(frozen=True)
class WorkerPool:
    """An `gdaopt.studies.runner.Executor` whose workers compute one cell after the other.

    For cells of seconds or less. Each runs with one BLAS thread in a worker, also where there is
    only one, so that its numbers do not depend on the number of jobs, nor on the backend, and its
    crash is not the runner's. A function of such a cell writes no files: a worker on another
    machine has no use for its path. Cells that may hang, or whose memory is measured, belong in
    `gdaopt.studies.process_per_cell.ProcessPerCell`.

    A cell whose worker was killed is tried again when all others are done, alone. When its worker
    is killed again, its row has the status ``died``.

    Attributes
    ----------
    jobs : int
        How many workers to start.
    backend : {"loky", "dask"}
        Processes of joblib, or of Dask, which is an extra: ``pip install "gdaopt[dask]"``.
    scheduler : str or None
        For Dask, the address of a cluster, as ``tcp://host:port``, whose workers are used instead
        of new ones. They need the same gdaopt, and a single thread each (``--nthreads 1``).

    Raises
    ------
    InvalidInputError
        For bad attributes, and where Dask is not installed.

    Examples
    --------
    >>> WorkerPool(jobs=2, backend="loki")
    Traceback (most recent call last):
    gdaopt.errors.InvalidInputError: unknown backend 'loki'; did you mean 'loky'? Known: dask, loky
    """

    jobs: int = 1
    backend: str = "loky"
    scheduler: str | None = None

    def __post_init__(self) -> None:
        integer("jobs", self.jobs, at_least=1)
        if self.backend not in BACKENDS:
            raise unknown_name("backend", self.backend, BACKENDS)
        if self.backend == "dask":
            try:
                importlib.import_module("distributed")
            except ImportError as error:
                raise InvalidInputError(
                    'backend "dask" needs Dask, which is not installed: pip install "gdaopt[dask]"'
                ) from error
        elif self.scheduler is not None:
            raise InvalidInputError(
                f'scheduler is of backend "dask", got backend {self.backend!r} with scheduler '
                f"{self.scheduler!r}"
            )

    def run(
        self, directory: StudyDirectory, cells: Mapping[str, Cell], _begun: Callable[[str], object]
    ) -> Generator[tuple[str, dict[str, Any]], None, None]:
        """Yield the key and the row of each cell as it ends.

        See `gdaopt.studies.runner.Executor`; `_begun` is not called: which cells a worker has begun
        is not known here.

        Raises
        ------
        GdaoptError
            When the scheduler cannot be reached, or has no fit workers.
        """
        calls = {key: (directory.stem(key), cell) for key, cell in cells.items()}
        # More than workers, which so go on while a row is written; but when processes of joblib
        # break, all that they were given are suspects.
        together = 2 * self.jobs if self.backend == "loky" else _DASK_QUEUE
        suspects: list[str] = []
        for keys, at_a_time, jobs in ((calls, together, self.jobs), (suspects, 1, 1)):
            with closing(self._outcomes(calls, keys, at_a_time, jobs)) as outcomes:
                for key, future in outcomes:
                    if not _is_lost(future):
                        yield key, _kept(directory, key, cells[key], future)
                    elif keys is suspects:
                        yield key, cells[key].died(_KILLED)
                    else:
                        suspects.append(key)

    def _outcomes(
        self, calls: Mapping[str, tuple[Path, Cell]], keys: Iterable[str], at_a_time: int, jobs: int
    ) -> Generator[tuple[str, _Outcome], None, None]:
        """Yield cells as they end, whichever way, and start new workers when these have broken.

        They break under a cell at least, which is not run again here: this ends.
        """
        version, waiting = _version(), deque(keys)
        while waiting:
            is_loky = self.backend == "loky"
            with _loky(jobs) if is_loky else _dask(jobs, self.scheduler) as workers:
                ended: SimpleQueue[_Outcome] = SimpleQueue()
                under_way: dict[_Outcome, str] = {}
                is_broken = False
                while under_way or (waiting and not is_broken):
                    while waiting and not is_broken and len(under_way) < at_a_time:
                        path, cell = calls[waiting[0]]
                        # Dask would hand arrays over where they lie in a message, at addresses that
                        # change from run to run, and the last bits of their products with these.
                        pickled = pickle.dumps(cell)
                        try:
                            with without_interrupts():  # the first call starts the processes
                                future = workers.submit(_compute, version, path, pickled)
                        except BrokenExecutor:
                            is_broken = True
                        else:
                            under_way[future] = waiting.popleft()
                            future.add_done_callback(ended.put)
                    if under_way:
                        future = ended.get()
                        is_broken |= isinstance(_error(future), BrokenExecutor)
                        yield under_way.pop(future), future


@contextmanager
def _loky(jobs: int) -> Iterator[Futures]:
    """Start worker processes, of which the first call's thread is the parent."""
    from joblib.externals.loky import ProcessPoolExecutor

    pool = ProcessPoolExecutor(
        max_workers=jobs, initializer=_begin, initargs=(os.getpid(),), env=ONE_THREAD
    )
    try:
        yield pool
    finally:
        pool.shutdown(kill_workers=True)


def _begin(parent: int) -> None:
    """Begin a worker process of ours."""
    begin_worker(parent)
    die_with(parent)


@contextmanager
def _dask(jobs: int, scheduler: str | None) -> Iterator[Futures]:
    """Connect to a cluster, or start one."""
    import dask
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        if scheduler is not None:
            client = stack.enter_context(_connected(scheduler))
        else:
            # Daemons could not have children, such as an isolated solver's process.
            stack.enter_context(dask.config.set({"distributed.worker.daemon": False}))
            with without_interrupts():
                cluster = LocalCluster(
                    n_workers=jobs,
                    threads_per_worker=1,
                    memory_limit=0,  # as without Dask; it would stop workers at a part of it
                    dashboard_address="127.0.0.1:0",  # a port that is free
                    silence_logs=logging.CRITICAL,  # what died is in the rows
                    scheduler_kwargs={"allowed_failures": 0},  # we try again ourselves
                    env=ONE_THREAD,
                )
            stack.enter_context(cluster)
            client = stack.enter_context(Client(cluster, set_as_default=False))
        futures = client.get_executor(pure=False)
        stack.callback(futures.shutdown, wait=False)
        yield futures


@contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    """Connect to a cluster that has workers."""
    from distributed import Client
    from distributed.comm.addressing import get_address_host_port

    with ExitStack() as stack:
        try:
            # Asked first, as a client that has failed lingers and complains.
            address = get_address_host_port(scheduler)
            socket.create_connection(address, timeout=_PATIENCE).close()
            client = stack.enter_context(Client(scheduler, timeout=_PATIENCE, set_as_default=False))
        except Exception as error:  # of whatever kind, when something else answers there
            raise InvalidInputError(
                f"cannot reach a Dask scheduler at {scheduler!r} ({error}); start one by "
                "`dask scheduler`"
            ) from error
        start = f"start some by `dask worker {scheduler} --nthreads 1`"
        try:
            client.submit(_version, pure=False).result(timeout=_PATIENCE)
        except TimeoutError as error:
            raise GdaoptError(
                f"the Dask scheduler at {scheduler} gave no worker within {_PATIENCE:g} s; {start}"
            ) from error
        except Exception as error:
            raise _cannot_run(error) from error
        if max(client.nthreads().values()) > 1:  # one's end would lift the BLAS limit of another
            raise GdaoptError(f"the Dask workers at {scheduler} have several threads; {start}")
        yield client


def _version() -> str:
    """Return the version of gdaopt, also to see whether a worker has it."""
    return gdaopt.__version__


def _compute(version: str, path: Path, pickled: bytes) -> dict[str, Any] | str:
    """Return the row of a cell, or what it died of: what a worker does."""
    from threadpoolctl import threadpool_limits

    if version != _version():
        raise GdaoptError(f"gdaopt is {_version()} there and {version} here")
    try:
        cell: Cell = pickle.loads(pickled)
        with threadpool_limits(1):
            return cell.compute(path)
    except PASSING as error:
        return f"{type(error).__name__}: {error}"
    except SystemExit as error:  # which the worker would hand to us
        return f"its process ended with exit code {error.code}"


def _kept(directory: StudyDirectory, key: str, cell: Cell, future: _Outcome) -> dict[str, Any]:
    """Write the row that a worker has returned, unless its cell has died, and return it."""
    try:
        row = future.result()
    except Exception as error:  # of the workers: `_compute` returns those of cells
        raise _cannot_run(error) from error
    if isinstance(row, str):
        return cell.died(row)
    try:
        directory.write_row(key, row)
    except PASSING as error:
        return cell.died(f"{type(error).__name__}: {error}")
    return row


def _cannot_run(error: BaseException) -> GdaoptError:
    """Return the error for workers that run no cell at all."""
    lost = isinstance(error, CancelledError)
    said = "Dask's scheduler was lost" if lost else f"{type(error).__name__}: {error}"
    return GdaoptError(f"the workers cannot run cells: {said}; rows that are finished are kept")


def _error(future: Future[Any]) -> BaseException | None:
    """Return the error of a future that is done, also of a cancelled one."""
    return CancelledError() if future.cancelled() else future.exception()


def _is_lost(future: Future[Any]) -> bool:
    """Say whether a worker was killed while it had the cell."""
    return type(_error(future)).__name__ in _LOST
