"""Animations show a row of the trace in each frame, and are written in whole files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageSequence

from gdaopt import plotting
from gdaopt.errors import InvalidInputError
from tests.plotting.cases import solved


@pytest.mark.parametrize("what", ["left_ends", "convergence", "discs", "graph"])
def test_a_file_has_a_frame_for_each_row(what: Any, tmp_path: Path) -> None:
    run = solved(max_iterations=3, keep_iterates=True)
    path = tmp_path / "run.gif"
    plotting.animate(run, what, path, names=["a", "b", "c"])
    with Image.open(path) as image:
        frames = [np.array(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)]
    assert len(frames) == len(run.trace)
    assert not np.array_equal(frames[0], frames[-1])
    assert list(tmp_path.iterdir()) == [path]


def test_a_page_has_its_pictures_inside(tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    plotting.animate(solved(max_iterations=2), "left_ends", path)
    assert path.read_text(encoding="utf-8").count("data:image/png;base64") == 3


def test_what_cannot_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = solved(max_iterations=2)
    monkeypatch.setenv("PATH", str(tmp_path))  # there is no ffmpeg
    for arguments, message in (
        ((run, "discs"), "pass keep_iterates=True"),
        ((run.metric, "discs"), "pass a run"),
        ((run, "times"), "unknown what 'times'"),
        ((run, "left_ends", "run.png"), "path must end with .gif, .html or .mp4, got 'run.png'"),
        ((run, "left_ends", "run.mp4"), "there is no program ffmpeg"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            plotting.animate(*arguments)
