"""The rows of the table, and which of them can be run."""

from __future__ import annotations

import numpy as np
import pytest

from table1.fold import class_codes, halves
from table1.protocol import Protocol, scaled
from table1.rows import DEFAULT, ROWS, Row, available
from table1.training import Learned, Training
from tests.experiments.table1.cases import clouds


class TestRegistry:
    def test_rows(self) -> None:
        paper = ["zhu2003", "mao2016", "yang2018", "gmml", "fgl", "alternating"]
        assert list(ROWS)[:6] == paper
        assert set(DEFAULT) == set(ROWS) - {"yang2018-sdp"}
        sets = ("graph", "diagonal", "definite")
        for objective, names in {
            "GLR": ["alternating", "joint", *(f"certified-{kind}" for kind in sets), "multiclass"],
            "MCML": [f"mcml-{kind}" for kind in sets],
            "LMNN": [f"lmnn-{kind}" for kind in sets],
        }.items():
            assert [name for name, row in ROWS.items() if row.objective == objective] == names

    def test_absent_packages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("table1.rows.find_spec", lambda _: None)
        found, left_out = available(["lmnn", "gmml", "itml"])
        assert found == ["gmml"]
        assert left_out == [f"{name}: metric-learn is not installed" for name in ("lmnn", "itml")]

    def test_packages_that_do_not_work(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """metric-learn 0.7 imports beside scikit-learn 1.9, and its fits fail."""

        def fail(training: Training) -> Learned:
            raise TypeError(f"{len(training.X)} samples")

        row = Row(title="broken", settings="", learn=fail, needs="json")
        monkeypatch.setitem(ROWS, "broken", row)
        found = available(["broken", "nca"])
        assert found == (["nca"], ["broken: json does not work here (TypeError: 20 samples)"])

    def test_transductive_rows_see_the_test_half(self) -> None:
        data = clouds()
        codes = class_codes(data)[1]
        labelled = halves(data, codes, 0, 0, Protocol())
        X = scaled(data.features, labelled, "train")
        other = X.copy()
        other[~labelled] += np.random.default_rng(1).normal(size=other[~labelled].shape)
        signal = (codes[labelled] == 1).astype(float)[:, None]
        for name, sees in (
            ("zhu2003", True),
            ("mao2016", True),
            ("yang2018", True),
            ("fgl", False),
        ):
            one, two = (
                ROWS[name].learn(Training(samples, labelled, signal, 0, Protocol())).metric
                for samples in (X, other)
            )
            assert np.array_equal(one, two) != sees
