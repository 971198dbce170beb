"""File names made from labels, which may hold any character."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import chain, count

_LONGEST = 50  # characters: file systems allow 255 bytes, endings included

# Windows takes these for devices, whatever follows a dot.
_PORTS = {f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³"}
_DEVICES = {"aux", "con", "nul", "prn"} | _PORTS


def file_stems(labels: Iterable[str]) -> dict[str, str]:
    """Return a file name without its ending for each label, which all file systems take.

    Labels are all different. It is the label where that is such a name. No two names differ in case
    alone, or in how their accents are encoded: many file systems do not tell them apart.
    """
    stems: dict[str, str] = {}
    taken: set[str] = set()
    for label in labels:
        safe = _safe(label)
        candidates = chain([safe], (f"{safe}-{number}" for number in count(2)))
        stems[label] = next(stem for stem in candidates if _folded(stem) not in taken)
        taken.add(_folded(stems[label]))
    return stems


def _safe(label: str) -> str:
    """Return a label without what some file system does not take in a name."""
    kept = re.sub(r"[^\w.+-]+", "_", unicodedata.normalize("NFC", label))
    name = kept.lstrip(".")[:_LONGEST].rstrip(".") or "class"
    return f"_{name}" if name.partition(".")[0].casefold() in _DEVICES else name


def _folded(name: str) -> str:
    """Return what is equal for names that a file system may take for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", name).casefold())
