"""The study as a picture."""

from __future__ import annotations

from table1.outcome import Outcome
from table1.picture import picture


class TestPicture:
    def test_published_numbers_are_open(self, some: Outcome) -> None:
        figure = picture(some)
        panels = figure.axes
        assert [ax.get_title() for ax in panels] == [
            "iris, kNN",
            "wine, kNN",
            "iris, GB",
            "wine, GB",
        ]
        open_marks = [line for line in panels[0].lines if line.get_markerfacecolor() == "none"]
        assert sorted(float(line.get_xdata()[0]) for line in open_marks) == [4.35, 6.12]  # type: ignore[index,arg-type]  # arrays
        assert [text.get_text() for text in panels[1].texts] == ["failed"]
        titles = [label.get_text() for label in panels[0].get_yticklabels()]
        assert titles[0] == "Zadeh, Hosseini, Sra 2016 (GMML)"
        assert some.protocol.description()[0][:40] in figure.get_supxlabel()
