"""A learned run as an object: its samples, filled values, coordinates and shares."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.studies.applying import LearnedRun
from tests.cli.cases import ANALYTIC, learn, undrawn


def test_missing_values_are_filled_as_in_the_run(tmp_path: Path) -> None:
    (tmp_path / "known.csv").write_text(
        "a,b,kind\n1,5,x\n2,,x\n3,6,y\n9,7,y\n?,9,x\n1,8,x\n7,1,y\n", encoding="utf-8"
    )
    (tmp_path / "new.csv").write_text("b,a\n,1.5\n4,\n", encoding="utf-8")
    arguments = ("--impute", "median", *ANALYTIC, "--out", tmp_path / "run")
    with undrawn():
        learn(tmp_path / "known.csv", *arguments)
    learned = LearnedRun.load(tmp_path / "run")
    X, labels = learned.read(tmp_path / "new.csv")
    np.testing.assert_array_equal(X, [[1.5, 6.5], [2.5, 4.0]])
    assert labels is None
    assert len(learned.predict(X, n_neighbors=1)) == 2


@pytest.mark.parametrize("scale", ["unit", "zscore", "none"])
def test_the_distances_are_those_of_the_metric(scale: str) -> None:
    data = load("iris")
    rng = np.random.default_rng(2)
    root = rng.standard_normal((4, 4))
    run = LearnedRun(data, scale, None, None, {"setosa": root.T @ root})
    X = data.features[:7]
    coordinates = run.transform(X)
    differences = gda.datasets.scale_features(X, scale, data.features)[:, None]
    differences = differences - gda.datasets.scale_features(X, scale, data.features)
    expected = np.einsum("ijk,kl,ijl->ij", differences, root.T @ root, differences)
    found = ((coordinates[:, None] - coordinates) ** 2).sum(axis=2)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(run.shares(X, 10).sum(axis=1), 1.0)


def test_a_run_that_is_not_finished_says_so() -> None:
    data = load("iris")
    run = LearnedRun(data, "unit", None, None, {"setosa": np.eye(4), "virginica": np.eye(4)})
    with pytest.raises(gda.errors.InvalidInputError, match="no metric of class 'versicolor' yet"):
        run.predict(data.features[:3])
    assert run.predict(data.features[:3], 3, "setosa").tolist() == ["setosa"] * 3
