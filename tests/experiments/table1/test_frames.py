"""The numbers of the study as data frames."""

from __future__ import annotations

import pandas as pd

from table1.frames import comparison_frame, metric_frame, score_frame
from table1.outcome import Outcome
from table1.protocol import Protocol


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
