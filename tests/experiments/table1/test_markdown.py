"""The study as a page of Markdown."""

from __future__ import annotations

import re

import numpy as np

import gdaopt as gda
from table1.markdown import markdown
from table1.outcome import Outcome
from tests.experiments.table1.cases import block, outcome


class TestMarkdown:
    def test_numbers(self, some: Outcome) -> None:
        text = markdown(some)
        for part in (
            "# Table 1: classification errors, %",
            "## By votes (headline)",
            "| kNN | iris | wine |",
            "| Zadeh, Hosseini, Sra 2016 (GMML) | 9.00 ± 2.00 (6.12: +2.88) | failed (2 tasks) |",
            "| NCA (scikit-learn) | 5.00 ± 1.00 | 4.00 ± 1.00 |",
            "| GDA, the paper's (alternating) | 4.00 ± 0.00 (4.35: −0.35) | – |",
            "| Yang, Cheung, Stanković 2018, labels by SDP [1 seed] | 6.00 | – |",
            "| Zadeh, Hosseini, Sra 2016 (GMML) | 14.00 ± 4.00 (10.40: +3.60) | failed (2 tasks) |",
            "By votes, 1 of the 46 published numbers lie within one point of ours, 1 within two",
        ):
            assert part in text
        assert text.index("## By votes") < text.index("## By scores")

    def test_the_headline_comes_first(self) -> None:
        text = markdown(outcome(block("nca", [[1, 2]]), aggregation="score"))
        assert text.index("## By scores (headline)") < text.index("## By votes")

    def test_what_else_it_says(self, some: Outcome) -> None:
        text = markdown(some)
        for sentence in some.protocol.description():
            assert f"* {sentence}" in text
        for part in (
            f"gdaopt {gda.__version__}, numpy {np.__version__}",
            "* seeds: get it \\| there",
            "* lmnn: metric-learn is not installed",
            "* gmml on wine, seed 0, fold 1: failed: one \\| two three",
            "(`yang2018-sdp`): as yang2018, labels by the semidefinite relaxation; an extra row",
            "* alternating on iris: 8 × ConvergenceWarning",
            "## Compared with GDA, the paper's (alternating)",
            "Nadeau and Bengio 2003",
            "| GDA, the paper's (alternating) | iris | GLR | 5 | 2.5e-01 | 2.5e-01 | 3 | 3 | 8 |",
            "| GDA, the paper's (alternating) | 2 | – |",
        ):
            assert part in text
        tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
        assert len(tables) >= 8
        for table in tables:
            assert len({re.sub(r"\\\|", "", line).count("|") for line in table.splitlines()}) == 1

    def test_stars(self) -> None:
        ours = [[2, 2 + seed % 2] for seed in range(30)]
        found = outcome(block("gmml", ours), block("nca", [[40, 40]] * 30))
        assert re.search(r"\+7\d\.\d\d \(p 0\.00\) \*", markdown(found))
