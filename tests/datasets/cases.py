"""Small tables in the two formats of UCI, packed as UCI does, and a server on this machine."""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdaopt.datasets import builtin
from gdaopt.datasets.builtin import (
    CACHE_VARIABLE,
    DATA_VARIABLE,
    PAGE_BLOCKS,
    SEEDS,
    UciTable,
    digest,
)

# As in UCI's own file, there are sometimes two tabs between numbers.
SEEDS_TEXT = """\
15.1\t14.8\t0.871\t5.7\t3.3\t2.2\t5.2\t1
14.8\t14.5\t\t0.88\t5.5\t3.3\t1.0\t4.9\t1
17.6\t15.9\t0.892\t6.2\t3.5\t4.0\t6.1\t2
16.8\t15.6\t0.86\t6.0\t3.4\t\t4.6\t5.8\t2
11.5\t13.0\t0.84\t5.3\t2.7\t5.0\t5.1\t\t3
12.1\t13.4\t0.85\t5.2\t2.8\t4.1\t5.0\t\t3
"""

# Columns of fixed width, numbers without a leading zero, and a last line without a line end.
BLOCKS_TEXT = """\
   5   7     35  1.400 .400 .657     2.33     14     23      6 1
   6 107    642 17.833 .300 .911     1.64    171    519    104 1
   1   9      9  9.000 1.00 1.00     9.00      9      9      1 2
  40  50   2000  1.250 .500 .700    12.50   1000   1400     80 3
  60   1     60   .017 1.00 1.00     1.00     60     60     60 4
  30  40   1200  1.333 .200 .400     4.80    240    480     50 5"""


def made_up(table: UciTable, text: str) -> UciTable:
    """Return a table with the numbers of a text, and with an address that has no server."""
    data = np.array([[float(word) for word in line.split()] for line in text.splitlines()])
    return replace(table, rows=len(data), sha256=digest(data), urls=("http://localhost:1/no.zip",))


SMALL_SEEDS = made_up(SEEDS, SEEDS_TEXT)
SMALL_BLOCKS = made_up(PAGE_BLOCKS, BLOCKS_TEXT)


def zipped(**members: str | bytes) -> bytes:
    """Return a zip archive of these files; in their names __ stands for a dot."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return packed.getvalue()


def compressed(data: bytes) -> bytes:
    """Return bytes as compress could pack them: codes of 9 bits, one for each byte.

    They stay that short because the code 256 empties the table before it has 512 strings.
    """
    parts = (data[start : start + 239] for start in range(0, len(data), 239))
    return b"\x1f\x9d\x90" + b"".join(_of_codes([*part, 256]) for part in parts)


def compressed_spaces(count: int) -> bytes:
    """Return 1 + 2 + 3 + … spaces, so many numbers, as compress packs them: less than 255."""
    return b"\x1f\x9d\x90" + _of_codes([32, *range(257, 256 + count)])


def _of_codes(codes: list[int]) -> bytes:
    packed = bytearray()
    for group in range(0, len(codes), 8):  # as many bytes as a code has bits
        bits = sum(code << 9 * i for i, code in enumerate(codes[group : group + 8]))
        packed.extend(bits.to_bytes(9, "little"))
    return bytes(packed)


@dataclass
class Reply:
    """The answer of the server to a request."""

    body: bytes = b""
    status: int = 200
    announced: int | None = None  # number of bytes, when it is not that of the body
    before: Callable[[], object] = lambda: None  # called before the answer


@dataclass
class Server:
    """A server on this machine: its answers by path, and the requests that it got."""

    url: str = ""
    replies: dict[str, Reply] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    stopping: threading.Event = field(default_factory=threading.Event)

    def offering(self, table: UciTable, **replies: Reply) -> UciTable:
        """Return the table with addresses of this server, which offers these files."""
        names = {name.replace("__", "."): reply for name, reply in replies.items()}
        self.replies.update({f"/{name}": reply for name, reply in names.items()})
        return replace(table, urls=tuple(f"{self.url}/{name}" for name in names))


@contextmanager
def serving() -> Iterator[Server]:
    """Run a server while the block lasts."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            state.agents.add(self.headers["User-Agent"])
            reply = state.replies.get(self.path, Reply(status=404))
            reply.before()
            if reply.status != 200:
                self.send_error(reply.status)
                return
            self.send_response(200)
            length = len(reply.body) if reply.announced is None else reply.announced
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Print nothing when a client leaves early."""

    with Quiet(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        state.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield state
        finally:
            state.stopping.set()
            server.shutdown()
            thread.join()


def hide_other_data(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """Hide the data files and the cache of the person who runs the tests, and the internet."""
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setenv(CACHE_VARIABLE, str(cache))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(builtin, "SEEDS", SMALL_SEEDS)
    monkeypatch.setattr(builtin, "PAGE_BLOCKS", SMALL_BLOCKS)
