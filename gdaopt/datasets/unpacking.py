"""The text in a file that is plain, compressed, or a zip archive."""

from __future__ import annotations

import io

from gdaopt.datasets import lzw
from gdaopt.errors import InvalidInputError
from gdaopt.support.files import DamagedError, opened, read_member

__all__ = ["LARGEST", "unpack"]

LARGEST = 2**24
"""The most bytes that a file may have, packed or unpacked: fifty times those of the data sets."""


def unpack(data: bytes, member: str, where: str) -> str:
    """Return the text that a file holds; the first bytes tell how it is packed.

    Parameters
    ----------
    data : bytes
        The file: a text, a text packed by ``compress`` (``.Z``), or a zip archive with one of these
        among its members.
    member : str
        The name of the text in a zip archive, without the ``.Z``.
    where : str
        The name of the file in error messages.

    Returns
    -------
    str
        The text.

    Raises
    ------
    InvalidInputError
        When the file is damaged, is too large, has no such member, or does not hold a text.

    Examples
    --------
    >>> unpack(b"1 2 3", "table.txt", "a file")
    '1 2 3'
    """
    if len(data) > LARGEST:
        raise InvalidInputError(f"{where} has more than {LARGEST} bytes; get it again")
    if data[:4] == b"PK\x03\x04":
        data = _member(data, member, where)
    if data[:2] == lzw.MAGIC:
        try:
            data = lzw.decompress(data, LARGEST)
        except ValueError as error:
            raise InvalidInputError(f"{where} is damaged: {error}; get it again") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{where} is neither text nor a text in a .zip or .Z file ({error}); get it again"
        ) from error


def _member(data: bytes, member: str, where: str) -> bytes:
    """Return the member of a zip archive with the given name, or with this name and ``.Z``."""
    try:
        with opened(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                if info.filename.rpartition("/")[2] in (member, f"{member}.Z"):
                    return read_member(archive, info, LARGEST)
            names = ", ".join(archive.namelist())
    except DamagedError as error:
        raise InvalidInputError(
            f"{where} is a damaged zip archive: {error}; get it again"
        ) from error
    raise InvalidInputError(
        f"{where} has no {member} in it, but {names or 'nothing'}; get it again"
    )
