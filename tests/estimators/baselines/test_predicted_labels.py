"""Harmonic labels under feature weights."""

from __future__ import annotations

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import CutOffSamplesWarning
from gdaopt.estimators.baselines.predicted_labels import harmonic_codes
from tests.estimators.baselines.cases import partly_labelled


def test_samples_that_no_path_joins_to_a_label_are_of_the_nearest_class() -> None:
    X, y = partly_labelled(3)
    with pytest.warns(CutOffSamplesWarning):
        expected = gda.GraphClassifier(1e6 * np.diag([1.0, 2.0, 0.0, 0.5])).fit(X, y).transduction_
    found = harmonic_codes(X, 1e6 * np.array([1.0, 2.0, 0.0, 0.5]), y[y != -1], y != -1)
    np.testing.assert_array_equal(found, expected)
