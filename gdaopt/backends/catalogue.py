"""What is known of each solver, in one table: package, licence, algorithms, options, tolerances.

A solver is added by a row of `CATALOGUE`. All that CVXPY knows work without one, but are not asked
for tolerances, and get no check of their options. Others add rows by entry points in the group
``gdaopt.backends``, and by files that the environment variable ``GDAOPT_BACKEND_MODULES`` names,
which worker processes inherit. The other modules ask `entry_of`.

A package's own metadata name the licence of the interface only, or hold its full text, so that the
licences are written down here. They are the licences of the solvers that the packages contain.

One number can be asked of all solvers as their tolerance. What it means differs, so that what was
reached has to be measured at the answer.

The names of a solver's options are read from the solver or from its interface, and are written
down here where neither lists them. They are what is suggested for a misspelt one; where a solver
ignores an option that it does not know, they find it. See `gdaopt.backends.options`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from types import ModuleType
from typing import Any

from gdaopt.backends.highspy import HighspyBackend, load_highspy, use_threads
from gdaopt.backends.protocol import Backend, ClosedForm
from gdaopt.backends.solver_packages import (
    attributes_of,
    fields_of,
    options_of_daqp,
    options_of_scip,
    options_of_sdpa,
    version_in,
    version_of_scip,
)
from gdaopt.errors import InvalidInputError, SolverFailedError
from gdaopt.support.text import reason
from gdaopt.support.validation import check_instance

_EXTRA = 'pip install "gdaopt[solvers]"'


@dataclass(frozen=True)
class SolverEntry:
    """One solver.

    Attributes
    ----------
    package, licence : str
        The package that brings it, as indices call it; an SPDX identifier or ``"proprietary"``.
    algorithms : tuple of str
        Kinds of algorithm that it has for linear programs, the default first.
    backend : callable, optional
        What makes its `Backend`; by default it is called through CVXPY. It is called with the
        options of the solver, and with the keywords `isolate` and `hot` of `make_backend`; it
        refuses options that it does not know with an InvalidInputError.
    read_version : callable, optional
        What returns its version, where that is not the version of the package.
    hint : str
        How to get it.
    loud, alone : bool
        Whether it prints what no option silences, or can be loaded only into a process without
        highspy: it is then solved in a worker process.
    hot : bool
        Whether it can be started from its last answer. Others are at most told what has changed.
    is_twin : bool
        Whether it solves linear programs by the code of a namesake, and others by branch and bound.
    tolerances, loosening : tuple of str
        The names of the options that are tolerances, none where we do not know them; and of those
        that would loosen them, which are 0 where a tolerance is asked.
    share_of_gap : float
        The share of a certified gap that its tolerances have to be so that the answer reaches this
        gap; 0 where we do not know it.
    options : collection of str, or callable
        The names of its options, or what reads them.
    ignores_unknown : bool
        Whether it ignores an option that it does not know: `options` then have to be all.
    inside, outside : str and tuple of str
        The option of CVXPY whose value holds the solver's own, where these do not stand beside
        those of CVXPY; and which of them stand beside it all the same.
    message : tuple of str
        The module and the name of the protocol buffer that this value is, with the options for
        fields, by names with dots; empty where it is a mapping.
    threads : str
        The option with the number of threads; empty where there is none.
    time_limit : str
        The option with the seconds that it may take; empty where it is not used.
    before_solve : callable, optional
        What is called before each solve by CVXPY, with the options.
    second_opinion : mapping, optional
        The options with which it is asked again when it has called a program infeasible.
    """

    package: str = ""
    licence: str = "unknown"
    algorithms: tuple[str, ...] = ("unknown",)
    hint: str = _EXTRA
    backend: Callable[..., Backend] | None = None
    read_version: Callable[[], str] | None = None
    loud: bool = False
    alone: bool = False
    hot: bool = False
    is_twin: bool = False
    tolerances: tuple[str, ...] = ()
    loosening: tuple[str, ...] = ()
    share_of_gap: float = 0.0
    options: Collection[str] | Callable[[], Collection[str]] = ()
    ignores_unknown: bool = False
    inside: str = ""
    outside: tuple[str, ...] = ()
    message: tuple[str, ...] = ()
    threads: str = ""
    time_limit: str = ""
    before_solve: Callable[[Mapping[str, Any]], None] | None = None
    second_opinion: Mapping[str, Any] | None = None

    @property
    def version(self) -> str:
        """The version that is installed; empty where there is none, or it is not known."""
        try:
            return self.read_version() if self.read_version else version(self.package)
        except (PackageNotFoundError, ValueError, ImportError, OSError, AttributeError):
            return ""  # of no package, or of one that lacks what tells it


def _proprietary(package: str, *algorithms: str) -> SolverEntry:
    """Return a solver that needs a licence of the user's."""
    return SolverEntry(package, "proprietary", algorithms, f"pip install {package}, and a licence")


