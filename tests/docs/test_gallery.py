"""The scripts of the gallery run as they are, and draw something."""

from pathlib import Path

import pytest
from matplotlib import pyplot

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
SCRIPTS = sorted(GALLERY.rglob("plot_*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=[script.stem for script in SCRIPTS])
def test_a_script_draws_its_picture(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyplot, "show", lambda: None)
    names: dict[str, object] = {}
    exec(compile(script.read_text(encoding="utf-8"), script.name, "exec"), names)
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    assert figures
    for figure in figures:
        figure.canvas.draw()  # an animation has to be drawn before it goes
        assert any(ax.has_data() for ax in figure.axes)
    pyplot.close("all")
