"""Many short tasks by the same workers: processes of this machine, or a Dask cluster.

A row and the task's other files come back to the runner's process, which writes them as they
arrive. So workers need not share a file system with it, and when a process is killed, only the
tasks under way are lost.
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import socket
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Future
from concurrent.futures import Executor as Futures
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from operator import methodcaller
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from gdaopt.errors import GdaoptError, InvalidInputError
from gdaopt.studies.runner import PASSING, Task
from gdaopt.studies.study_directory import StudyDirectory
from gdaopt.support.files import is_temporary, write_atomically
from gdaopt.support.text import shortened
from gdaopt.support.validation import check_name, store_integer
from gdaopt.support.workers import begin_worker, die_with, without_interrupts

__all__ = ["BACKENDS", "ONE_THREAD", "WorkerPool"]

BACKENDS = ("loky", "dask")
"""Kinds of workers: joblib's processes of this machine, and workers of Dask."""

_PATIENCE = 5.0  # seconds to reach a scheduler
_FIRST_ANSWER = 30.0  # seconds to reach one of its workers, which has to import gdaopt
_WITHOUT_WORKERS = 60.0  # seconds without any answer, after which we look whether a worker is left
_MOST_WAITS = 5  # of these, for the first answer of new workers
_DASK_QUEUE = 1000  # tasks handed out at a time, for the workers of any cluster

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
"""The environment variables that give BLAS one thread. A BLAS library reads them when it is loaded,
which a task may do after `_compute` has set the limit of the libraries loaded before."""

# The errors of loky and of Dask for a lost worker, by name: neither package has to be imported.
_LOST = {"TerminatedWorkerError", "KilledWorker"}
_KILLED = "its process was killed, as happens when memory runs out"

_Answer: TypeAlias = "tuple[dict[str, Any], dict[str, bytes]] | str"
"""What a worker returns: the row and the other files by name, or what the task died of."""

_Outcome: TypeAlias = "Future[_Answer]"