def _before_highs(options: Mapping[str, Any]) -> None:
    load_highspy()  # before CVXPY makes models of it
    use_threads(options.get("threads", 0))


_IPM, _SIMPLEX, _FIRST = "interior point", "simplex", "first order"
_EPS = ("eps_abs", "eps_rel")
_ABSTOL = ("abstol", "reltol", "feastol")
_FEASIBILITY = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
_OF_HIGHS = (*_FEASIBILITY, "ipm_optimality_tolerance")
_CRITERIA = "termination_criteria.simple_optimality_criteria"
_OF_PDLP = ("ortools.pdlp.solvers_pb2", "PrimalDualHybridGradientParams")
_OF_GLOP = ("ortools.glop.parameters_pb2", "GlopParameters")

CATALOGUE: dict[str, SolverEntry] = {
    # Without CVXPY; these check their options themselves.
    "analytic": SolverEntry("gdaopt", "Apache-2.0", ("closed form",), "part of gdaopt", ClosedForm),
    "highspy": SolverEntry(
        "highspy",
        "MIT",
        (_SIMPLEX, _IPM, _FIRST),
        backend=HighspyBackend,
        hot=True,
        tolerances=_OF_HIGHS,
        threads="threads",
    ),
    # By CVXPY.
    "CBC": SolverEntry(
        "cylp",
        "EPL-2.0",
        (_SIMPLEX,),
        read_version=version_in("cylp.cy.CyCbcModel", "Cbc_getVersion"),
        tolerances=("primalTolerance", "dualTolerance"),
        ignores_unknown=True,
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
        # The gap grows linearly with the distance from the optimum, and the objective, which the
        # tolerance is of, quadratically: it has to be about the square of a gap of 1e-6.
        share_of_gap=1e-6,
        options=attributes_of("clarabel", "DefaultSettings", "accept_unknown", "use_quad_obj"),
        threads="max_threads",
        time_limit="time_limit",
    ),
    "CVXOPT": SolverEntry(
        "cvxopt",
        "GPL-3.0-or-later",
        (_IPM,),
        tolerances=_ABSTOL,
        ignores_unknown=True,
        options=(
            *("abstol", "debug", "feastol", "kktreg", "kktsolver", "max_iters", "maxiters"),
            *("refinement", "reltol", "show_progress"),
        ),
    ),
    "DAQP": SolverEntry(
        "daqp",
        "MIT",
        ("active set",),
        tolerances=("primal_tol", "dual_tol"),
        ignores_unknown=True,
        options=options_of_daqp,
    ),
    "ECOS": SolverEntry(
        "ecos",
        "GPL-3.0-only",
        (_IPM,),
        "pip install ecos (wheels for Python < 3.13, not for macOS on arm64); CLARABEL solves the "
        "same programs",
        tolerances=_ABSTOL,
        share_of_gap=1e-4,  # with that of Clarabel it would reach its limit of iterations
        options=(
            *("abstol", "abstol_inacc", "feastol", "feastol_inacc", "max_iters", "nitref"),
            *("reltol", "reltol_inacc", "mi_abs_eps", "mi_int_tol", "mi_max_iters", "mi_rel_eps"),
            "mi_verbose",
        ),
    ),
    "GLOP": SolverEntry(
        "ortools",
        "Apache-2.0",
        (_SIMPLEX,),
        alone=True,
        tolerances=_FEASIBILITY,
        options=fields_of(*_OF_GLOP, "time_limit_sec"),
        inside="parameters_proto",
        outside=("time_limit_sec",),
        message=_OF_GLOP,
        time_limit="time_limit_sec",
    ),
    "GLPK": SolverEntry(
        "cvxopt",
        "GPL-3.0-or-later",
        (_SIMPLEX,),
        read_version=version_in("cvxopt.glpk", "glp_version"),
        tolerances=("tol_bnd", "tol_dj"),
        ignores_unknown=True,
        options=(
            *("it_lim", "msg_lev", "presolve", "tm_lim", "tol_bnd", "tol_dj", "tol_int"),
            *("tol_obj", "tol_piv"),
        ),
        inside="glpk",
    ),
    "HIGHS": SolverEntry(
        "highspy",
        "MIT",
        (_SIMPLEX, _IPM, _FIRST),
        hot=True,
        tolerances=_OF_HIGHS,
        options=attributes_of("highspy", "HighsOptions", "write_model_file"),
        inside="highs_options",
        threads="threads",
        time_limit="time_limit",
        before_solve=_before_highs,
        # The presolve of HiGHS 1.15 calls some feasible programs infeasible, whose budget row is
        # redundant up to round-off (compare issue 2511 of HiGHS). Without it HiGHS solves them.
        second_opinion={"presolve": "off"},
    ),
    "MPAX": SolverEntry(
        "mpax",
        "MIT",
        (_FIRST,),
        hot=True,
        tolerances=_EPS,
        options=attributes_of("mpax", "raPDHG", "algorithm"),
    ),
    "OSQP": SolverEntry(
        "osqp",
        "Apache-2.0",
        (_FIRST,),
        hot=True,
        tolerances=_EPS,
        options=attributes_of("osqp.ext_builtin", "OSQPSettings", "polish"),
        time_limit="time_limit",
    ),
    "PDLP": SolverEntry(
        "ortools",
        "Apache-2.0",
        (_FIRST,),
        alone=True,
        tolerances=(f"{_CRITERIA}.eps_optimal_absolute",),
        # It is a share of Euclidean norms, which are large where there are many numbers.
        loosening=(f"{_CRITERIA}.eps_optimal_relative",),
        options=fields_of(*_OF_PDLP, "time_limit_sec"),
        inside="parameters_proto",
        outside=("time_limit_sec",),
        message=_OF_PDLP,
        threads="num_threads",
        time_limit="time_limit_sec",
    ),
    "PIQP": SolverEntry(
        "piqp",
        "BSD-2-Clause",
        (_IPM,),
        tolerances=(*_EPS, "eps_duality_gap_abs", "eps_duality_gap_rel"),
        options=attributes_of("piqp", "Settings", "backend"),
        threads="num_threads",
    ),
    "PROXQP": SolverEntry(
        "proxsuite",
        "BSD-2-Clause",
        ("augmented Lagrangian",),
        hot=True,
        tolerances=_EPS,
        ignores_unknown=True,
        options=(*_EPS, "backend", "max_iter", "mu_eq", "mu_in", "rho"),
    ),
    "QOCO": SolverEntry(
        "qoco",
        "BSD-3-Clause",
        (_IPM,),
        tolerances=("abstol", "reltol"),
        ignores_unknown=True,
        options=attributes_of("qoco.qoco_ext", "QOCOSettings", "algebra"),
    ),
    "QPALM": SolverEntry(
        "qpalm",
        "LGPL-3.0-or-later",
        ("augmented Lagrangian",),
        hot=True,
        tolerances=_EPS,
        options=attributes_of("qpalm", "Settings"),
        time_limit="time_limit",
    ),
    "SCIP": SolverEntry(
        "pyscipopt",
        "Apache-2.0",
        (_SIMPLEX,),
        read_version=version_of_scip,
        tolerances=("numerics/feastol", "numerics/dualfeastol"),
        options=options_of_scip,
        inside="scip_params",
        time_limit="limits/time",
    ),
    "SCIPY": SolverEntry(
        "scipy",
        "BSD-3-Clause",
        (_SIMPLEX, _IPM),
        tolerances=_FEASIBILITY,
        ignores_unknown=True,
        options=(
            *(*_FEASIBILITY, "disp", "ipm_optimality_tolerance", "maxiter", "method", "presolve"),
            *("mip_rel_gap", "simplex_dual_edge_weight_strategy", "time_limit"),
        ),
        inside="scipy_options",
        time_limit="time_limit",
    ),
    "SCS": SolverEntry(
        "scs",
        "MIT",
        (_FIRST,),
        hot=True,
        tolerances=_EPS,
        share_of_gap=0.1,  # its tolerances are distances
        options=(
            *("acceleration_interval", "acceleration_lookback", "acceleration_regularization"),
            *("acceleration_relaxation", "acceleration_type_1", "adaptive_scale", "alpha", "eps"),
            *("eps_abs", "eps_infeas", "eps_rel", "linear_solver", "log_csv_filename"),
            *("max_iters", "normalize", "rho_x", "scale", "time_limit_secs", "use_indirect"),
            *("use_quad_obj", "write_data_filename"),
        ),
        time_limit="time_limit_secs",
    ),
    "SDPA": SolverEntry(
        "sdpa-python",
        "GPL-2.0-only",
        (_IPM,),
        loud=True,
        tolerances=("epsilonStar", "epsilonDash"),
        ignores_unknown=True,
        options=options_of_sdpa,
        threads="numThreads",
    ),
    "COPT": _proprietary("coptpy", _SIMPLEX, _IPM, _FIRST),
    "CPLEX": _proprietary("cplex", _SIMPLEX, _IPM),
    "GUROBI": _proprietary("gurobipy", _SIMPLEX, _IPM, _FIRST),
    "KNITRO": _proprietary("knitro", _IPM, "active set"),
    "MOREAU": _proprietary("moreau", _IPM),
    "MOSEK": _proprietary("mosek", _IPM, _SIMPLEX),
    "NAG": _proprietary("naginterfaces", _IPM),
    "XPRESS": _proprietary("xpress", _SIMPLEX, _IPM, _FIRST),
    "COSMO": SolverEntry(
        "cosmopy", "Apache-2.0", (_FIRST,), "pip install cosmopy, which needs Julia"
    ),
    "CUCLARABEL": SolverEntry(
        "juliacall", "Apache-2.0", (_IPM,), "an NVIDIA GPU, and Julia with its package Clarabel.jl"
    ),
    "CUOPT": SolverEntry(
        "cuopt-cu12", "Apache-2.0", (_FIRST, _SIMPLEX, _IPM), "an NVIDIA GPU, and NVIDIA's cuOpt"
    ),
    "DIFFCP": SolverEntry("diffcp", "Apache-2.0", (_FIRST, _IPM), "pip install diffcp"),
    "PDCS": SolverEntry(
        "juliacall", "Apache-2.0", (_FIRST,), "an NVIDIA GPU, and Julia with PDCS.jl"
    ),
}
CATALOGUE["ECOS_BB"] = replace(CATALOGUE["ECOS"], is_twin=True)
CATALOGUE["GLPK_MI"] = replace(CATALOGUE["GLPK"], is_twin=True, inside="")


