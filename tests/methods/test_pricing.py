"""Where the atoms come from: the joint program finds the same optimum as the exact oracle."""

from __future__ import annotations

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.master.master_point import ActiveSet
from gdaopt.methods import Clock
from gdaopt.methods.certified import CertifiedRun
from gdaopt.sets import PricedAtoms
from tests.methods.certified_cases import (
    assert_same_optimum,
    certified,
    samples,
)
from tests.programs.cases import need

# --- Atoms from a program ------------------------------------------------------------------------


@pytest.mark.covering(1)
@pytest.mark.parametrize("path_weight", [0.0, 0.05])
@pytest.mark.parametrize("solver", ["HIGHS", "CLARABEL", "ECOS", "SCS", "SCIPY"])
@pytest.mark.filterwarnings("ignore::gdaopt.errors.InaccurateSolutionWarning")
def test_a_program_finds_the_same_optimum(solver: str, path_weight: float) -> None:
    need(solver)
    for name, positive in (("iris", "versicolor"), ("wine", "class_0")):
        X, z = samples(name, positive, "half", "unit")
        feasible_set = gda.GraphMetrics(X.shape[1], 1e-6, path_weight)
        problem = gda.MetricProblem(gda.GLR(X, z), feasible_set)
        priced = certified(problem, 1e-6, pricing="program", solver=solver)
        assert_same_optimum(priced, certified(problem, 1e-6))
        assert priced.solver == solver
        assert {row.solver for row in list(priced.trace)[1:]} == {solver}


def test_highs_is_the_default_program_solver() -> None:
    assert gda.methods.Certified(pricing="program").solver_name == "HIGHS"
    assert gda.methods.Certified(pricing="program", solver="scs").solver_name == "SCS"
    assert gda.methods.Certified().solver_name == "analytic"


def test_atoms_that_do_not_lower_the_objective_stay_out() -> None:
    """Below the mean price of the active set, and not just below 0, they do."""
    problem = gda.MetricProblem(gda.LogDet(np.eye(3)), gda.GraphMetrics(3.0))
    run = CertifiedRun(gda.methods.Certified(), problem, Clock())
    run.best = PricedAtoms(Atoms.of_features(np.arange(3)), np.array([-3.0, -2.0, -1.0]))
    run.active_set = ActiveSet(Atoms.of_features(np.array([0])), np.array([run.budget]))
    for level, count in ((-2.0, 1), (-1.5, 2), (0.5, 3)):
        run.prices = np.array([level])
        assert run.level == level
        assert len(run._joining()[0]) == count
