"""Worker processes: each can be killed at a limit, and this process survives the end of one.

`WorkerProcess` computes calls one after the other; the thread that started it waits for each.
`ProcessExecutor` has several, a thread for each of them.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Lock, RLock, Thread, local
from typing import Any, TypeVar

ValueT = TypeVar("ValueT")

_PR_SET_PDEATHSIG = 1  # of Linux's prctl
_GRACE = 5.0  # seconds for a process to end in order

# Whoever starts a process looks after all children that have ended: two threads that look at the
# same time can take an exit code away from each other. A worker that nobody needs any more may be
# killed at any moment, also within such a block.
_children = RLock()


class WorkerEndedError(Exception):
    """A worker process has ended during a call: it died, or was killed at the limit (`is_late`)."""

    def __init__(self, message: str, is_late: bool = False) -> None:
        super().__init__(message)
        self.is_late = is_late


class WorkerProcess:
    """A process that computes calls one after the other for the thread that made it.

    `prepare` is called first there. loky's context does not import ``__main__``, so that scripts
    need no guard.
    """

    def __init__(self, context: Any, prepare: Callable[[], object] | None = None) -> None:
        from multiprocessing.util import Finalize

        self._owner = os.getpid()
        self._pipe, its_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(self._owner, its_end, prepare))
        with _children, without_interrupts():
            self._process.start()
        its_end.close()
        # A process of multiprocessing waits at its end for its children, after such calls.
        self.kill = Finalize(self, _kill, args=(self._process,), exitpriority=0)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return int(self._process.pid)

    @property
    def is_usable(self) -> bool:
        """Whether calls can be made: not by a fork of this process, nor when the worker ended."""
        return self._owner == os.getpid() and self.kill.still_active() and self._process.is_alive()

    def call(
        self, function: Callable[..., ValueT], *arguments: Any, time_limit: float | None = None
    ) -> ValueT:
        """Call a function of a module in the process; its end is a `WorkerEndedError`."""
        # Pickle copies arrays here, to where arrays lie: at other addresses products have other
        # last bits.
        content = pickle.dumps((function, arguments))
        start = time.perf_counter()
        try:
            with suppress(ConnectionError):  # it died; its exit code, read below, says more
                self._pipe.send_bytes(content)
            # Passing the arguments has taken time, too, and for large ones seconds.
            left = None if time_limit is None else time_limit - (time.perf_counter() - start)
            if not _wait_for(self._pipe, None if left is None else max(left, 0.0)):
                self.kill()
                raise WorkerEndedError(f"killed after {time_limit:.4g} s", is_late=True)
            succeeded, found = pickle.loads(self._pipe.recv_bytes())
        except (EOFError, ConnectionError):
            raise WorkerEndedError(self._how_it_died()) from None
        except BaseException:  # after an interrupt, nobody waits for the answer
            self.kill()
            raise
        if not succeeded:
            raise found
        value: ValueT = found
        return value

    def end(self) -> None:
        """End the process in order, within seconds: it may wait for processes of its own."""
        self._pipe.close()
        _wait_for(self._process.sentinel, _GRACE)
        self.kill()

    def _how_it_died(self) -> str:
        # The pipe closes a little before the process has ended.
        _wait_for(self._process.sentinel, _GRACE)
        self.kill()
        return _how(self._process.exitcode or 0)


class ProcessExecutor(ThreadPoolExecutor):
    """An executor that computes calls in processes, each in a new one unless `lasting`."""

    def __init__(
        self,
        jobs: int,
        *,
        time_limit: float | None = None,
        lasting: bool = False,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(jobs)
        self._time_limit, self._lasting, self._prepare = time_limit, lasting, prepare
        self._mine = local()
        self._at_work: set[WorkerProcess] = set()
        self._changing = Lock()
        self._is_over = False

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function of a module called in a process; see `WorkerProcess.call`."""
        return super().submit(self._compute, function, *args, **kwargs)

    def _compute(self, function: Callable[..., Any], *args: Any) -> Any:
        from multiprocessing import get_context

        worker: WorkerProcess | None = getattr(self._mine, "worker", None)
        with self._changing:
            if self._is_over:
                raise WorkerEndedError("it was not begun")
            if worker is None or not worker.is_usable:
                # A fork would begin with our memory.
                worker = self._mine.worker = WorkerProcess(get_context("spawn"), self._prepare)
                self._at_work.add(worker)
        try:
            return worker.call(function, *args, time_limit=self._time_limit)
        finally:
            if not self._lasting or not worker.is_usable:
                worker.end()
                self._at_work.discard(worker)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        with self._changing:
            self._is_over = True
            for worker in tuple(self._at_work):  # others may end meanwhile
                worker.kill()
        self.shutdown(cancel_futures=True)


def _wait_for(handle: Any, seconds: float | None) -> bool:
    from multiprocessing import connection  # on demand, as below: importing gdaopt needs no process

    return bool(connection.wait([handle], seconds))


def _kill(process: Any) -> None:
    with _children:
        if process.is_alive():
            if sys.platform == "win32":
                process.terminate()
            else:  # not `process.kill`, which loky's processes lack
                os.kill(process.pid, signal.SIGKILL)
        process.join()


def _serve(parent: int, pipe: Any, prepare: Callable[[], object] | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with(parent)
    if prepare is not None:
        prepare()
    with suppress(EOFError, ConnectionError):
        while True:
            pipe.send_bytes(_answer(pipe.recv_bytes()))


def _answer(content: bytes) -> bytes:
    """Return the pickled result of a call, or its error: as RuntimeError where it has to be."""
    try:
        function, arguments = pickle.loads(content)
        return pickle.dumps((True, function(*arguments)))
    except BaseException as error:
        if isinstance(error, Exception):
            with suppress(Exception):  # it cannot be pickled, or not be read again
                found = _pickled_error(error, error)
                pickle.loads(found)
                return found
        return _pickled_error(RuntimeError(f"{type(error).__name__}: {error}"), error)


def _pickled_error(told: Exception, error: BaseException) -> bytes:
    from multiprocessing.pool import ExceptionWithTraceback  # type: ignore[attr-defined]

    return pickle.dumps((False, ExceptionWithTraceback(told, error.__traceback__)))


def _end_with(parent: int) -> None:
    """Have this process ended when the thread that started it, or its process, has ended."""
    from multiprocessing import parent_process

    if sys.platform == "linux":
        # The kernel kills us also while a solver holds the interpreter's lock, so that no thread
        # of ours runs.
        with suppress(OSError, AttributeError):  # a libc without prctl: there is the thread below
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)

    def watch() -> None:
        if sys.platform == "win32":  # where an orphan keeps the number of its parent
            parent_process().join()
        else:
            while os.getppid() == parent:
                time.sleep(0.5)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _how(exit_code: int) -> str:
    if exit_code >= 0:
        return f"its process ended with exit code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:  # a real-time signal
        name = f"signal {-exit_code}"
    hint = ", as happens when memory runs out" if name == "SIGKILL" else ""
    return f"its process was killed by {name}{hint}"


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Block interrupts: a process started meanwhile inherits the block until it ignores them."""
    if sys.platform == "win32":
        yield
        return
    from multiprocessing import resource_tracker

    # Started together with the first process, the tracker would end the block of interrupts.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def peak_memory() -> int:
    """Return the largest memory of this process so far, in bytes."""
    if sys.platform == "win32":
        import psutil  # on demand: importing gdaopt does not need it

        return int(psutil.Process().memory_info().peak_wset)
    import resource  # not on Windows

    # On Linux a process inherits ru_maxrss from its parent, so that it may be too large.
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
