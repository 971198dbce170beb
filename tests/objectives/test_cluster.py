"""The regulariser with its pairs on a Dask cluster: the same numbers, and no endless wait."""

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.objectives import cluster as cluster_module
from gdaopt.objectives.glr import Exponentials
from gdaopt.support.deadline import Deadline, until
from gdaopt.support.processes import ProcessExecutor
from tests.objectives.cases import within

distributed = pytest.importorskip("distributed")

rng = np.random.default_rng(3)
X = rng.standard_normal((300, 5))
Z = np.eye(3)[rng.integers(0, 3, 300)]
M = np.eye(5) / 2


@pytest.fixture(autouse=True)
def many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gdaopt.objectives.pairs.pairs._CHUNK", 2**11)


def started(processes: bool = False) -> Any:
    options = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50, "threads_per_worker": 1}
    return distributed.LocalCluster(n_workers=2, processes=processes, **options)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with started() as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.mark.parametrize("make", [gda.GLR, gda.MCML, gda.NCA, gda.LogisticPairs, gda.LMNN])
def test_the_numbers_are_those_of_one_machine(make: Any, client: Any) -> None:
    labels = Z if make is gda.GLR else np.arange(len(X)) % 3
    on_cluster = make(X, labels).distributed(client)
    there, here = on_cluster.at(M), within(1, lambda: make(X, labels)).at(M)
    assert len(on_cluster._chunks) > 2 or make is not gda.GLR
    assert there.value == pytest.approx(here.value, rel=1e-10)
    scale = np.abs(here.gradient()).max()
    np.testing.assert_allclose(there.gradient(), here.gradient(), atol=1e-10 * scale)
    np.testing.assert_allclose(there.round_off().gradient, here.round_off().gradient, rtol=1e-9)


def test_a_gradient_sends_a_metric_and_a_matrix_for_each_chunk(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What docs/methods.md says of the bytes, beside some hundred that name the types."""
    size = 40
    tasks: list[tuple[Any, Any]] = []
    original = client.submit

    def submit(function: Any, *arguments: Any, **options: Any) -> Any:
        future = original(function, *arguments, **options)
        tasks.append((arguments, future))
        return future

    monkeypatch.setattr(client, "submit", submit)
    glr = gda.GLR(rng.standard_normal((300, size)), Z).distributed(client)
    glr.at(np.eye(size) / size).gradient()
    assert len(tasks) == len(glr._chunks) > 2
    monkeypatch.setattr(client, "scatter", None)  # samples are sent once
    glr.gradient(2 * np.eye(size) / size)
    for (sent, *others), future in tasks:
        assert all(isinstance(part, distributed.Future) for part in sent)
        there, back = (len(pickle.dumps(what)) for what in (others, future.result()))
        assert 0 <= there - 8 * size**2 < 500
        assert 0 <= back - 8 * (size**2 + len(Z) + 3) < 1000


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessExecutor])
def test_other_executors_have_the_same_numbers(kind: Callable[[int], Executor]) -> None:
    with kind(2) as executor:
        there, here = gda.GLR(X, Z).distributed(executor).at(M), gda.GLR(X, Z).at(M)
        assert there.value == pytest.approx(here.value, rel=1e-12)
        np.testing.assert_allclose(there.gradient(), here.gradient(), rtol=1e-12)


def test_an_executor_whose_tasks_fail_is_tried_again_and_is_an_error() -> None:
    class Failing(Executor):
        n_passes = 0

        def submit(self, *_arguments: Any, **_options: Any) -> Future[Any]:
            self.n_passes += 1
            raise BrokenExecutor("its processes are gone")

    executor = Failing()
    with pytest.raises(gda.errors.ClusterError, match=r"lost its tasks 3 times: .*are gone"):
        gda.GLR(X, Z).distributed(executor).value(M)
    assert executor.n_passes == 3


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=r"client must be a distributed\.Client"):
        gda.GLR(X, Z).distributed("tcp://127.0.0.1:8786")


class Slow(Exponentials):
    """A loss that takes five seconds."""

    def at(self, tile: Any, distances: Any) -> Any:
        time.sleep(5.0)
        return super().at(tile, distances)


def test_a_time_limit_ends_the_wait(client: Any) -> None:
    glr = gda.GLR(X, Z).distributed(client)
    assert glr._cluster is not None
    glr._cluster._loss = Slow(1.0)
    start = time.monotonic()
    with until(Deadline.after(0.5)), pytest.raises(gda.errors.TimeLimitError):
        glr.value(M)
    assert time.monotonic() - start < 4.0


@pytest.mark.parametrize("closed", ["client", "scheduler"])
def test_a_closed_scheduler_is_an_error(closed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_LOST", 0.5)
    with started() as cluster:
        client = distributed.Client(cluster, set_as_default=False)
        glr = gda.GLR(X, Z).distributed(client)
        _ = glr.value(M)
        if closed == "client":
            client.close()
        else:
            cluster.close()
        start = time.monotonic()
        with pytest.raises(gda.errors.ClusterError, match=r"cluster"):
            glr.value(2 * M)
        assert time.monotonic() - start < 30.0
        client.close()


@pytest.mark.slow
def test_a_copy_computes_on_its_own_machine(client: Any) -> None:
    glr = gda.GLR(X, Z).distributed(client)
    copied = pickle.loads(pickle.dumps(glr))
    assert copied.value(M) == pytest.approx(glr.value(M), rel=1e-12)


@pytest.mark.slow
def test_a_killed_worker_is_survived() -> None:
    with (
        started(processes=True) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        glr = gda.GLR(X, Z).distributed(client)
        expected = gda.GLR(X, Z).value(M)
        assert glr.value(M) == pytest.approx(expected, rel=1e-12)
        pids = list(client.run(os.getpid).values())
        killer = threading.Timer(0.2, os.kill, (pids[0], signal.SIGKILL))
        killer.start()
        for scale in np.linspace(1.0, 2.0, 30):
            value = glr.value(scale * M)
            assert value == pytest.approx(gda.GLR(X, Z).value(scale * M), rel=1e-12)
        for pid in client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)  # the samples are gone with them
        assert glr.value(M) == pytest.approx(expected, rel=1e-12)
