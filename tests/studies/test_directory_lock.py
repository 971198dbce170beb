"""One writer in a directory: whom it keeps out, when it ends, and what it clears away."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gdaopt.errors import DirectoryInUseError
from gdaopt.studies import study_directory
from gdaopt.studies.study_directory import content, sole_writer
from tests.process_cases import posix_only
from tests.studies.cases import names, refused

HOLD = """
import sys, time
from gdaopt.studies.study_directory import sole_writer
with sole_writer(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""
DEAD = 999_999_999  # more than any process id


def enter(folder: Path) -> None:
    with sole_writer(folder):
        pass


def test_no_holder_remains(tmp_path: Path) -> None:
    with sole_writer(tmp_path / "new" / "deep"):
        assert content(tmp_path / "new" / "deep") == []
        assert names(tmp_path / "new" / "deep") == {".gdaopt.lock.json"}
    assert names(tmp_path / "new" / "deep") == set()
    with pytest.raises(ZeroDivisionError), sole_writer(tmp_path / "new"):
        raise ZeroDivisionError
    assert names(tmp_path / "new") == {"deep"}


@posix_only
def test_another_process_is_named_and_its_death_ends_it(tmp_path: Path) -> None:
    hold = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(hold, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(DirectoryInUseError) as caught:
            enter(tmp_path)
        said = str(caught.value)
        assert said.startswith(f"process {process.pid} on ")
        assert f": '-c {tmp_path}') is writing to {tmp_path}; wait until it has ended" in said
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert names(tmp_path) == {".gdaopt.lock.json"}  # left behind
    enter(tmp_path)
    assert names(tmp_path) == set()


def test_one_at_a_time(tmp_path: Path) -> None:
    """Many that come and go, each of which reads, waits and writes; and nobody waits in vain."""
    count = tmp_path / "count"
    count.write_text("0")

    def add() -> None:
        left = 10
        while left:
            try:
                with sole_writer(tmp_path):
                    number = int(count.read_text())
                    time.sleep(0.001)
                    count.write_text(str(number + 1))
                left -= 1
            except DirectoryInUseError:
                continue

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count.read_text() == "40"
    assert names(tmp_path) == {"count"}


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"pid": 1}'])
def test_a_holder_that_is_not_known(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_directory, "_PATIENCE", 0.01)
    with sole_writer(tmp_path):
        (tmp_path / ".gdaopt.lock.json").write_text(text)
        with pytest.raises(DirectoryInUseError, match="another process is writing to"):
            enter(tmp_path)


def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    at_work = f".mine.npz.{os.getpid()}-0a1b2c3d.tmp"
    others = {"notes.tmp", ".x.abcdefgh.tmp", ".x.12-0a1b2c3d.tmp.txt", "x.12-0a1b2c3d.tmp"}
    older = f".older.{os.getpid()}-0a1b2c3d.tmp"
    dead = {f".a.npz.{DEAD}-0a1b2c3d.tmp", f".result.json.{DEAD}-ffffffff.tmp", older}
    for name in {at_work} | others | dead:
        (tmp_path / name).write_text("half")
    os.utime(tmp_path / older, (0, 0))  # from before this process: another one had its id
    with sole_writer(tmp_path):
        assert {at_work} | others <= names(tmp_path)
    assert names(tmp_path) == {at_work} | others
    assert {file.name for file in content(tmp_path)} == others


@posix_only
@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("elsewhere")])
def test_something_else_in_the_place_of_the_lock(
    make: Callable[[Path], object], tmp_path: Path
) -> None:
    make(tmp_path / ".gdaopt.lock")
    with refused("cannot write to"):
        enter(tmp_path)
