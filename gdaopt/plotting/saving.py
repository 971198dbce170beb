"""Figures outside of pyplot, and their files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdaopt.support.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 150
_MARK = "gdaopt.plotting"  # stands in every file that we write, and in no other file

FORMATS: Mapping[str, dict[str, Any]] = {
    "png": {"metadata": {"Software": _MARK}, "dpi": _DPI},
    "pdf": {"metadata": {"Creator": _MARK, "CreationDate": None}},
    "svg": {"metadata": {"Creator": _MARK, "Date": None}},
}
"""The formats by their file name ending, with the options that matplotlib takes."""


def new_figure(width: float, height: float) -> Figure:
    """Return a figure in inches, outside of pyplot, so that nothing has to close it."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save_figure(path: Path, figure: Figure) -> None:
    """Write a figure atomically, in the format that the ending of the path says."""
    suffix = path.suffix.removeprefix(".")
    write_atomically(path, lambda file: figure.savefig(file, format=suffix, **FORMATS[suffix]))


def is_picture(path: Path) -> bool:
    """Say whether a file is a picture that we wrote."""
    return path.is_file() and _MARK.encode() in path.read_bytes()
