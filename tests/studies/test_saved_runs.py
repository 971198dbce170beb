"""The file with the samples of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from gdaopt.datasets import Dataset
from gdaopt.studies.saved_runs import read_samples, samples_file, write_samples


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
