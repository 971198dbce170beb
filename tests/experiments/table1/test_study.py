"""The study's files: Markdown, LaTeX, parquet, picture, and the directory that holds them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

import gdaopt as gda
from gdaopt.datasets import Dataset
from table1.frames import comparison_frame, metric_frame, score_frame
from table1.latex import latex
from table1.markdown import markdown
from table1.outcome import Block, Outcome
from table1.picture import picture
from table1.protocol import Protocol
from table1.study import Part, Table1
from tests.experiments.table1.cases import FILES, InProcess, block, clouds, names, outcome, task


@pytest.fixture
def some() -> Outcome:
    """Two data sets; a row without failures, one with, a GLR row, and an extra one of one seed."""
    facts = {"class": "a", "seconds": 2.0, "status": "stalled", "iterations": 7, "components": 3}
    told = [{**facts, "objective": 5.0, "relative_gap": gap} for gap in (0.25, None)]
    more = {"metrics": told, "warned": {"ConvergenceWarning": 2}}
    tasks = [task("alternating", "iris", 0, fold, 2, **more) for fold in (0, 1)]
    about = {"dataset": "wine", "row": "gmml", "seed": 0, "fold": 1}
    failed = {**about, "status": "failed", "message": "one | two\nthree"}
    return outcome(
        *(block("gmml", [[3, 4], [5, 6]]), block("nca", [[3, 3], [2, 2]])),
        Block("wine", "gmml", [[task("gmml", "wine", 0, 0, 3), failed]] * 2),
        block("nca", [[1, 2], [2, 3]], "wine"),
        Block("iris", "alternating", [tasks, tasks]),
        block("yang2018-sdp", [[3, 3]]),
        left_out=["lmnn: metric-learn is not installed"],
        missing=["seeds: get it | there"],
    )


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
            "| GDA, the paper's (alternating) | iris | 5 | 2.5e-01 | 2.5e-01 | 3 | 3 | 8 |",
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


class TestFrames:
    def test_scores(self, some: Outcome) -> None:
        frame = score_frame(some)
        assert len(frame) == 2 * 2 * 6
        assert frame["headline"].tolist() == [True] * 12 + [False] * 12
        row = frame[(frame["row"] == "gmml") & (frame["dataset"] == "wine")].iloc[0]
        assert pd.isna(row["error"])
        assert row["n_failed"] == 2
        assert row["published"] == 3.58
        assert frame.attrs["protocol"] == {**Protocol().record(), "aggregation": "vote"}
        assert "seconds" not in frame

    def test_comparisons(self, some: Outcome) -> None:
        frame = comparison_frame(some)
        on_wine = frame[frame["dataset"] == "wine"]
        assert on_wine.empty  # of two rows there, one failed
        assert len(frame) == 6 * 4
        assert {"difference", "t", "p"} <= set(frame)

    def test_metrics(self, some: Outcome) -> None:
        frame = metric_frame(some)
        assert len(frame) == 4 + 4 + 2 + 4 + 8 + 2
        glr = frame[frame["row"] == "alternating"]
        assert glr["relative_gap"].isna().sum() == 4
        assert glr["components"].tolist() == [3] * 8


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


class TestStudy:
    def parts(self, *rows: str, n_seeds: int = 1) -> list[Part]:
        return [Part(clouds(), row, n_seeds) for row in rows]

    def test_files(self, tmp_path: Path) -> None:
        study = Table1(tmp_path / "new" / "out", self.parts("euclidean", "gmml"), Protocol())
        found = study.run(InProcess())
        assert names(study.path) == FILES
        assert found.rows == ["gmml", "euclidean"]
        frame = pd.read_parquet(study.path / "table1.parquet")
        assert frame.attrs["protocol"]["scaling"] == "train"
        image = imread(study.path / "table1.png")
        assert image[..., :3].std() > 0.05

    def test_it_grows(self, tmp_path: Path) -> None:
        first = Table1(tmp_path / "a", self.parts("euclidean"), Protocol())
        first.run(InProcess())
        kept = {path.name: path.stat().st_mtime_ns for path in (first.path / "tasks").iterdir()}
        headline = Protocol(aggregation="score")
        grown = Table1(tmp_path / "a", self.parts("gmml", "euclidean", n_seeds=3), headline)
        assert (grown.n_done, len(grown.tasks)) == (2, 12)
        grown.run(InProcess())
        tasks = {path.name: path.stat().st_mtime_ns for path in (first.path / "tasks").iterdir()}
        assert {name: tasks[name] for name in kept} == kept
        fresh = Table1(tmp_path / "b", self.parts("gmml", "euclidean", n_seeds=3), headline)
        fresh.run(InProcess())
        same = [(study.path / "table1.parquet").read_bytes() for study in (grown, fresh)]
        assert same[0] == same[1]

    def test_seeds_come_one_after_the_other(self, tmp_path: Path) -> None:
        study = Table1(tmp_path, self.parts("euclidean", "gmml", n_seeds=2), Protocol())
        assert [task.about["seed"] for task in study.tasks.values()] == [0] * 4 + [1] * 4
        assert study.label(next(iter(study.tasks))) == "euclidean on clouds, seed 0, fold 0"

    def test_another_protocol_is_refused(self, tmp_path: Path) -> None:
        Table1(tmp_path, self.parts("euclidean"), Protocol())
        with pytest.raises(gda.InvalidInputError, match='scaling is "train" there and "halves"'):
            Table1(tmp_path, self.parts("euclidean"), Protocol(scaling="halves"))

    def test_a_failing_row_is_shown(self, tmp_path: Path) -> None:
        """Five neighbours of four samples."""
        parts = [Part(clouds(2, each=4), row, 1) for row in ("euclidean", "gmml")]
        found = Table1(tmp_path, parts, Protocol()).run(InProcess())
        assert [len(part.failed) for part in found.blocks] == [2, 2]
        text = (tmp_path / "table1.md").read_text()
        assert "failed (2 tasks)" in text
        assert (
            "* euclidean on clouds, seed 0, fold 0: failed: ValueError: Expected n_neighb" in text
        )

    def test_classes_that_are_too_small(self, tmp_path: Path) -> None:
        data = Dataset("bad", np.eye(3), np.array(["a", "a", "b"]), ("x", "y", "z"))
        with pytest.raises(gda.InvalidInputError, match="has 1 sample of class 'b'"):
            Table1(tmp_path / "new", [Part(data, "euclidean", 1)], Protocol())
        assert names(tmp_path) == set()

    def test_nothing_to_run(self, tmp_path: Path) -> None:
        with pytest.raises(gda.InvalidInputError, match="nothing to run: lmnn: why"):
            Table1(tmp_path, [], Protocol(), left_out=["lmnn: why"])
        with pytest.raises(gda.InvalidInputError, match="seeds must be at least 1, got 0"):
            Part(clouds(), "euclidean", 0)