# --- Solvers by name ------------------------------------------------------------------------------

_GROUP = "gdaopt.backends"
_MODULES = "GDAOPT_BACKEND_MODULES"


def entry_of(name: str) -> SolverEntry:
    """Return the entry of a solver; nearly empty for a solver that newer versions of CVXPY add."""
    _add_foreign()
    return CATALOGUE.get(name) or SolverEntry(name.lower(), hint="see the documentation of CVXPY")


def own_backends() -> list[str]:
    """Return the names of the solvers that are not called through CVXPY."""
    _add_foreign()
    return [name for name, entry in CATALOGUE.items() if entry.backend]


def add_module(path: str | os.PathLike[str]) -> None:
    """Add each `SolverEntry` of a Python file by its name, here and in workers started later."""
    _add_file(Path(path).absolute())
    known = os.environ.get(_MODULES, "").split(os.pathsep)
    os.environ[_MODULES] = os.pathsep.join(filter(None, [*known, os.path.abspath(path)]))


def _add_file(path: Path) -> None:
    name = f"gdaopt_backends_{path.stem}"
    loader = SourceFileLoader(name, str(path))
    sys.modules[name] = module = ModuleType(name)  # where dataclasses look for it
    try:
        loader.exec_module(module)
    except Exception as error:  # of any kind: the file may hold anything
        raise InvalidInputError(
            f"the backends of {path} cannot be loaded: {reason(error)}"
        ) from error
    found = {name: one for name, one in vars(module).items() if isinstance(one, SolverEntry)}
    if not any(entry.backend for entry in found.values()):
        raise InvalidInputError(
            f"{path} has no SolverEntry with a backend; write one, such as "
            "mine = SolverEntry(backend=MyBackend)"
        )
    CATALOGUE.update(found)


@cache
def _add_foreign() -> None:
    """Add the solvers of entry points, and of the files that the environment names."""
    for point in entry_points(group=_GROUP):
        try:
            entry = point.load()
            check_instance(f"the entry point {point.value}", entry, SolverEntry)
        except Exception as error:  # of any kind; solvers of others still work
            entry = SolverEntry(backend=_failing(reason(error)))
        CATALOGUE.setdefault(point.name, entry)
    for path in filter(None, os.environ.get(_MODULES, "").split(os.pathsep)):
        _add_file(Path(path))


def _failing(why: str) -> Callable[..., Backend]:
    """Return a backend that cannot be made."""

    def fail(*_: object, **__: object) -> Backend:
        raise SolverFailedError(f"it cannot be loaded: {why}")

    return fail


def tolerance_options(solver: str, tolerance: float) -> dict[str, Any]:
    """Return the options that ask a solver for a tolerance; none where these are not known."""
    entry = entry_of(solver)
    return dict.fromkeys(entry.tolerances, tolerance) | dict.fromkeys(entry.loosening, 0.0)
