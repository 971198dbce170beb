"""Downloads of single files, with limits on their size and on the time they take."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gdaopt.datasets.unpacking import LARGEST
from gdaopt.errors import DownloadError

if TYPE_CHECKING:
    from http.client import HTTPResponse

__all__ = ["TIMEOUT", "download"]

TIMEOUT = 20.0
"""Seconds: the limit of connecting, of waiting for an answer, and of the whole download."""

_USER_AGENT = "gdaopt"
_BLOCK = 2**16  # bytes read at a time


def download(url: str) -> bytes:
    """Return the file at an address.

    Parameters
    ----------
    url : str
        An address of HTTP or HTTPS. The proxies of the environment are used.

    Returns
    -------
    bytes
        The whole file.

    Raises
    ------
    DownloadError
        When the server refuses, when the file does not arrive completely within `TIMEOUT`, and when
        it is larger than `gdaopt.datasets.unpacking.LARGEST`. The message names the address.
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
    """An answer began, but was not read to its end."""


def _read(response: HTTPResponse) -> bytes:
    """Return the body of an answer.

    It is read block by block. The time limit of a socket holds for each block, so that a slow
    server could take any time; hence there is a limit for the whole body too.
    """
    end = time.monotonic() + TIMEOUT
    data = bytearray()
    while block := response.read1(_BLOCK):
        data += block
        if len(data) > LARGEST:
            raise _UnfinishedError(f"the file has more than {LARGEST} bytes")
        if time.monotonic() > end:
            raise _UnfinishedError(f"after {TIMEOUT:g} seconds only {len(data)} bytes had arrived")
    if response.length:  # how many bytes are missing, where the server announced a length
        raise _UnfinishedError(f"truncated: {response.length} bytes more were announced")
    return bytes(data)
