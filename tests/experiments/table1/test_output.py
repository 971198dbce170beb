"""What the study writes: frames, Markdown, LaTeX and a picture; what becomes of failures."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gdaopt as gda
from table1.frames import comparison_frame, metric_frame, score_frame
from table1.latex import latex
from table1.markdown import markdown
from table1.outcome import Block, Outcome
from table1.picture import picture
from table1.protocol import Protocol
from table1.statistics import n_within
from table1.tables import nearness
from tests.experiments.table1.cases import block, outcome, task


def test_scores(some: Outcome) -> None:
    frame = score_frame(some)
    assert len(frame) == 2 * 2 * 6
    assert frame["headline"].tolist() == [True] * 12 + [False] * 12
    row = frame[(frame["row"] == "gmml") & (frame["dataset"] == "wine")].iloc[0]
    assert pd.isna(row["error"])
    assert row["n_failed"] == 2
    assert row["published"] == 3.58
    assert frame.attrs["protocol"] == {**Protocol().record(), "aggregation": "vote"}
    assert "seconds" not in frame


def test_comparisons(some: Outcome) -> None:
    frame = comparison_frame(some)
    on_wine = frame[frame["dataset"] == "wine"]
    assert on_wine.empty  # of two rows there, one failed
    assert len(frame) == 6 * 4
    assert {"difference", "t", "p"} <= set(frame)


def test_metrics(some: Outcome) -> None:
    frame = metric_frame(some)
    assert len(frame) == 4 + 4 + 2 + 4 + 8 + 2
    glr = frame[frame["row"] == "alternating"]
    assert glr["relative_gap"].isna().sum() == 4
    assert glr["components"].tolist() == [3] * 8


def test_a_table_for_each_aggregation(some: Outcome) -> None:
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


def test_every_line_has_as_many_cells(some: Outcome) -> None:
    lines = [line for line in latex(some).splitlines() if line.endswith(r"\\")]
    wide = [line for line in lines if r"\multicolumn" not in line]
    assert {line.count(" & ") for line in wide} == {4}


def test_numbers(some: Outcome) -> None:
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


def test_the_headline_comes_first() -> None:
    text = markdown(outcome(block("nca", [[1, 2]]), aggregation="score"))
    assert text.index("## By scores (headline)") < text.index("## By votes")


def test_what_else_it_says(some: Outcome) -> None:
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


def test_stars() -> None:
    ours = [[2, 2 + seed % 2] for seed in range(30)]
    found = outcome(block("gmml", ours), block("nca", [[40, 40]] * 30))
    assert re.search(r"\+7\d\.\d\d \(p 0\.00\) \*", markdown(found))


def test_published_numbers_are_open(some: Outcome) -> None:
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


def test_limits_are_inclusive_in_two_decimals() -> None:
    assert n_within([1.0, -1.0049, 1.0051, 2.0, -2.01]) == [2, 4]
    assert n_within([]) == [0, 0]


def test_counts() -> None:
    """By kNN 6 and by GB 12 against 6.12 and 10.40 (GMML), 4.35 and 4.80 (FGL)."""
    found = outcome(block("gmml", [[3, 3]]), block("fgl", [[3, 3]]), block("nca", [[3, 3]]))
    assert found.within("vote") == (4, [1, 3])
    assert nearness(found, "vote") == (
        "By votes, 1 of the 46 published numbers lie within one point of ours, 3 within two "
        "(of 4 that were run)."
    )
    assert found.within("score") == (4, [1, 1])  # 4 and 8


def test_extra_rows_do_not_count() -> None:
    found = outcome(block("gmml", [[3, 3], [3, 3]]), block("fgl", [[3, 3]]))
    assert found.within("vote")[0] == 2


def test_none() -> None:
    assert nearness(outcome(block("nca", [[3, 3]])), "vote").startswith("None of the 46")


def failing(**status: Any) -> Block:
    """Three good tasks, and one that is not."""
    good = [task("gmml", "iris", seed, fold, 3) for seed, fold in ((0, 0), (0, 1), (1, 0))]
    about = {"dataset": "iris", "row": "gmml", "seed": 1, "fold": 1}
    return Block("iris", "gmml", [good[:2], [good[2], {**about, "message": "why", **status}]])


@pytest.mark.parametrize("status", ["failed", "died"])
def test_no_number_of_fewer_folds(status: str) -> None:
    found = outcome(failing(status=status), block("fgl", [[3, 3], [3, 3]]))
    score = found.score("iris", "gmml", "knn", "vote")
    assert score is not None
    assert (score.error, score.standard_error, score.n_failed) == (None, None, 1)
    assert found.compare("iris", "gmml", "fgl", "knn", "vote") is None
    assert found.within("vote")[0] == 2
    assert found.ranks("vote")[1] == ["gmml"]
    assert len(list(failing(status=status).metrics())) == 3
