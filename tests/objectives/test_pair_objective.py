"""Points of objectives of pairs that keep no numbers of pairs, against those that do."""

from __future__ import annotations

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.directions import DiagonalDirection
from gdaopt.objectives import PairObjective, SeparablePairs, Term
from gdaopt.objectives.pairs import read_labelled_pairs, rectangles
from gdaopt.objectives.scalar_functions import Identity
from gdaopt.support.validation import FloatArray
from tests.objectives.cases import within
from tests.objectives.pairs.cases import make_blocks_small

rng = np.random.default_rng(5)
X = rng.standard_normal((80, 4))


@pytest.mark.parametrize(
    "z", [np.where(X[:, 0] > 0, 1.0, -1.0), X[:, 1], np.eye(3)[np.arange(80) % 3]]
)
def test_points_agree(z: np.ndarray) -> None:
    kept, in_one_pass = (within(limit, lambda: gda.GLR(X, z)).at(np.eye(4)) for limit in (2**28, 1))
    direction = DiagonalDirection(np.array([0.1, 0.2, 0.0, -0.1]))
    for one, other in (
        (kept, in_one_pass),
        (kept.moved(direction, 0.5), in_one_pass.moved(direction, 0.5)),
    ):
        assert other.value == pytest.approx(one.value, rel=1e-12)
        assert other.logarithm().value == pytest.approx(one.logarithm().value, rel=1e-12)
        for name in ("gradient", "gradient_diagonal"):
            np.testing.assert_allclose(
                getattr(other, name)(), getattr(one, name)(), rtol=1e-9, atol=1e-9
            )
        np.testing.assert_allclose(
            other.logarithm().gradient(), one.logarithm().gradient(), rtol=1e-9, atol=1e-9
        )
        np.testing.assert_allclose(other.gradient_column(2), one.gradient_column(2), rtol=1e-9)
        assert other.round_off().value == pytest.approx(one.round_off().value, rel=0.5)
        assert other.vanished() is None


def test_underflow_is_said() -> None:
    point = within(1, lambda: gda.GLR(X, X[:, 0])).at(1e9 * np.eye(4))
    assert point.value == 0
    assert np.isfinite(point.logarithm().value)
    assert "multiply the features" in (point.vanished() or "")


def test_all_terms_of_all_chunks_may_vanish(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then sums in units of 0 gave NaN."""
    monkeypatch.setattr(rectangles, "_CHUNK", 2**8)
    make_blocks_small(monkeypatch, 200)
    glr = within(1, lambda: gda.GLR(1e100 * X, np.sign(X[:, 0])))
    point = glr.at(1e150 * np.eye(4))
    assert len(glr._chunks) > 1
    assert point.value == 0
    assert point.logarithm().value == -np.inf
    assert not point.gradient().any()
    assert "is 0 in floating point" in (point.vanished() or "")


class Wrong(Identity):
    """A scalar function with a wrong derivative."""

    def __call__(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        return z, -np.ones_like(z)


def test_a_wrong_loss_of_ones_own_is_found_out() -> None:
    labelled = read_labelled_pairs(X, np.arange(80) % 2, None)
    objective = SeparablePairs(labelled, (Term(True, Wrong(), 1.0),))
    problem = gda.MetricProblem(objective, gda.GraphMetrics(4.0))
    with pytest.raises(
        gda.errors.InvalidInputError, match=r"the gradient of .*SeparablePairs.* is wrong"
    ):
        gda.solve(problem, "certified")


def test_objectives_of_the_package_are_tested() -> None:
    assert gda.GLR(X, X[:, 0]).tested
    assert gda.MCML(X, np.arange(80) % 2).tested
    assert not PairObjective.tested
    assert not SeparablePairs.tested
