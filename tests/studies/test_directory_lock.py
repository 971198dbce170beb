"""One writer in a directory: whom it keeps out, when it ends, and what it clears away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import gdaopt as gda
from gdaopt.studies.study_directory import content, sole_writer
from tests.process_cases import posix_only

HOLD = """
import sys, time
from gdaopt.studies.study_directory import sole_writer
with sole_writer(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""
DEAD = 999_999_999  # more than any process id


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def holder(folder: Path) -> subprocess.Popen[str]:
    """Start a process that holds a directory."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_nothing_remains(tmp_path: Path) -> None:
    with sole_writer(tmp_path / "new" / "deep"):
        assert content(tmp_path / "new" / "deep") == []
        assert len(names(tmp_path / "new" / "deep")) == 2
    assert names(tmp_path / "new" / "deep") == set()
    with pytest.raises(ZeroDivisionError), sole_writer(tmp_path / "new"):
        raise ZeroDivisionError
    assert names(tmp_path / "new") == {"deep"}


@posix_only
def test_another_process_is_named_and_its_death_ends_it(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with pytest.raises(gda.errors.DirectoryInUseError) as caught, sole_writer(tmp_path):
            pass
        said = str(caught.value)
        assert said.startswith(f"process {process.pid} on ")
        assert f": '-c {tmp_path}') is writing to {tmp_path}; wait until it has ended" in said
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(names(tmp_path)) == 2  # left behind
    with sole_writer(tmp_path):
        pass
    assert names(tmp_path) == set()


def test_threads_keep_each_other_out(tmp_path: Path) -> None:
    refused: list[str] = []

    def enter() -> None:
        try:
            with sole_writer(tmp_path):
                pass
        except gda.errors.DirectoryInUseError as error:
            refused.append(str(error))

    with sole_writer(tmp_path):
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
    assert [f"process {os.getpid()} on " in said for said in refused] == [True]


def test_one_at_a_time(tmp_path: Path) -> None:
    """Many that come and go, each of which reads, waits and writes; and nobody waits in vain."""
    count = tmp_path / "count"
    count.write_text("0")
    entered = threading.Semaphore(0)

    def add() -> None:
        for _ in range(10):
            while True:
                try:
                    with sole_writer(tmp_path):
                        number = int(count.read_text())
                        time.sleep(0.001)
                        count.write_text(str(number + 1))
                    break
                except gda.errors.DirectoryInUseError:
                    continue
        entered.release()

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count.read_text() == "40"
    assert names(tmp_path) == {"count"}


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"pid": 1}'])
def test_a_holder_that_is_not_known(text: str, tmp_path: Path) -> None:
    with sole_writer(tmp_path):
        (tmp_path / ".gdaopt.lock.json").write_text(text)
        with (
            pytest.raises(gda.errors.DirectoryInUseError, match="another process is writing to"),
            sole_writer(tmp_path),
        ):
            pass


def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    kept = {
        f".mine.npz.{os.getpid()}-0a1b2c3d.tmp",  # of this process, which is at work
        *("notes.tmp", ".x.abcdefgh.tmp", ".x.12-0a1b2c3d.tmp.txt", "x.12-0a1b2c3d.tmp"),
    }
    dead = {f".a.npz.{DEAD}-0a1b2c3d.tmp", f".result.json.{DEAD}-ffffffff.tmp"}
    for name in kept | dead:
        (tmp_path / name).write_text("half")
    older = tmp_path / f".older.{os.getpid()}-0a1b2c3d.tmp"
    older.touch()
    os.utime(older, (0, 0))  # from before this process: another one had its id
    with sole_writer(tmp_path):
        assert kept <= names(tmp_path)
    assert names(tmp_path) == kept
    assert {file.name for file in content(tmp_path)} == kept - {
        f".mine.npz.{os.getpid()}-0a1b2c3d.tmp"
    }


@pytest.mark.parametrize("below", [".", "out"])
def test_a_directory_that_cannot_be_written_to(below: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    path = tmp_path / "file" / below
    with (
        pytest.raises(
            gda.errors.InvalidInputError, match=r"cannot write to .*; choose another --figures"
        ),
        sole_writer(path, "--figures"),
    ):
        pass


@posix_only
@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("elsewhere")])
def test_something_else_in_the_place_of_the_lock(make: object, tmp_path: Path) -> None:
    make(tmp_path / ".gdaopt.lock")  # type: ignore[operator]
    with (
        pytest.raises(gda.errors.InvalidInputError, match="cannot write to"),
        sole_writer(tmp_path),
    ):
        pass
