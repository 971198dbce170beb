"""What is known of each solver without asking it: package, licence, algorithms, options.

A package's own metadata name the licence of the interface only, or hold its full text, so that the
licences are written down here. They are the licences of the solvers that the packages contain.

One number can be asked of all solvers as their tolerance. What it means differs: simplex methods
have tolerances of bounds and reduced costs, interior-point methods of the gap as well, and
first-order methods of sums over all rows. What was reached has to be measured at the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

__all__ = ["CATALOGUE", "SolverEntry", "entry_of", "tolerance_options"]

_EXTRA = 'pip install "gdaopt[solvers]"'


@dataclass(frozen=True)
class SolverEntry:
    """One solver.

    Attributes
    ----------
    package : str
        The package that brings it, as package indices call it.
    licence : str
        SPDX identifier, or ``"proprietary"``.
    algorithms : tuple of str
        Kinds of algorithm that it has for linear programs, the default first.
    hint : str
        How to get it.
    loud : bool
        Whether it prints what no option of it silences. It is then solved in a worker process.
    alone : bool
        Whether it can be loaded only into a process without highspy: a worker process of its own.
    hot : bool
        Whether CVXPY can start it from its last answer. Others are at most told what has changed.
    tolerances : tuple of str
        The names of the options that are tolerances; none where CVXPY does not pass them on (GLPK,
        GLOP and PDLP) or we do not know them.
    tolerances_in : str
        The option whose value is a mapping that holds these; empty where they are options.
    options : tuple of str
        The names of its options, for a solver that ignores unknown options and does not list its
        own.
    time_limit : str
        The option with the seconds that it may take; empty where it is not used.
    """

    package: str
    licence: str
    algorithms: tuple[str, ...]
    hint: str = _EXTRA
    loud: bool = False
    alone: bool = False
    hot: bool = False
    tolerances: tuple[str, ...] = ()
    tolerances_in: str = ""
    options: tuple[str, ...] = ()
    time_limit: str = ""

    @property
    def elsewhere(self) -> bool:
        """Whether it is always solved in a worker process."""
        return self.loud or self.alone

    @property
    def version(self) -> str:
        """The version of the package that is installed; empty when it is not.

        Examples
        --------
        >>> int(CATALOGUE["HIGHS"].version.split(".")[0]) >= 1
        True
        """
        try:
            return version(self.package)
        except PackageNotFoundError:
            return ""


def _proprietary(package: str, *algorithms: str) -> SolverEntry:
    """Return a solver that needs a licence of the user's."""
    return SolverEntry(package, "proprietary", algorithms, f"pip install {package}, and a licence")


def _other(package: str, licence: str, algorithms: tuple[str, ...], where: str) -> SolverEntry:
    """Return a free solver that cannot be part of ``gdaopt[solvers]``."""
    return SolverEntry(package, licence, algorithms, where)


_IPM, _SIMPLEX, _FIRST = "interior point", "simplex", "first order"
_EPS = ("eps_abs", "eps_rel")
_ABSTOL = ("abstol", "reltol", "feastol")
_FEASIBILITY = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")

