"""What is known of each solver, in one table: package, licence, algorithms, options, tolerances.

A solver is added by a row of `CATALOGUE`. All that CVXPY knows work without one, but are not asked
for tolerances, and get no check of their options. Others add rows by entry points in the group
``gdaopt.backends``, and by files that the environment variable ``GDAOPT_BACKEND_MODULES`` names,
which worker processes inherit. The other modules ask `entry_of`.

A package's own metadata name the licence of the interface only, or hold its full text, so that the
licences are written down here. They are the licences of the solvers that the packages contain.

One number can be asked of all solvers as their tolerance. What it means differs, so that what was
reached has to be measured at the answer.

Most solvers refuse an option that they do not know. Some ignore it through CVXPY: their names are
read from the solver or from its interface, or are written down here, so that misspelt ones are
found before any work starts.
"""

from __future__ import annotations

import ctypes
import inspect
import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from types import ModuleType
from typing import Any

from gdaopt.backends.highspy import HighspyBackend, highs_options, load_highspy
from gdaopt.backends.protocol import AnalyticBackend, Backend
from gdaopt.errors import InvalidInputError, SolverFailedError
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.text import reason
from gdaopt.support.validation import check_instance, unknown_name

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
    tolerances, tolerances_in : tuple of str and str
        The names of the options that are tolerances, none where CVXPY does not pass them on (GLPK,
        GLOP and PDLP) or we do not know them; and the option whose value is a mapping of these.
    share_of_gap : float
        The share of a certified gap that its tolerances have to be so that the answer reaches this
        gap; 0 where we do not know it.
    options, hides : collection of str, or callable
        The names of its options, or what reads them, for a solver that ignores unknown ones; what
        says whether it has an option of a name that is not among these.
    time_limit : str
        The option with the seconds that it may take; empty where it is not used.
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
    tolerances_in: str = ""
    share_of_gap: float = 0.0
    options: Collection[str] | Callable[[], Collection[str]] = ()
    hides: Callable[[str], bool] | None = None
    time_limit: str = ""
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


def _of_daqp() -> Collection[str]:
    from cvxpy.reductions.solvers.qp_solvers.daqp_qpif import DAQP

    return DAQP.ALLOWED_SOLVER_OPTS


def _of_highs() -> Collection[str]:
    return {*highs_options(), "highs_options"}  # the last one is CVXPY's


def _of_qoco() -> Collection[str]:
    qoco = import_module("qoco")
    settings = dir(qoco.QOCO().ext.QOCOSettings)
    return {"algebra", *(name for name in settings if not name.startswith("_"))}


def _of_sdpa() -> Collection[str]:
    names: Collection[str] = import_module("sdpap.param").param({})
    return names


def _version_in(module: str, function: str) -> Callable[[], str]:
    """Return what reads a version from the C library that an extension module links to."""

    def read() -> str:
        called = getattr(ctypes.CDLL(import_module(module).__file__), function)
        called.restype = ctypes.c_char_p
        text: bytes = called()
        return text.decode()

    return read


def _version_of_scip() -> str:
    model = import_module("pyscipopt").Model()
    parts = (model.getMajorVersion(), model.getMinorVersion(), model.getTechVersion())
    return ".".join(map(str, parts))


def _highs_hides(name: str) -> bool:
    highspy = load_highspy()
    model = highspy.Highs()
    model.setOptionValue("log_to_console", False)  # on an unknown option it prints an error
    return bool(model.getOptionValue(name)[0] == highspy.HighsStatus.kOk)


_IPM, _SIMPLEX, _FIRST = "interior point", "simplex", "first order"
_EPS = ("eps_abs", "eps_rel")
_ABSTOL = ("abstol", "reltol", "feastol")
_FEASIBILITY = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
_OF_HIGHS = (*_FEASIBILITY, "ipm_optimality_tolerance")

