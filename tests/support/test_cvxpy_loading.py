"""What is registered with CVXPY: at once where it is loaded, else with the first model."""

from __future__ import annotations

import subprocess
import sys

import pytest

_REGISTERED = "print('gdaopt' in cp.Problem.REGISTERED_SOLVE_METHODS)"
_MODEL = "M = cp.Variable((2, 2), PSD=True); gda.GraphMetrics(2.0).of(M); "
_ATOM = "M = cp.Variable((2, 2), PSD=True); gda.Ridge(2)(M); "


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        (f"import cvxpy as cp; import gdaopt as gda; {_REGISTERED}", "True"),
        (f"import gdaopt as gda; import cvxpy as cp; {_REGISTERED}", "False"),
        (f"import gdaopt as gda; import cvxpy as cp; {_MODEL}{_REGISTERED}", "True"),
        (f"import gdaopt as gda; import cvxpy as cp; {_ATOM}{_REGISTERED}", "True"),
        ("import gdaopt, sys; print('cvxpy' in sys.modules)", "False"),
    ],
)
def test_the_solve_method_is_registered(code: str, printed: str) -> None:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [printed]
