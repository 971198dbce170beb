"""Files of the UCI repository: downloads from a server on this machine, the cache, and forms."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
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
    read_table,
    read_text,
)
from gdaopt.errors import DownloadError, InvalidInputError
from tests.datasets.cases import (
    BLOCKS_TEXT,
    SEEDS_TEXT,
    SMALL_BLOCKS,
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
ZIPPED = zipped(Index="", seeds_dataset__txt=SEEDS_TEXT)
FILE = "seeds_dataset.txt"
# With a limit of 10,000 bytes: plain, in a zip archive, and packed by compress.
FITTING = [PLAIN.ljust(10_000), zipped(seeds_dataset__txt=PLAIN.ljust(10_000)), compressed(PLAIN)]
TOO_LONG = [
    PLAIN.ljust(10_001),
    zipped(seeds_dataset__txt=PLAIN.ljust(10_001)),
    compressed_spaces(200),
]


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

    @pytest.mark.parametrize("body", FITTING)
    def test_files_up_to_the_limit(
        self, server: Server, monkeypatch: pytest.MonkeyPatch, body: bytes
    ) -> None:
        monkeypatch.setattr(builtin, "MOST_BYTES", 10_000)
        table = server.offering(SMALL_SEEDS, a__txt=Reply(body))
        assert digest(obtain(table)) == table.sha256

    @pytest.mark.parametrize("body", TOO_LONG)
    def test_files_beyond_the_limit(
        self, server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch, body: bytes
    ) -> None:
        """They were read as a whole, however long they are or read_text to."""
        monkeypatch.setattr(builtin, "MOST_BYTES", 10_000)
        cache.mkdir(parents=True)
        (cache / FILE).write_bytes(body)
        with pytest.raises(InvalidInputError, match=f"{FILE} is not .* more than .*10,?000"):
            obtain(SMALL_SEEDS, cache)
        table = server.offering(SMALL_SEEDS, a__txt=Reply(body))
        with pytest.raises(DownloadError, match=r"a\.txt is not .* more than .*10,?000"):
            obtain(table)
        assert entries(cache) == [FILE]
        assert (cache / FILE).read_bytes() == body

    def test_what_is_read_of_a_download(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(builtin, "MOST_BYTES", 2**20)
        table = server.offering(SMALL_SEEDS, a__txt=Reply(bytes(2**26)))

        def refused() -> None:
            with pytest.raises(DownloadError, match="more than"):
                obtain(table)

        assert traced_peak(refused) < 2**23

    def test_both_addresses_are_named(self, server: Server) -> None:
        table = server.offering(SMALL_SEEDS, a__zip=Reply(status=404), b__txt=Reply(status=500))
        with pytest.raises(DownloadError, match=r"a.zip: .* 404: .*; .*b.txt: .* 500: "):
            obtain(table)

    def test_silent_servers(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(builtin, "TIMEOUT", 0.1)
        reply = Reply(PLAIN, before=lambda: server.stopping.wait(5))
        silent = server.offering(SMALL_SEEDS, a__txt=reply)
        with serving() as gone:
            absent = gone.offering(SMALL_SEEDS, a__txt=Reply(PLAIN))
        for table, says in ((silent, "timed out"), (absent, "refused")):
            with pytest.raises(DownloadError, match=says):
                obtain(table)

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


# --- How files are unpacked and read, and what is refused -----------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"1 2\n",
        b"\xef\xbb\xbf1 2\n",
        compressed(b"1 2\n"),
        zipped(Index=b"\xff", t__data="1 2\n"),
        zipped(t__names="3", t__data__Z=compressed(b"1 2\n")),
        zipped(**{"folder/t__data": "1 2\n"}),
    ],
    ids=["plain", "marked", "packed", "zip", "packed in zip", "in a folder"],
)
def test_every_form(content: bytes) -> None:
    assert read_text(content, "t.data", "here") == "1 2\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe1", "here is not a text, nor one in .* get it again"),
        (compressed(b"1 2")[:3] + b"\xff\xff", "not a text.* Invalid Data: .* get it again"),
        (zipped(t__data="1 2\n" * 99)[:-30], "not a text.* not a zip file; get it again"),
        (zipped(a="1", b="2"), "it holds no t.data, but a, b; get it again"),
        (zipped(t__data="").replace(b"t.data", b"t.dat\xff"), "get it again"),
        (
            zipped(t__data="1 2 3 4\n")[:40] + b"\0" + zipped(t__data="1 2 3 4\n")[41:],
            "not a text.*get it again",
        ),
    ],
    ids=["binary", "packed", "cut zip", "other zip", "renamed", "other content"],
)
def test_refuses_damaged_files(content: bytes, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_text(content, "t.data", "here")


def test_an_encrypted_member() -> None:
    packed = bytearray(zipped(t__data="1"))
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.index(header) + flags] |= 1  # says that the member is encrypted
    with pytest.raises(InvalidInputError, match=r"t\.data.* is encrypted"):
        read_text(bytes(packed), "t.data", "here")


def test_tabs_and_columns_of_fixed_width() -> None:
    seeds = read_table(SMALL_SEEDS, SEEDS_TEXT, "a file")
    blocks = read_table(SMALL_BLOCKS, BLOCKS_TEXT, "a file")
    assert (seeds.shape, blocks.shape) == ((6, 8), (6, 11))
    np.testing.assert_array_equal(seeds[1], [14.8, 14.5, 0.88, 5.5, 3.3, 1.0, 4.9, 1])
    np.testing.assert_array_equal(blocks[0, :7], [5, 7, 35, 1.4, 0.4, 0.657, 2.33])
    np.testing.assert_array_equal(blocks[:, -1], [1, 1, 2, 3, 4, 5])


@pytest.mark.parametrize(
    "change",
    [
        lambda text: re.sub(r"\t+", " ", text),
        lambda text: text.replace("\t", "\t\t"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\n" + text.rstrip() + "\n\n \t\n",
        lambda text: text.replace("5.0", "5.00").replace("\t1\n", "\t1.0\n"),
    ],
    ids=["blanks", "more tabs", "carriage returns", "empty lines", "other noughts"],
)
def test_white_space_and_noughts_do_not_matter(change: Callable[[str], str]) -> None:
    assert digest(read_table(SMALL_SEEDS, change(SEEDS_TEXT), "a")) == SMALL_SEEDS.sha256


OTHER = r"a.txt is not UCI's seeds, which has 48 numbers with the SHA-256 .*: "


WORDS = "could not convert .* {}; get it again from http"
NUMBERS = "it holds {} numbers with the SHA-256"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SEEDS_TEXT.replace("0.84\t", "0,84\t"), WORDS.format("'0,84'")),
        (SEEDS_TEXT.replace("\t\t3\n", "\t\tRosa\n"), WORDS.format("'Rosa'")),
        ("", NUMBERS.format(0)),
        (SEEDS_TEXT.rpartition("12.1")[0], NUMBERS.format(40)),
        (SEEDS_TEXT.replace("0.84\t", "", 1), NUMBERS.format(47)),
        (SEEDS_TEXT.replace("0.84", "0.841"), NUMBERS.format(48)),
        (SEEDS_TEXT.replace("0.84", "nan"), NUMBERS.format(48)),
        ("".join(reversed(SEEDS_TEXT.splitlines(keepends=True))), NUMBERS.format(48)),
    ],
    ids=[
        *("a decimal comma", "a word", "empty", "a line less", "a number less"),
        *("another number", "not a number", "another order"),
    ],
)
def test_refuses_other_numbers(text: str, says: str) -> None:
    with pytest.raises(InvalidInputError, match=OTHER + says):
        read_table(SMALL_SEEDS, text, "a.txt")
