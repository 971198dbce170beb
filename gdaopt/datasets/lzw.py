"""Unpacking what the ``compress`` program packed (``.Z``): UCI has page-blocks in that form."""

from __future__ import annotations

__all__ = ["MAGIC", "decompress"]

MAGIC = b"\x1f\x9d"
"""How such a file begins."""

_HEADER = 3  # bytes: two of MAGIC, one of flags
_FIRST_WIDTH = 9  # bits of a code
_CLEAR = 256  # in block mode the code that empties the table


def decompress(data: bytes, limit: int) -> bytes:
    r"""Return the content of a ``.Z`` file.

    Codes of 9 and more bits, lowest bit first, each stand for a string: one of the 256 bytes, or
    an earlier string and one byte more. Whenever their width changes, the rest of a group of eight
    codes is filler. The third byte of the file tells the largest width, 10 to 16 (9 in theory,
    but there the ``compress`` programs differ).

    Parameters
    ----------
    data : bytes
        The file.
    limit : int
        How many bytes the content may have at most.

    Returns
    -------
    bytes
        The content. A file that was cut short gives less of it: the format has no checksum.

    Raises
    ------
    ValueError
        When the file is no such file, is damaged, or holds more than the limit.

    Examples
    --------
    >>> decompress(b"\x1f\x9d\x90a\x02\x86\x01", limit=100)
    b'aaaa'
    """
    widest = data[2] & 0x1F if len(data) >= _HEADER else 0
    if data[:2] != MAGIC or not _FIRST_WIDTH < widest <= 16:
        raise ValueError("not a file of the compress program, or one of an unknown kind")
    in_blocks = bool(data[2] & 0x80)
    strings = [bytes([byte]) for byte in range(256)]
    if in_blocks:
        strings.append(b"")  # the place of _CLEAR, which stands for no string
    n_fixed = len(strings)
    content = bytearray()
    width, last = _FIRST_WIDTH, b""
    group = position = 8 * _HEADER  # in bits: where the codes of this width begin, and the next one
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
            string = last + last[:1]  # the string that is about to be added
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
    """Return where the eight codes end that the position is among or just behind."""
    eight = 8 * width
    return group + -(-(position - group) // eight) * eight
