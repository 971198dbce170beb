"""What several tests of the comparison of solvers share."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

from gdaopt.backends import LinearArrays


def by_scipy(arrays: LinearArrays) -> float:
    """Return the least value by SciPy."""
    upper, lower = np.isfinite(arrays.row_upper), np.isfinite(arrays.row_lower)
    matrix = arrays.matrix.toarray()
    found: Any = linprog(
        arrays.cost,
        np.vstack([matrix[upper], -matrix[lower]]),
        np.concatenate([arrays.row_upper[upper], -arrays.row_lower[lower]]),
        bounds=np.column_stack([arrays.lower, arrays.upper]),  # type: ignore[call-overload]
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0
    return float(found.fun)
