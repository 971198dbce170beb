"""The file with the samples of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gdaopt.datasets import Dataset
from gdaopt.studies.saved_runs import read_samples, write_samples


def test_samples_come_back_to_the_last_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    features = rng.standard_normal((6, 3)) * 10.0 ** rng.integers(-300, 300, (6, 3))
    labels = np.array(["a", "", "a,b", 'q"q', "line\nend\r", " ä "])
    data = Dataset("d", features, labels, ("label", "x, y", '"'))
    write_samples(tmp_path / "samples.csv", data)
    again = read_samples(tmp_path / "samples.csv", "d", data.feature_names)
    assert again.sha256 == data.sha256
    assert again.labels.tolist() == data.labels.tolist()
