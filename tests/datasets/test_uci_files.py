"""Files of the UCI repository: downloads from a server on this machine, the cache, and forms."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from gdaopt.datasets import builtin
from gdaopt.datasets.builtin import (
    CACHE_VARIABLE,
    DATA_VARIABLE,
    cache_directory,
    digest,
    obtain,
)
from gdaopt.errors import DownloadError, InvalidInputError
from tests.datasets.cases import (
    SEEDS_TEXT,
    SMALL_SEEDS,
    Reply,
    Server,
    compressed,
    compressed_spaces,
    serving,
    zipped,
)
from tests.helpers import traced_peak

PLAIN = SEEDS_TEXT.encode()
ZIPPED = zipped(Index=b"\xff", seeds_dataset__txt=SEEDS_TEXT)
FILE = "seeds_dataset.txt"
MOST = 10_000  # bytes of a file, in the tests


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as state:
        yield state


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the directory of a cache that does not exist yet, and switch off proxies."""
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "deep" / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(builtin, "_unsaved", {})
    monkeypatch.setattr(builtin, "MOST_BYTES", MOST)
    return tmp_path / "deep" / "cache"


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


# --- Files as they are, in a directory or from a server ------------------------------------------

FORMS: dict[str, bytes] = {
    "plain": PLAIN,
    "with a mark": b"\xef\xbb\xbf" + PLAIN,
    "packed": compressed(PLAIN),
    "zip": ZIPPED,
    "packed in zip": zipped(names="3", seeds_dataset__txt__Z=compressed(PLAIN)),
    "in a folder": zipped(**{"folder/seeds_dataset__txt": SEEDS_TEXT}),
    "blanks": re.sub(rb"\t+", b" ", PLAIN),
    "more tabs": PLAIN.replace(b"\t", b"\t\t"),
    "carriage returns": PLAIN.replace(b"\n", b"\r\n"),
    "empty lines": b"\n" + PLAIN.rstrip() + b"\n\n \t\n",
    "other noughts": PLAIN.replace(b"5.0", b"5.00").replace(b"\t1\n", b"\t1.0\n"),
    "as long as may be": PLAIN.ljust(MOST),
    "zip of as much": zipped(seeds_dataset__txt=PLAIN.ljust(MOST)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form(form: str, server: Server, cache: Path) -> None:
    """The second time it is there, and the cache can be used as `data_dir`, too."""
    table = server.offering(SMALL_SEEDS, gone__zip=Reply(status=404), b__txt=Reply(FORMS[form]))
    first, second = obtain(table), obtain(table)
    assert digest(first) == digest(second) == table.sha256
    assert server.asked == ["/gone.zip", "/b.txt"]
    assert server.agents == {"gdaopt"}
    assert entries(cache) == [FILE]
    (cache / FILE).write_bytes(FORMS[form])
    assert digest(obtain(table, cache)) == table.sha256


def encrypted(archive: bytes) -> bytes:
    """Return an archive that says that its first member is encrypted."""
    packed = bytearray(archive)
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.index(header) + flags] |= 1
    return bytes(packed)


ALONE = zipped(seeds_dataset__txt=SEEDS_TEXT)
OTHER = "is not UCI's seeds, which has 48 numbers with the SHA-256 .*: "
NUMBERS = OTHER + "it holds {} numbers with the SHA-256"
DAMAGED: dict[str, tuple[bytes, str]] = {
    "binary": (b"\x89PNG\r\n\x1a\n\xff", "is not a text, nor one in a sound .zip .* get it again"),
    "packed": (compressed(PLAIN)[:3] + b"\xff\xff", "not a text.* Invalid Data: .* get it again"),
    "cut zip": (ZIPPED[:-30], "not a text.* not a zip file; get it again"),
    "other zip": (zipped(a="1", b="2"), f"it holds no {FILE}, but a, b; get it again"),
    "renamed": (ALONE.replace(b".txt", b".tx\xff"), "get it again"),
    "other content": (ALONE[:60] + bytes([ALONE[60] ^ 1]) + ALONE[61:], "not a text.*get it again"),
    "encrypted": (encrypted(ALONE), "is encrypted"),
    "a page": (b"<html>Log in to go on</html>", OTHER + ".* '<html>Log.*; get it again from http"),
    "a decimal comma": (PLAIN.replace(b"0.84\t", b"0,84\t"), OTHER + "could not convert .* '0,84'"),
    "empty": (b"", NUMBERS.format(0)),
    "cut": (PLAIN[:-10], NUMBERS.format(46)),
    "another number": (PLAIN.replace(b"15.1", b"15.2"), NUMBERS.format(48)),
    "another order": (b"".join(reversed(PLAIN.splitlines(keepends=True))), NUMBERS.format(48)),
    "too long": (PLAIN.ljust(MOST + 1), "more than .*10,?000"),
    "zip of too much": (zipped(seeds_dataset__txt=PLAIN.ljust(MOST + 1)), "more than .*10,?000"),
    "packed too much": (compressed_spaces(200), "more than .*10,?000"),
}


@pytest.mark.parametrize("fault", DAMAGED)
def test_damaged_files(fault: str, server: Server, cache: Path) -> None:
    """They are refused wherever they are; a cache stays as it is until there is a better file."""
    body, message = DAMAGED[fault]
    cache.mkdir(parents=True)
    (cache / FILE).write_bytes(body)
    (cache / f".{FILE}.999999999-0a1b2c3d.tmp").write_text("half")  # of a killed process
    with pytest.raises(InvalidInputError, match=f"{FILE} .*{message}"):
        obtain(SMALL_SEEDS, cache)
    table = server.offering(SMALL_SEEDS, a__txt=Reply(body))
    with pytest.raises(DownloadError, match=rf"/a\.txt .*{message}") as caught:
        obtain(table)
    said = str(caught.value)
    assert said.startswith(f"data set 'seeds' is damaged in the cache ({cache / FILE} ")
    assert f"By hand: get {FILE} or a.txt from {table.page}" in said
    assert (cache / FILE).read_bytes() == body
    server.replies["/a.txt"] = Reply(PLAIN)
    assert digest(obtain(table)) == table.sha256
    assert entries(cache) == [FILE]
    assert (cache / FILE).read_bytes() == PLAIN


# --- Servers -------------------------------------------------------------------------------------


def test_servers_that_fail(
    server: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtin, "TIMEOUT", 0.1)
    silent = Reply(PLAIN, before=lambda: server.stopping.wait(5))
    short = Reply(PLAIN, announced=len(PLAIN) + 7)
    table = server.offering(SMALL_SEEDS, a=Reply(status=404), b=short, c=silent)
    with serving() as gone:
        absent = gone.offering(SMALL_SEEDS, d=Reply(PLAIN))
    says = r"/a: .* 404: Not Found; .*/b: IncompleteRead.*, 7 more expected.*/c: .*timed out"
    for asked, message in ((table, says), (absent, "/d: .*refused")):
        with pytest.raises(DownloadError, match=message):
            obtain(asked)
    assert entries(cache) == []
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    with pytest.raises(
        DownloadError, match=re.escape(f"is not in {tmp_path} and is not in {cache}")
    ):
        obtain(SMALL_SEEDS)


def test_what_is_read_of_a_download(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtin, "MOST_BYTES", 2**20)
    table = server.offering(SMALL_SEEDS, a__txt=Reply(bytes(2**26)))

    def refused() -> None:
        with pytest.raises(DownloadError, match="more than"):
            obtain(table)

    assert traced_peak(refused) < 2**23


class TestAtOnce:
    def test_threads_share_one_download(self, server: Server, cache: Path) -> None:
        table = server.offering(SMALL_SEEDS, a__txt=Reply(PLAIN))
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: digest(obtain(table)), range(8)))
        assert set(found) == {table.sha256}
        assert len(server.asked) == 1
        assert entries(cache) == [FILE]

    @pytest.mark.slow
    def test_processes_do_not_disturb_each_other(self, server: Server, cache: Path) -> None:
        """Two processes download at the same time: no answer comes before both have asked."""
        both = threading.Barrier(2, timeout=30)
        table = server.offering(SMALL_SEEDS, a__txt=Reply(PLAIN, before=both.wait))
        code = (
            "import dataclasses; from gdaopt.datasets import builtin\n"
            f"changes = dict(urls={table.urls}, sha256={table.sha256!r})\n"
            "table = dataclasses.replace(builtin.SEEDS, **changes)\n"
            "print(builtin.digest(builtin.obtain(table)))"
        )
        runs = [
            subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        assert [run.communicate()[0].strip() for run in runs] == [table.sha256] * 2
        assert entries(cache) == [FILE]
        assert digest(obtain(table)) == table.sha256
        assert len(server.asked) == 2


@pytest.mark.parametrize("obstacle", ["a file above", "a directory", "a full disk"])
def test_this_session_remembers_what_cannot_be_saved(
    obstacle: str, server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    if obstacle == "a full disk":
        monkeypatch.setattr(builtin, "write_text", fail)
    elif obstacle == "a directory":
        (cache / FILE).mkdir(parents=True)
    else:
        cache.parent.touch()
    table = server.offering(SMALL_SEEDS, a__txt=Reply(PLAIN))
    says = r"cannot write .*txt \((No space|Is a|Not a d).*unless GDAOPT_CACHE names"
    with pytest.warns(UserWarning, match=says):
        first = obtain(table)
    np.testing.assert_array_equal(first, obtain(table))
    assert len(server.asked) == 1
    assert entries(cache) == ([FILE] if obstacle == "a directory" else [])


class TestCacheDirectory:
    @pytest.mark.parametrize(
        ("platform", "variables", "expected"),
        [
            ("linux", {}, "home/.cache/gdaopt"),
            ("linux", {"XDG_CACHE_HOME": "xdg"}, "xdg/gdaopt"),
            ("linux", {"XDG_CACHE_HOME": "../relative"}, "home/.cache/gdaopt"),
            ("darwin", {"XDG_CACHE_HOME": "xdg"}, "home/Library/Caches/gdaopt"),
            ("win32", {"LOCALAPPDATA": "local"}, "local/gdaopt"),
            ("win32", {}, "home/AppData/Local/gdaopt"),
            ("linux", {"XDG_CACHE_HOME": "xdg", CACHE_VARIABLE: "own"}, "own"),
        ],
    )
    def test_platforms(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        platform: str,
        variables: dict[str, str],
        expected: str,
    ) -> None:
        for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", CACHE_VARIABLE):
            monkeypatch.delenv(name, raising=False)
        for name, folder in variables.items():
            is_relative = folder.startswith("..")  # such directories do not count
            monkeypatch.setenv(name, folder if is_relative else str(tmp_path / folder))
        monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
        monkeypatch.setattr(sys, "platform", platform)
        assert cache_directory() == tmp_path / expected

    def test_without_a_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def homeless() -> Path:
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.delenv(CACHE_VARIABLE)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setattr(Path, "home", homeless)
        with pytest.raises(InvalidInputError, match=r"home directory.*; set GDAOPT_CACHE to a"):
            obtain(SMALL_SEEDS)
