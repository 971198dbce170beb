"""Where the tasks of a study are computed: processes of this machine, or a Dask cluster."""

from __future__ import annotations

import importlib
import socket
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from gdaopt.errors import GdaoptError, InvalidInputError
from gdaopt.support.dask_executor import DaskExecutor
from gdaopt.support.processes import ProcessExecutor
from gdaopt.support.validation import check_instance, integer, number, store_checked

_PATIENCE = 5.0  # seconds to reach a scheduler
_FIRST_ANSWER = 30.0  # seconds to reach one of its workers, which has to import gdaopt
_DASK_QUEUE = 1000  # tasks handed out at a time, for the workers of any cluster

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
"""The environment variables that give BLAS one thread, in a process that has not loaded it yet."""


@dataclass(frozen=True)
class TaskWorkers:
    """Where tasks are computed: by `jobs` processes, or, with a scheduler, by those of its cluster.

    A process computes one task after the other, and is killed if one takes longer than the
    `deadline`. Products of matrices take one thread there, as on a cluster, unless `threaded`.
    Workers of Dask need the same gdaopt, the modules of the tasks on their ``PYTHONPATH``, and a
    thread each.
    """

    jobs: int = 1
    scheduler: str | None = None
    deadline: float | None = None
    threaded: bool = False

    def __post_init__(self) -> None:
        store_checked(self, integer, "jobs", at_least=1)
        store_checked(self, number, "deadline", above=0)
        check_instance("threaded", self.threaded, bool)
        if self.scheduler is None:
            return
        check_instance("scheduler", self.scheduler, str)
        try:
            importlib.import_module("distributed")
        except ImportError as error:
            raise InvalidInputError(
                f"scheduler {self.scheduler} needs Dask, which is not installed: "
                'pip install "gdaopt[dask]"'
            ) from error

    @property
    def at_a_time(self) -> int:
        """How many tasks to hand out at a time."""
        return self.jobs if self.scheduler is None else _DASK_QUEUE

    @contextmanager
    def start(self, jobs: int) -> Iterator[Executor]:
        """Start so many workers, or connect to those of a cluster; a GdaoptError if it fails."""
        if self.scheduler is not None:
            with _connect(self.scheduler) as client:
                yield DaskExecutor(client)
        else:
            environment = None if self.threaded else ONE_THREAD
            with ProcessExecutor(
                jobs, time_limit=self.deadline, environment=environment
            ) as processes:
                yield processes


@contextmanager
def _connect(scheduler: str) -> Iterator[Any]:
    from distributed import Client
    from distributed.comm.addressing import get_address_host_port

    with ExitStack() as stack:
        try:
            # We try the address first, since a client that fails lingers and complains.
            address = get_address_host_port(scheduler)
            socket.create_connection(address, timeout=_PATIENCE).close()
            client = stack.enter_context(Client(scheduler, timeout=_PATIENCE, set_as_default=False))
        except Exception as error:  # any kind, if something else answers at that address
            raise InvalidInputError(
                f"cannot reach a Dask scheduler at {scheduler!r} ({error}); start one by "
                "`dask scheduler`"
            ) from error
        start = f"start some by `dask worker {scheduler} --nthreads 1`"
        try:
            client.submit(gdaopt_version, pure=False).result(timeout=_FIRST_ANSWER)
        except TimeoutError as error:
            raise GdaoptError(
                f"the Dask scheduler at {scheduler} gave no worker within {_FIRST_ANSWER:g} s; "
                f"{start}"
            ) from error
        except Exception as error:
            raise cannot_run(error) from error
        if max(client.nthreads().values()) > 1:  # a task that ends would lift another's BLAS limit
            raise GdaoptError(f"the Dask workers at {scheduler} have several threads; {start}")
        yield client


def gdaopt_version() -> str:
    """Return the version of gdaopt; run on a worker, it also shows that the worker has gdaopt."""
    return version("gdaopt")


def cannot_run(error: BaseException) -> GdaoptError:
    """Return the error that says that the workers run no task at all."""
    lost = isinstance(error, CancelledError)
    said = "Dask's scheduler was lost" if lost else f"{type(error).__name__}: {error}"
    return GdaoptError(f"the workers cannot run tasks: {said}; rows that are finished are kept")
