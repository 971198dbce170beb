"""Downloads: one file at a time, with limits on its size and the time it takes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gdaopt.datasets.unpacking import LARGEST
from gdaopt.errors import DownloadError

if TYPE_CHECKING:
    from http.client import HTTPResponse

__all__ = ["TIMEOUT", "download"]

TIMEOUT = 20.0
"""Seconds for the connection, for each answer to come, and after which no more is read."""

_USER_AGENT = "gdaopt"
_BLOCK = 2**16  # bytes read at a time


def download(url: str) -> bytes:
    """Return the file at an address.

    Parameters
    ----------
    url : str
        By HTTP or HTTPS; the environment's proxies are used.

    Returns
    -------
    bytes
        The whole file.

    Raises
    ------
    DownloadError
        When it does not come, not within `TIMEOUT`, not completely, or is larger than
        `gdaopt.datasets.unpacking.LARGEST`. The message names the address.
    """
    # Slow to import, and needed here only.
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    request = Request(url, headers={"User-Agent": _USER_AGENT})
    try:
        with urlopen(request, timeout=TIMEOUT) as response:
            return _read(response)
    except HTTPError as error:
        error.close()
        raise DownloadError(f"{url}: the server answered {error.code} {error.reason}") from error
    except URLError as error:
        raise DownloadError(f"{url}: {error.reason}") from error
    except (OSError, HTTPException, _UnfinishedError) as error:
        raise DownloadError(f"{url}: {error}") from error


class _UnfinishedError(Exception):
    """The answer began, and was not read to its end."""


def _read(response: HTTPResponse) -> bytes:
    """Return the body of an answer.

    It is read block by block: the time limit of sockets is one for each block, which a server
    can drag out.
    """
    end = time.monotonic() + TIMEOUT
    data = bytearray()
    while block := response.read1(_BLOCK):
        data += block
        if len(data) > LARGEST:
            raise _UnfinishedError(f"more than {LARGEST} bytes")
        if time.monotonic() > end:
            raise _UnfinishedError(f"after {TIMEOUT:g} seconds only {len(data)} bytes had come")
    if response.length:  # what is missing of the length announced, if one was
        raise _UnfinishedError(f"truncated: {response.length} bytes more were announced")
    return bytes(data)
