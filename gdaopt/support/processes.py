"""Worker processes: each can be killed at a limit, and this process survives the end of one.

`WorkerProcess` computes calls one after the other; the thread that started it waits for each.
`ProcessExecutor` has several, a thread for each of them. Both keep a process for the calls to come,
and begin another one where it has ended. A worker is a new interpreter that imports what a call
needs and never runs the script of its parent, so that scripts need no guard of ``__main__``.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import TIMEOUT_MAX, Event, Lock, Thread, Timer, local
from typing import IO, Any, TypeVar
from weakref import WeakSet, finalize

ValueT = TypeVar("ValueT")

_BEGIN = (
    "import sys; sys.path[:] = sys.argv[1:]; from gdaopt.support.processes import serve; serve()"
)
_PR_SET_PDEATHSIG = 1  # an option of Linux's prctl
_GRACE = 5.0  # seconds for a process to end that has closed its pipe
_BROKEN = (EOFError, OSError, pickle.UnpicklingError)  # what a pipe raises whose other end died


class WorkerEndedError(Exception):
    """A worker process has ended during a call: it died, or was killed at the limit (`is_late`)."""

    def __init__(self, message: str, is_late: bool = False) -> None:
        super().__init__(message)
        self.is_late = is_late


class WorkerProcess:
    """A process that computes calls one after the other for the thread that made it.

    It has the working directory and the environment of this process, to which variables may be
    added. What it prints goes to standard error, or, where `is_silent`, nowhere. It ends with this
    object, with the thread that made it, and with this process.
    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, is_silent: bool = False
    ) -> None:
        self._owner = os.getpid()
        with _without_interrupts() as options:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _BEGIN, *map(str, sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if is_silent else None,
                env={**os.environ, **(environment or {})},
                **options,
            )
        self.kill = finalize(self, _kill, self._process, self._owner)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        """Whether calls can be made: not by a fork of this process, nor when the worker ended."""
        return self._owner == os.getpid() and self.kill.alive and self._process.poll() is None

    def call(
        self, function: Callable[..., ValueT], *arguments: Any, time_limit: float | None = None
    ) -> ValueT:
        """Call a function of a module in the process; its end is a `WorkerEndedError`."""
        # Pickle copies arrays here, to where arrays lie: at other addresses products have other
        # last bits.
        content = pickle.dumps((function, arguments))
        late = Event()
        try:
            with self._killing_after(time_limit, late):
                answer = self._exchange(content)
        except _BROKEN:
            how = f"killed after {time_limit:.4g} s" if late.is_set() else self._how_it_died()
            self.kill()
            raise WorkerEndedError(how, late.is_set()) from None
        except BaseException:  # after an interrupt, nobody waits for the answer
            self.kill()
            raise
        succeeded, value = pickle.loads(answer)
        if not succeeded:
            raise value
        result: ValueT = value
        return result

    @contextmanager
    def _killing_after(self, seconds: float | None, late: Event) -> Iterator[None]:
        """Kill the process if a block takes longer, in which reading from it then ends."""
        if seconds is None:
            yield
            return

        def ring() -> None:
            late.set()
            self._process.kill()

        alarm = Timer(min(seconds, TIMEOUT_MAX), ring)
        alarm.daemon = True  # a thread that an interrupt leaves behind delays no exit
        alarm.start()
        try:
            yield
        finally:
            alarm.cancel()

    def _exchange(self, content: bytes) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(ConnectionError):  # it died; its exit code, read later, says more
            _send(self._process.stdin, content)
        answer: bytes = pickle.load(self._process.stdout)
        return answer

    def _how_it_died(self) -> str:
        # The pipe closes a little before the process has ended.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        self.kill()
        exit_code = self._process.returncode
        if exit_code >= 0:
            return f"its process ended with exit code {exit_code}"
        try:
            name = signal.Signals(-exit_code).name
        except ValueError:  # a real-time signal
            name = f"signal {-exit_code}"
        hint = ", as happens when memory runs out" if name == "SIGKILL" else ""
        return f"its process was killed by {name}{hint}"


class ProcessExecutor(ThreadPoolExecutor):
    """An executor that computes calls in processes; a call that takes longer than a limit ends one.

    Its ``with`` block kills them at its end, whatever they do.
    """

    def __init__(
        self,
        jobs: int,
        *,
        time_limit: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(jobs)
        self._time_limit, self._environment = time_limit, environment
        self._of_thread = local()
        self._workers: WeakSet[WorkerProcess] = WeakSet()
        self._changing = Lock()
        self._is_over = False

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function of a module called in a process; see `WorkerProcess.call`."""
        return super().submit(self._compute, function, *args, **kwargs)

    def _compute(self, function: Callable[..., Any], *args: Any) -> Any:
        worker: WorkerProcess | None = getattr(self._of_thread, "worker", None)
        with self._changing:
            if self._is_over:
                raise WorkerEndedError("it was not begun")
            if worker is None or not worker.is_usable:
                worker = self._of_thread.worker = WorkerProcess(self._environment)
                self._workers.add(worker)
        return worker.call(function, *args, time_limit=self._time_limit)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        with self._changing:
            self._is_over = True
            for worker in tuple(self._workers):
                worker.kill()
        self.shutdown(cancel_futures=True)


def _send(pipe: IO[bytes], content: bytes) -> None:
    pickle.dump(content, pipe)  # bytes as one object: they say where they end
    pipe.flush()


def _kill(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() != owner:  # a fork, whose copy of the object ends here
        return
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            pipe.close()  # type: ignore[union-attr]  # there are both


@contextmanager
def _without_interrupts() -> Iterator[dict[str, Any]]:
    """Have processes that are started here not notice Ctrl-C; yields options to start them with."""
    if sys.platform == "win32":
        yield {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        return
    # A new process inherits what is blocked. A group of its own would not stop at Ctrl-Z either.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield {}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def serve() -> None:
    """Answer calls from standard input: what a worker process runs."""
    if sys.platform == "linux":
        # The kernel kills us also while a solver holds the interpreter's lock, so that no thread
        # of ours runs.
        with suppress(OSError, AttributeError):  # a libc without prctl: there is the thread below
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    # The pipes are ours alone: what calls print, or start, gets others.
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    queue: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        try:
            while True:
                queue.put(pickle.load(questions))
        finally:  # our parent has ended
            os._exit(1)

    Thread(target=read, daemon=True).start()
    while True:
        _send(answers, _answer(queue.get()))


def _answer(content: bytes) -> bytes:
    """Return the pickled result of a call, or its error: as RuntimeError if it has to be."""
    try:
        function, arguments = pickle.loads(content)
        return pickle.dumps((True, function(*arguments)))
    except BaseException as error:
        if isinstance(error, Exception):
            with suppress(Exception):  # it cannot be pickled, or not be read again
                answer = _pickled_error(error, error)
                pickle.loads(answer)
                return answer
        return _pickled_error(RuntimeError(f"{type(error).__name__}: {error}"), error)


def _pickled_error(told: Exception, error: BaseException) -> bytes:
    from multiprocessing.pool import ExceptionWithTraceback  # type: ignore[attr-defined]

    return pickle.dumps((False, ExceptionWithTraceback(told, error.__traceback__)))


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


def forget_peak_memory() -> None:
    """Have `peak_memory` count from now on, which Linux alone can."""
    with suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
