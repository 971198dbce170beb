"""Unpacking of files that the program ``compress`` packed (``.Z``), as UCI has page-blocks."""

from __future__ import annotations

__all__ = ["MAGIC", "decompress"]

MAGIC = b"\x1f\x9d"
"""The first bytes of such a file."""

_HEADER = 3  # bytes: the two of MAGIC, and one of flags
_FIRST_WIDTH = 9  # bits of a code
_CLEAR = 256  # in block mode the code that empties the table


def decompress(data: bytes, limit: int) -> bytes:
    r"""Return the content of a ``.Z`` file.

    The file is a sequence of codes of 9 or more bits, lowest bit first. Each code stands for a
    string: one of the 256 bytes, or an earlier string with one byte added. Whenever the width of
    the codes changes, the rest of a group of eight codes is filler. The third byte of the file
    tells the largest width, which is 10 to 16; for a width of 9, which the format allows as well,
    the ``compress`` programs differ.

    Parameters
    ----------
    data : bytes
        The file.
    limit : int
        The largest number of bytes that the content may have.

    Returns
    -------
    bytes
        The content. Of a file that was cut short, only a part: the format has no checksum.

    Raises
    ------
    ValueError
        When the file is not of this kind, is damaged, or holds more bytes than the limit.

    Examples
    --------
    >>> decompress(b"\x1f\x9d\x90a\x02\x86\x01", limit=100)
    b'aaaa'
    """
    widest = data[2] & 0x1F if len(data) >= _HEADER else 0
    if data[:2] != MAGIC or not _FIRST_WIDTH < widest <= 16:
        raise ValueError("not a file of the compress program, or of an unknown version of it")
    in_blocks = bool(data[2] & 0x80)
    strings = [bytes([byte]) for byte in range(256)]
    if in_blocks:
        strings.append(b"")  # the place of _CLEAR, which stands for no string
    n_fixed = len(strings)
    content = bytearray()
    width, last = _FIRST_WIDTH, b""
    # In bits: where the codes of this width begin, and where the next code begins.
    group = position = 8 * _HEADER
    while position + width <= 8 * len(data):
        first = position >> 3
        three = int.from_bytes(data[first : first + 3], "little")
        code = three >> (position & 7) & ((1 << width) - 1)
        position += width
        if in_blocks and code == _CLEAR:
            group = position = _group_end(group, position, width)
            del strings[n_fixed:]
            width, last = _FIRST_WIDTH, b""
            continue
        if code < len(strings):
            string = strings[code]
        elif code == len(strings) and last:
            string = last + last[:1]  # the string that is added just below
        else:
            raise ValueError(f"code {code} in bit {position - width} stands for nothing")
        content += string
        if len(content) > limit:
            raise ValueError(f"more than {limit} bytes")
        if last and len(strings) < 1 << widest:
            strings.append(last + string[:1])
        last = string
        if len(strings) == 1 << width and width < widest:
            group = position = _group_end(group, position, width)
            width += 1
    return bytes(content)


def _group_end(group: int, position: int, width: int) -> int:
    """Return the end of the group of eight codes that holds the bit before the position."""
    eight = 8 * width
    return group + -(-(position - group) // eight) * eight
