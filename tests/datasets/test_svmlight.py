"""Sparse samples from svmlight files: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import gdaopt as gda
from gdaopt.datasets import read_svmlight
from gdaopt.errors import InvalidInputError


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("labels", [[-1, 1], [0.5, 2.0], [3, 7]])
def test_samples_come_back_and_can_be_learned_from(
    labels: list[float], zero_based: bool, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(1, 9, (20, 30)) / 8 * (rng.random((20, 30)) < 0.3)
    y = np.tile(labels, 10)
    dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=zero_based)
    found, classes = read_svmlight(tmp_path / "a.svm", n_features=30)
    np.testing.assert_array_equal(found.toarray(), X)
    np.testing.assert_array_equal(classes, y)
    assert classes.dtype.kind == ("f" if labels[0] == 0.5 else "i")
    if labels[0] != 0.5:  # scikit-learn takes fractions for no classes
        learner = gda.DiagonalMetricLearner().fit(found, classes)
        np.testing.assert_array_equal(learner.classes_, labels)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "no file in the svmlight format"),
        ("1 2:x\n", "no file in the svmlight format"),
        ("1 3:1 2:1\n", "no file in the svmlight format"),
        ("1 5:1\n", "holds the index 5; of 4 features counted from 1 the last is 4"),
        ("1,2 1:1\n2 2:1\n", "has lines with several labels, separated by commas"),
        ("spam 1:1\n", "no file in the svmlight format"),
        ("", "holds no samples"),
        ("# a comment\n", "holds no samples"),
        ("1 2:nan\n", "not finite"),
        ("inf 2:1\n", "not finite"),
    ],
)
def test_other_files_are_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=words):
        read_svmlight(path, n_features=4)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"b\.svm cannot be read: .*o such file"):
        read_svmlight(tmp_path / "b.svm")
    with pytest.raises(InvalidInputError, match="n_features must be at least 1"):
        read_svmlight(tmp_path / "b.svm", n_features=0)
