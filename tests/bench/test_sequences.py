"""Options of a study of solvers: bad ones are refused before any work."""

from __future__ import annotations

from typing import Any

import pytest

import gdaopt as gda
from gdaopt.backends.registry import SolverInfo
from gdaopt.bench import sequences
from gdaopt.bench.sequences import BenchOptions, starts_of


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"solvers": ["highs py"]}, "unknown solver 'highs py'"),
        ({"solvers": ["all", "highs"]}, "'all' stands alone"),
        ({"solvers": "highs"}, "solvers must be a list, got 'highs'"),
        ({"programs": ["columns"]}, "unknown program 'columns'; did you mean 'column'"),
        ({"programs": []}, "at least one name each"),
        ({"starts": ["warm"]}, "unknown start 'warm'"),
        ({"tolerances": []}, "between 0 and 1, at least one"),
        ({"tolerances": [1.0]}, "between 0 and 1"),
        ({"tolerances": [0.0]}, "must be > 0|above 0|greater"),
        ({"runs": ["certified"]}, "unknown run 'certified'"),
        ({"repeats": 0}, "repeats must be at least 1, got 0"),
        ({"most": 0}, "most must be at least 1, got 0"),
        ({"cap": 0.0}, "cap must be"),
        ({"budget": -1.0}, "budget must be"),
    ],
)
def test_bad_options(given: dict[str, Any], message: str) -> None:
    with pytest.raises(gda.errors.GdaoptError, match=message):
        BenchOptions(**{"solvers": ["highspy"], **given})


def test_all_solvers_are_those_that_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once: GLPK_MI and ECOS_BB solve linear programs by the code of their namesakes."""
    names = {"highspy": True, "HIGHS": True, "ECOS_BB": True, "SCS": False}
    probed = [SolverInfo(name, usable) for name, usable in names.items()]
    monkeypatch.setattr(sequences, "solvers", lambda: probed)
    assert BenchOptions().solvers == ("analytic", "highspy", "HIGHS")


def test_the_order_of_names_does_not_count() -> None:
    one = BenchOptions(solvers=["highspy"], programs=["joint", "diagonal"], tolerances=[1e-4, 1e-6])
    other = BenchOptions(
        solvers=["analytic", "highspy"], programs=["diagonal", "joint"], tolerances=[1e-6, 1e-4]
    )
    assert one == other


def test_only_solvers_that_can_are_started_hot() -> None:
    assert starts_of("CLARABEL", ["cold", "hot"]) == ["cold"]
    assert starts_of("highspy", ["cold", "hot"]) == ["cold", "hot"]
    assert starts_of("analytic", ["cold", "re-solve", "hot"]) == ["re-solve"]
