"""Small quadratic programs by Clarabel, as accurately as it solves them."""

from __future__ import annotations

from typing import Any

from scipy.sparse import csc_array

from gdaopt.errors import SolverFailedError
from gdaopt.support.validation import FloatArray

_ACCURACY = 1e-12  # in the units of the program


def clarabel_answer(
    hessian: csc_array, slope: FloatArray, left: csc_array, right: FloatArray, n_equal: int = 0
) -> Any:
    """Minimise ``½ x'Hx + g'x`` where ``A x ≤ b``, the first `n_equal` rows being equalities.

    Of H the upper triangle is read. Clarabel's answer is returned, whatever its status is; a panic
    of Clarabel is a SolverFailedError.
    """
    import clarabel  # on demand: importing gdaopt loads no solver

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _ACCURACY
    cones = [clarabel.ZeroConeT(n_equal), clarabel.NonnegativeConeT(len(right) - n_equal)]
    try:
        return clarabel.DefaultSolver(hessian, slope, left, right, cones, settings).solve()
    except BaseException as error:  # a panic of Rust is no Exception
        if type(error).__name__ != "PanicException":
            raise
        raise SolverFailedError(f"Clarabel failed on a quadratic program: {error}") from error
