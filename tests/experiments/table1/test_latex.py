"""The study as a LaTeX table."""

from __future__ import annotations

from table1.latex import latex
from table1.outcome import Outcome


class TestLatex:
    def test_a_table_for_each_aggregation(self, some: Outcome) -> None:
        text = latex(some)
        assert text.count(r"\begin{tabular}{lrrrr}") == text.count(r"\end{tabular}") == 2
        for part in (
            r" & \multicolumn{2}{c}{iris} & \multicolumn{2}{c}{wine} \\",
            r"NCA (scikit-learn) & 5.00 $\pm$ 1.00 & 10.00 $\pm$ 2.00 & 4.00 $\pm$ 1.00",
            r"\quad published & (6.12) & (10.40) & (3.58) & (4.37) \\",
            r"Stankovi\'c 2018, labels by SDP [1 seed] & 6.00 & 12.00 & -- & -- \\",
            r"by votes: mean $\pm$ standard error over 2 seeds.}",
            "% not run: seeds: get it | there",
        ):
            assert part in text
        assert all(f"% {sentence}" in text for sentence in some.protocol.description())

    def test_every_line_has_as_many_cells(self, some: Outcome) -> None:
        lines = [line for line in latex(some).splitlines() if line.endswith(r"\\")]
        wide = [line for line in lines if r"\multicolumn" not in line]
        assert {line.count(" & ") for line in wide} == {4}