CATALOGUE: dict[str, SolverEntry] = {
    # Without CVXPY; these check their options themselves.
    "analytic": SolverEntry(
        "gdaopt", "Apache-2.0", ("closed form",), "part of gdaopt", AnalyticBackend
    ),
    "highspy": SolverEntry(
        "highspy",
        "MIT",
        (_SIMPLEX, _IPM, _FIRST),
        backend=HighspyBackend,
        hot=True,
        tolerances=_OF_HIGHS,
    ),
    # By CVXPY.
    "CBC": SolverEntry(
        "cylp",
        "EPL-2.0",
        (_SIMPLEX,),
        read_version=_version_in("cylp.cy.CyCbcModel", "Cbc_getVersion"),
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
        # The gap grows linearly with the distance from the optimum, and the objective, which the
        # tolerance is of, quadratically: it has to be about the square of a gap of 1e-6.
        share_of_gap=1e-6,
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
    "DAQP": SolverEntry(
        "daqp",
        "MIT",
        ("active set",),
        tolerances=("primal_tol", "dual_tol"),
        options=_of_daqp,
    ),
    "ECOS": SolverEntry(
        "ecos",
        "GPL-3.0-only",
        (_IPM,),
        "pip install ecos (wheels for Python < 3.13, not for macOS on arm64); CLARABEL solves the "
        "same programs",
        tolerances=_ABSTOL,
        share_of_gap=1e-4,  # with that of Clarabel it would reach its limit of iterations
    ),
    "GLOP": SolverEntry("ortools", "Apache-2.0", (_SIMPLEX,), alone=True),
    "GLPK": SolverEntry(
        "cvxopt",
        "GPL-3.0-or-later",
        (_SIMPLEX,),
        read_version=_version_in("cvxopt.glpk", "glp_version"),
        options=("glpk", "max_iters", "maxiters"),
    ),
    "HIGHS": SolverEntry(
        "highspy",
        "MIT",
        (_SIMPLEX, _IPM, _FIRST),
        hot=True,
        tolerances=_OF_HIGHS,
        options=_of_highs,
        hides=_highs_hides,
        time_limit="time_limit",
        # The presolve of HiGHS 1.15 calls some feasible programs infeasible, whose budget row is
        # redundant up to round-off (compare issue 2511 of HiGHS). Without it HiGHS solves them.
        second_opinion={"presolve": "off"},
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
    "QOCO": SolverEntry(
        "qoco", "BSD-3-Clause", (_IPM,), tolerances=("abstol", "reltol"), options=_of_qoco
    ),
    "QPALM": SolverEntry(
        "qpalm", "LGPL-3.0-or-later", ("augmented Lagrangian",), hot=True, tolerances=_EPS
    ),
    "SCIP": SolverEntry(
        "pyscipopt",
        "Apache-2.0",
        (_SIMPLEX,),
        read_version=_version_of_scip,
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
        "scs",
        "MIT",
        (_FIRST,),
        hot=True,
        tolerances=_EPS,
        share_of_gap=0.1,  # its tolerances are distances
        time_limit="time_limit_secs",
    ),
    "SDPA": SolverEntry(
        "sdpa-python",
        "GPL-2.0-only",
        (_IPM,),
        loud=True,
        tolerances=("epsilonStar", "epsilonDash"),
        options=_of_sdpa,
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
CATALOGUE["ECOS_BB"] = replace(CATALOGUE["ECOS"], is_twin=True, tolerances=(), share_of_gap=0.0)
CATALOGUE["GLPK_MI"] = replace(CATALOGUE["GLPK"], is_twin=True)


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
    asked = dict.fromkeys(entry.tolerances, tolerance)
    return {entry.tolerances_in: asked} if entry.tolerances_in else asked


def check_option_names(solver: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a solver of CVXPY does not know, where this can be told."""
    known, hides = _option_names(solver), entry_of(solver).hides
    if not known:
        return
    for name in options:
        if name not in known and name not in _of_cvxpy() and not (hides and hides(name)):
            raise unknown_name(f"option of {solver}", name, known)


@cache
def _option_names(solver: str) -> frozenset[str]:
    """Return the names of a solver's options; none where the solver refuses unknown ones."""
    options = entry_of(solver).options
    return frozenset(options() if callable(options) else options)


def _of_cvxpy() -> set[str]:
    """Return the names of CVXPY's own options, which every solver may be given."""
    # The first passes all on to the second, but may be a subclass's or patched.
    functions = (cp.Problem.solve, cp.Problem._solve)
    return {name for function in functions for name in inspect.signature(function).parameters}
