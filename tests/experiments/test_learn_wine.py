"""README's figure shows what the text below it says."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from experiments import learn_wine


@pytest.mark.slow
def test_each_class_has_its_lower_bound_on_the_axis(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(
        learn_wine, "write_figure", lambda _path, figure, **_options: figures.append(figure)
    )
    learn_wine.run(quick=False, out=tmp_path)
    objectives = figures[0].axes[0]
    bottom, top = objectives.get_ylim()
    dashed = [line for line in objectives.lines if line.get_linestyle() == "--"]
    heights = np.unique([np.ravel(line.get_ydata())[0] for line in dashed])
    assert len(heights) == len({line.get_color() for line in dashed}) == 3
    assert ((bottom < heights) & (heights < top)).all()