@dataclass(frozen=True)
class WorkerPool:
    """An `gdaopt.studies.runner.Executor` whose workers compute one task after the other.

    It is meant for tasks of seconds or less. Each task runs with one BLAS thread in a worker, also
    where there is a single worker: so its numbers depend neither on the number of jobs nor on the
    backend, and its crash is not the runner's. Its path is in a temporary folder of the worker,
    from where its files are brought to the runner. Tasks that may hang, or whose memory is
    measured, belong in `gdaopt.studies.process_per_task.ProcessPerTask`.

    A task whose worker was killed is tried again, alone, when all other tasks are done. When its
    worker is killed again, its row has the status ``died``.

    Attributes
    ----------
    jobs : int
        How many workers to start.
    backend : {"loky", "dask"}
        Processes of joblib, or of Dask, which is an extra: ``pip install "gdaopt[dask]"``.
    scheduler : str or None
        For Dask, the address of a cluster, as ``tcp://host:port``, whose workers are used instead
        of new ones. They need the same gdaopt, the modules of the tasks' functions on their
        ``PYTHONPATH``, and a single thread each (``--nthreads 1``).

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
        store_integer(self, "jobs", at_least=1)
        if self.scheduler is not None and self.backend != "dask":
            raise InvalidInputError(
                f'a scheduler goes with backend "dask", got backend '
                f"{shortened(self.backend)} with scheduler {shortened(self.scheduler)}"
            )
        check_name("backend", self.backend, BACKENDS)
        if self.backend == "dask":
            try:
                importlib.import_module("distributed")
            except ImportError as error:
                raise InvalidInputError(
                    'backend "dask" needs Dask, which is not installed: pip install "gdaopt[dask]"'
                ) from error

    def run(
        self, directory: StudyDirectory, tasks: Mapping[str, Task], _begun: Callable[[str], object]
    ) -> Generator[tuple[str, dict[str, Any]], None, None]:
        """Yield the key and the row of each task as it ends.

        See `gdaopt.studies.runner.Executor`. `_begun` is not called: when a worker begins a task is
        not known here.

        Raises
        ------
        GdaoptError
            When the scheduler cannot be reached, or has no workers that can run the tasks.
        """
        # More tasks than workers, so that the workers go on while a row is written; but when
        # processes of joblib break, all the tasks that they were given are suspects.
        together = 2 * self.jobs if self.backend == "loky" else _DASK_QUEUE
        suspects: list[str] = []
        for keys, at_a_time, jobs in ((tasks, together, self.jobs), (suspects, 1, 1)):
            with closing(self._outcomes(tasks, keys, at_a_time, jobs)) as outcomes:
                for key, future in outcomes:
                    if not _is_lost(future):
                        yield key, _kept(directory, key, tasks[key], future)
                    elif keys is suspects:
                        yield key, tasks[key].died(_KILLED)
                    else:
                        suspects.append(key)

    def _outcomes(
        self, tasks: Mapping[str, Task], keys: Iterable[str], at_a_time: int, jobs: int
    ) -> Generator[tuple[str, _Outcome], None, None]:
        """Yield tasks as they end, whichever way, and start new workers when these have broken.

        Workers break under one task at least, which is not run again here; so this ends. Dask
        starts a worker again, but not one that dies while it starts: then none may be left.
        """
        version, waiting = _version(), deque(keys)
        while waiting:
            is_loky = self.backend == "loky"
            with _loky(jobs) if is_loky else _dask(jobs, self.scheduler) as (workers, n_workers):
                ended: SimpleQueue[_Outcome] = SimpleQueue()
                under_way: dict[_Outcome, str] = {}
                is_broken, n_ended, n_waits = False, 0, 0
                while under_way or (waiting and not is_broken):
                    while waiting and not is_broken and len(under_way) < at_a_time:
                        key = waiting[0]
                        # Dask would leave arrays where they lie in a message, at addresses that
                        # change from run to run, and with them the last bits of products.
                        pickled = pickle.dumps(tasks[key])
                        try:
                            with without_interrupts():  # the first call starts the processes
                                future = workers.submit(_compute, version, key, pickled)
                        except BrokenExecutor:
                            is_broken = True
                        else:
                            under_way[future] = waiting.popleft()
                            future.add_done_callback(ended.put)
                    if under_way:
                        try:
                            future = ended.get(timeout=_WITHOUT_WORKERS)
                        except Empty:
                            n_waits += 1
                            if n_workers() > 0 or (n_ended == 0 and n_waits < _MOST_WAITS):
                                continue
                            if n_ended == 0:
                                raise GdaoptError("no worker process of Dask starts") from None
                            waiting.extendleft(reversed(under_way.values()))
                            break
                        n_ended += 1
                        is_broken |= isinstance(_error(future), BrokenExecutor)
                        yield under_way.pop(future), future


_Workers: TypeAlias = "tuple[Futures, Callable[[], int]]"
"""Those that compute, and how many there are at the moment, as far as it is for us to know."""


@contextmanager
def _loky(jobs: int) -> Iterator[_Workers]:
    """Start worker processes, whose parent is the thread that makes the first call."""
    from joblib.externals.loky import ProcessPoolExecutor

    pool = ProcessPoolExecutor(
        max_workers=jobs, initializer=_begin, initargs=(os.getpid(),), env=ONE_THREAD
    )
    try:
        yield pool, lambda: jobs
    finally:
        pool.shutdown(kill_workers=True)


def _begin(parent: int) -> None:
    """Prepare a worker process that joblib has started for us."""
    begin_worker(parent)
    die_with(parent)


@contextmanager
def _dask(jobs: int, scheduler: str | None) -> Iterator[_Workers]:
    """Connect to a cluster, or start one."""
    import dask
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        if scheduler is not None:
            client = stack.enter_context(_connected(scheduler))

            def n_workers() -> int:
                return jobs  # other threads may add jobs at any time

        else:
            # Daemons could not have child processes, such as the process of an isolated solver.
            stack.enter_context(dask.config.set({"distributed.worker.daemon": False}))
            with without_interrupts():
                cluster = LocalCluster(
                    n_workers=jobs,
                    threads_per_worker=1,
                    memory_limit=0,  # no limit: Dask would pause workers that are below it
                    dashboard_address="127.0.0.1:0",  # a port that is free
                    silence_logs=logging.CRITICAL,  # the rows say which tasks died
                    scheduler_kwargs={"allowed_failures": 0},  # `run` tries them again itself
                    env=ONE_THREAD,
                )
            stack.enter_context(cluster)
            client = stack.enter_context(Client(cluster, set_as_default=False))
            own_scheduler = cluster.scheduler
            assert own_scheduler is not None  # the cluster has been started

            def n_workers() -> int:
                return len(own_scheduler.workers)

        futures = client.get_executor(pure=False)
        stack.callback(futures.shutdown, wait=False)
        yield futures, n_workers


@contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    """Connect to a cluster that has workers."""
    from distributed import Client
    from distributed.comm.addressing import get_address_host_port

    with ExitStack() as stack:
        try:
            # We try the address first, since a client that fails lingers and complains.
            address = get_address_host_port(scheduler)
            socket.create_connection(address, timeout=_PATIENCE).close()
            client = stack.enter_context(Client(scheduler, timeout=_PATIENCE, set_as_default=False))
        except Exception as error:  # of any kind, when something else answers at that address
            raise InvalidInputError(
                f"cannot reach a Dask scheduler at {scheduler!r} ({error}); start one by "
                "`dask scheduler`"
            ) from error
        start = f"start some by `dask worker {scheduler} --nthreads 1`"
        try:
            client.submit(_version, pure=False).result(timeout=_FIRST_ANSWER)
        except TimeoutError as error:
            raise GdaoptError(
                f"the Dask scheduler at {scheduler} gave no worker within {_FIRST_ANSWER:g} s; "
                f"{start}"
            ) from error
        except Exception as error:
            raise _cannot_run(error) from error
        if max(client.nthreads().values()) > 1:  # a task that ends would lift another's BLAS limit
            raise GdaoptError(f"the Dask workers at {scheduler} have several threads; {start}")
        yield client


def _version() -> str:
    """Return the version of gdaopt; run on a worker, it also shows that the worker has gdaopt."""
    return version("gdaopt")


def _compute(version: str, key: str, pickled: bytes) -> _Answer:
    """Compute a task: what a worker does."""
    from threadpoolctl import threadpool_limits

    if version != _version():
        raise GdaoptError(f"gdaopt is {_version()} there and {version} here")
    try:
        task: Task = pickle.loads(pickled)
        with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
            row = task.compute(Path(folder) / key)
            files = [file for file in Path(folder).iterdir() if not is_temporary(file.name)]
            return row, {file.name: file.read_bytes() for file in files}
    except PASSING as error:
        return f"{type(error).__name__}: {error}"
    except SystemExit as error:  # which the worker would hand to us
        return f"its process ended with exit code {error.code}"


def _kept(directory: StudyDirectory, key: str, task: Task, future: _Outcome) -> dict[str, Any]:
    """Write what a worker has returned, unless its task has died, and return the row."""
    try:
        answer = future.result()
    except Exception as error:  # an error of the workers: `_compute` returns the errors of tasks
        raise _cannot_run(error) from error
    if isinstance(answer, str):
        return task.died(answer)
    row, files = answer
    try:
        directory.clear(key)  # of an earlier try
        for name, content in files.items():
            write_atomically(directory.tasks / name, methodcaller("write", content))
        directory.write_row(key, row)
    except PASSING as error:
        return task.died(f"{type(error).__name__}: {error}")
    return row


def _cannot_run(error: BaseException) -> GdaoptError:
    """Return the error that says that the workers run no task at all."""
    lost = isinstance(error, CancelledError)
    said = "Dask's scheduler was lost" if lost else f"{type(error).__name__}: {error}"
    return GdaoptError(f"the workers cannot run tasks: {said}; rows that are finished are kept")


def _error(future: Future[Any]) -> BaseException | None:
    """Return the error of a future that is done, also where it was cancelled; None for none."""
    return CancelledError() if future.cancelled() else future.exception()


def _is_lost(future: Future[Any]) -> bool:
    """Say whether a worker was killed while it had the task."""
    return type(_error(future)).__name__ in _LOST
