"""A learned run as an object: the file of its samples, filled values, coordinates and shares."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import gdaopt as gda
from gdaopt.datasets import Dataset, load
from gdaopt.studies.applying import LearnedRun
from gdaopt.studies.saved_runs import read_samples, samples_file, write_samples
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
    new = learned.read(tmp_path / "new.csv")
    np.testing.assert_array_equal(new.features, [[1.5, 6.5], [2.5, 4.0]])
    assert new.labels is None
    assert len(learned.predict(new.features, n_neighbors=1)) == 2


@pytest.mark.parametrize("is_sparse", [False, True])
def test_rows_that_were_learned_from_are_counted(is_sparse: bool) -> None:
    X = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    wrap = csr_array if is_sparse else np.array
    run = LearnedRun(Dataset("d", wrap(X), np.array(["1", "2", "1"]), ("1", "2", "3")), None, {})
    new = np.array([[2.0, 0.0, 0.0], [-0.0, 1.0, 0.0], [0.0, 2.0, 0.0]])
    assert run.describe_overlap(wrap(new[2:])) == []
    (said,) = run.describe_overlap(wrap(new))
    assert said.startswith("2 of the 3 samples are among those learned from")


def test_a_run_that_is_not_finished_says_so() -> None:
    data = load("iris")
    run = LearnedRun(data, None, {"setosa": np.eye(4), "virginica": np.eye(4)})
    with pytest.raises(gda.errors.InvalidInputError, match="no metric of class 'versicolor' yet"):
        run.predict(data.features[:3])
    assert run.predict(data.features[:3], 3, "setosa").tolist() == ["setosa"] * 3


@pytest.mark.parametrize("is_sparse", [False, True])
def test_samples_come_back_to_the_last_bit(is_sparse: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    features = rng.standard_normal((6, 3)) * 10.0 ** rng.integers(-300, 300, (6, 3))
    labels = np.array(["a", "", "a,b", 'q"q', "line\nend\r", " ä "])
    data = Dataset("d", features, labels, ("label", "x, y", '"'))
    if is_sparse:
        features[rng.random((6, 3)) < 0.5] = 0.0
        numbers = np.array(["1", "-1", "0.5", "1", "100000000000000000000", "-2"])
        data = Dataset("d", csr_array(features), numbers, ("1", "2", "3"))
    write_samples(tmp_path, data)
    again = read_samples(tmp_path / samples_file(data), "d", data.feature_names)
    assert again.sha256 == data.sha256
    assert again.labels.tolist() == data.labels.tolist()
