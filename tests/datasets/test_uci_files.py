"""Downloads from a server on this machine, and the cache that makes a second one needless."""

import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gdaopt.datasets import builtin
from gdaopt.datasets.builtin import CACHE_VARIABLE, DATA_VARIABLE, cache_directory, digest, obtain
from gdaopt.errors import DownloadError, InvalidInputError
from tests.datasets.cases import SEEDS_TEXT, SMALL_SEEDS, Reply, Server, compressed, serving, zipped

PLAIN = SEEDS_TEXT.encode()
ZIPPED = zipped(Index="", seeds_dataset__txt=SEEDS_TEXT)
FILE = "seeds_dataset.txt"


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
    return tmp_path / "deep" / "cache"


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def greet(listener: socket.socket) -> None:
    """Answer a request in the words of another protocol."""
    connection, _ = listener.accept()
    with connection:
        connection.recv(1000)
        connection.sendall(b"220 ftp ready\r\n")


class TestSuccess:
    @pytest.mark.parametrize("body", [ZIPPED, PLAIN, compressed(PLAIN)], ids=["zip", "plain", "Z"])
    def test_the_second_time_it_is_there(self, server: Server, cache: Path, body: bytes) -> None:
        table = server.offering(SMALL_SEEDS, seeds__zip=Reply(body))
        first, second = obtain(table), obtain(table)
        assert digest(first) == digest(second) == table.sha256
        assert server.asked == ["/seeds.zip"]
        assert server.agents == {"gdaopt"}
        assert entries(cache) == [FILE]
        assert (cache / FILE).read_text() == SEEDS_TEXT
        # The cache can also be used as `data_dir`.
        assert digest(obtain(table, cache)) == table.sha256

    def test_the_second_address(self, server: Server) -> None:
        table = server.offering(SMALL_SEEDS, gone__zip=Reply(status=404), b__txt=Reply(PLAIN))
        assert digest(obtain(table)) == table.sha256
        assert server.asked == ["/gone.zip", "/b.txt"]

    @pytest.mark.parametrize(
        "content", [b"", PLAIN[:-20], PLAIN.replace(b"15.1", b"15.2"), b"\xff\x00"]
    )
    def test_a_damaged_cache_is_replaced(self, server: Server, cache: Path, content: bytes) -> None:
        """And what a killed process left is removed."""
        cache.mkdir(parents=True)
        (cache / FILE).write_bytes(content)
        (cache / f".{FILE}.999999999-0a1b2c3d.tmp").write_text("half")
        table = server.offering(SMALL_SEEDS, a__txt=Reply(PLAIN))
        assert digest(obtain(table)) == table.sha256
        assert len(server.asked) == 1
        assert entries(cache) == [FILE]
        assert (cache / FILE).read_bytes() == PLAIN


class TestFailures:
    @pytest.mark.parametrize(
        ("reply", "message"),
        [
            (Reply(status=404), "HTTP Error 404: Not Found"),
            (Reply(PLAIN, announced=len(PLAIN) + 7), "IncompleteRead.*, 7 more expected"),
            (Reply(ZIPPED[:-30]), "is not a text, nor one in a sound .zip"),
            (Reply(PLAIN[:-10]), "is not UCI's seeds.*: it holds 46 numbers with"),
            (Reply(b"<html>Log in to go on</html>"), "is not UCI's seeds.*: .* '<html>Log'"),
            (Reply(b"\x89PNG\r\n\x1a\n\xff"), "is not a text, nor one in"),
        ],
    )
    def test_nothing_is_kept(self, server: Server, cache: Path, reply: Reply, message: str) -> None:
        table = server.offering(SMALL_SEEDS, a__txt=reply)
        with pytest.raises(DownloadError, match=message) as caught:
            obtain(table)
        said = str(caught.value)
        assert f"data set 'seeds' is not in {cache}, and could not be downloaded" in said
        assert table.urls[0] in said
        assert f"By hand: get {FILE} or a.txt from {table.page}" in said
        assert entries(cache) == []
        # The next call downloads the file again.
        server.replies["/a.txt"] = Reply(PLAIN)
        assert digest(obtain(table)) == table.sha256

    def test_both_addresses_are_named(self, server: Server) -> None:
        table = server.offering(SMALL_SEEDS, a__zip=Reply(status=404), b__txt=Reply(status=500))
        with pytest.raises(DownloadError, match=r"a.zip: .* 404: .*; .*b.txt: .* 500: "):
            obtain(table)

    def test_a_silent_server_and_none(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(builtin, "TIMEOUT", 0.1)
        reply = Reply(PLAIN, before=lambda: server.stopping.wait(5))
        silent = server.offering(SMALL_SEEDS, a__txt=reply)
        with serving() as gone:
            absent = gone.offering(SMALL_SEEDS, a__txt=Reply(PLAIN))
        for table, says in ((silent, "timed out"), (absent, "refused")):
            with pytest.raises(DownloadError, match=says):
                obtain(table)

    def test_no_http(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=greet, args=(listener,))
            thread.start()
            table = replace(SMALL_SEEDS, urls=(f"http://127.0.0.1:{listener.getsockname()[1]}/x",))
            with pytest.raises(DownloadError, match=r"/x: 220 ftp ready"):
                obtain(table)
            thread.join()

    def test_a_damaged_cache_and_a_directory_offline(
        self, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
        message = re.escape(f"is not in {tmp_path} and is not in {cache_directory()}")
        with pytest.raises(DownloadError, match=message):
            obtain(SMALL_SEEDS)
        monkeypatch.delenv(DATA_VARIABLE)
        cache.mkdir(parents=True)
        (cache / FILE).write_text("1 2 3\n")
        message = r"'seeds' is damaged in the cache \(.*it holds 3 numbers.*\), and could not be"
        with pytest.raises(DownloadError, match=message):
            obtain(SMALL_SEEDS)


class TestAtOnce:
    def test_threads_share_one_download(self, server: Server, cache: Path) -> None:
        table = server.offering(SMALL_SEEDS, a__txt=Reply(PLAIN))
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: digest(obtain(table)), range(8)))
        assert set(found) == {table.sha256}
        assert len(server.asked) == 1
        assert entries(cache) == [FILE]

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


class TestCacheThatCannotBeWritten:
    def test_this_session_remembers(
        self, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").touch()
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
        table = server.offering(SMALL_SEEDS, a__txt=Reply(PLAIN))
        with pytest.warns(UserWarning, match=f"cannot write .*{FILE} .* unless GDAOPT_CACHE names"):
            first = obtain(table)
        np.testing.assert_array_equal(first, obtain(table))
        assert len(server.asked) == 1

    def test_a_directory_in_its_place(self, server: Server, cache: Path) -> None:
        (cache / FILE).mkdir(parents=True)
        table = server.offering(SMALL_SEEDS, a__txt=Reply(PLAIN))
        with pytest.warns(UserWarning, match="cannot write"):
            assert digest(obtain(table)) == table.sha256
        assert entries(cache) == [FILE]

    def test_a_full_disk(
        self, server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(path: Path, text: str) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(builtin, "write_text", fail)
        table = server.offering(SMALL_SEEDS, a__txt=Reply(PLAIN))
        with pytest.warns(UserWarning, match=r"\(No space left on device\)"):
            assert digest(obtain(table)) == table.sha256
        assert entries(cache) == []


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