CATALOGUE: dict[str, SolverEntry] = {
    "CBC": SolverEntry(
        "cylp",
        "EPL-2.0",
        (_SIMPLEX,),
        tolerances=("primalTolerance", "dualTolerance"),
        options=(
            *("automaticScaling", "dualTolerance", "infeasibilityCost", "logLevel", "scaling"),
            *("maxNumIteration", "optimizationDirection", "presolve", "primalTolerance"),
        ),
    ),
    "CLARABEL": SolverEntry(
        "clarabel",
        "Apache-2.0",
        (_IPM,),
        tolerances=("tol_gap_abs", "tol_gap_rel", "tol_feas"),
        time_limit="time_limit",
    ),
    "CVXOPT": SolverEntry(
        "cvxopt",
        "GPL-3.0-or-later",
        (_IPM,),
        tolerances=_ABSTOL,
        options=(
            *("abstol", "debug", "feastol", "kktreg", "kktsolver", "max_iters", "maxiters"),
            *("refinement", "reltol", "show_progress"),
        ),
    ),
    "DAQP": SolverEntry("daqp", "MIT", ("active set",), tolerances=("primal_tol", "dual_tol")),
    "ECOS": SolverEntry(
        "ecos",
        "GPL-3.0-only",
        (_IPM,),
        "pip install ecos (wheels for Python < 3.13, not for macOS on arm64); CLARABEL solves the "
        "same programs",
        tolerances=_ABSTOL,
    ),
    "GLOP": SolverEntry("ortools", "Apache-2.0", (_SIMPLEX,), alone=True),
    "GLPK": SolverEntry(
        "cvxopt", "GPL-3.0-or-later", (_SIMPLEX,), options=("glpk", "max_iters", "maxiters")
    ),
    "HIGHS": SolverEntry(
        "highspy",
        "MIT",
        (_SIMPLEX, _IPM, _FIRST),
        hot=True,
        tolerances=(*_FEASIBILITY, "ipm_optimality_tolerance"),
        time_limit="time_limit",
    ),
    "MPAX": SolverEntry("mpax", "MIT", (_FIRST,), hot=True, tolerances=_EPS),
    "OSQP": SolverEntry(
        "osqp", "Apache-2.0", (_FIRST,), hot=True, tolerances=_EPS, time_limit="time_limit"
    ),
    "PDLP": SolverEntry("ortools", "Apache-2.0", (_FIRST,), alone=True),
    "PIQP": SolverEntry("piqp", "BSD-2-Clause", (_IPM,), tolerances=_EPS),
    "PROXQP": SolverEntry(
        "proxsuite",
        "BSD-2-Clause",
        ("augmented Lagrangian",),
        hot=True,
        tolerances=_EPS,
        options=(*_EPS, "backend", "max_iter", "mu_eq", "mu_in", "rho"),
    ),
    "QOCO": SolverEntry("qoco", "BSD-3-Clause", (_IPM,), tolerances=("abstol", "reltol")),
    "QPALM": SolverEntry(
        "qpalm", "LGPL-3.0-or-later", ("augmented Lagrangian",), hot=True, tolerances=_EPS
    ),
    "SCIP": SolverEntry(
        "pyscipopt",
        "Apache-2.0",
        (_SIMPLEX,),
        tolerances=("numerics/feastol", "numerics/dualfeastol"),
        tolerances_in="scip_params",
    ),
    "SCIPY": SolverEntry(
        "scipy",
        "BSD-3-Clause",
        (_SIMPLEX, _IPM),
        tolerances=_FEASIBILITY,
        tolerances_in="scipy_options",
    ),
    "SCS": SolverEntry(
        "scs", "MIT", (_FIRST,), hot=True, tolerances=_EPS, time_limit="time_limit_secs"
    ),
    "SDPA": SolverEntry(
        "sdpa-python", "GPL-2.0-only", (_IPM,), loud=True, tolerances=("epsilonStar", "epsilonDash")
    ),
    "COPT": _proprietary("coptpy", _SIMPLEX, _IPM, _FIRST),
    "CPLEX": _proprietary("cplex", _SIMPLEX, _IPM),
    "GUROBI": _proprietary("gurobipy", _SIMPLEX, _IPM, _FIRST),
    "KNITRO": _proprietary("knitro", _IPM, "active set"),
    "MOREAU": _proprietary("moreau", _IPM),
    "MOSEK": _proprietary("mosek", _IPM, _SIMPLEX),
    "NAG": _proprietary("naginterfaces", _IPM),
    "XPRESS": _proprietary("xpress", _SIMPLEX, _IPM, _FIRST),
    "COSMO": _other("cosmopy", "Apache-2.0", (_FIRST,), "pip install cosmopy, which needs Julia"),
    "CUCLARABEL": _other(
        "juliacall", "Apache-2.0", (_IPM,), "an NVIDIA GPU, and Julia with its package Clarabel.jl"
    ),
    "CUOPT": _other(
        "cuopt-cu12", "Apache-2.0", (_FIRST, _SIMPLEX, _IPM), "an NVIDIA GPU, and NVIDIA's cuOpt"
    ),
    "DIFFCP": _other("diffcp", "Apache-2.0", (_FIRST, _IPM), "pip install diffcp"),
    "PDCS": _other("juliacall", "Apache-2.0", (_FIRST,), "an NVIDIA GPU, and Julia with PDCS.jl"),
}
# Those below solve integer programs by branch and bound, and linear ones as their namesakes do.
CATALOGUE["ECOS_BB"] = replace(CATALOGUE["ECOS"], tolerances=())
CATALOGUE["GLPK_MI"] = CATALOGUE["GLPK"]


def entry_of(name: str) -> SolverEntry:
    """Return the entry of a solver; nearly empty for a solver that newer versions of CVXPY add.

    Examples
    --------
    >>> entry_of("SCS").algorithms
    ('first order',)
    """
    unknown = SolverEntry(name.lower(), "unknown", (), "see the documentation of CVXPY")
    return CATALOGUE.get(name, unknown)


def tolerance_options(solver: str, tolerance: float) -> dict[str, Any]:
    """Return the options that ask a solver for a tolerance.

    Parameters
    ----------
    solver : str
        A canonical name of `gdaopt.backends.find_backend`.
    tolerance : float
        The tolerance to ask for.

    Returns
    -------
    dict
        For `solver_opts`; empty for ``"analytic"``, and for a solver whose tolerances are not
        known here: it uses its defaults.

    Examples
    --------
    >>> tolerance_options("SCS", 1e-6)
    {'eps_abs': 1e-06, 'eps_rel': 1e-06}
    >>> tolerance_options("SCIPY", 1e-6)["scipy_options"]["dual_feasibility_tolerance"]
    1e-06
    """
    entry = entry_of("HIGHS" if solver == "highspy" else solver)
    asked = dict.fromkeys(entry.tolerances, tolerance)
    return {entry.tolerances_in: asked} if entry.tolerances_in else asked
