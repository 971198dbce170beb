"""Measure matrix inequalities of networks: cones of edges beside linear and semidefinite programs.

Four kinds of networks are solved by second-order cones of edges (`gda.lmi.sdd`), by linear programs
(``method="discs"``), as semidefinite programs, and by Kelley's cuts with first eigenvectors. One
judge bounds all answers from both sides: a point that keeps the inequality, by a left-end or a
linear system, and a linear program with the single cut of one vector. For ten semidefinite programs
of other fields the page has what the detector says.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from matplotlib.figure import Figure
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import spsolve

import gdaopt as gda
from experiments.pages import Experiment, MeasuredRows, Page, header, row, write_figure
from gdaopt.linalg.balance import first_eigenvector
from gdaopt.linalg.entries import IndexArray, sparse_symmetric
from gdaopt.lmi.proof import gap_between
from gdaopt.support.processes import ProcessExecutor, WorkerEndedError
from gdaopt.support.validation import FloatArray

GAP = 1e-6
LIMIT = 30.0  # seconds of a run, with its detection, compilation and proof
QUICK_LIMIT = 4.0
SIDES = (6, 10, 20, 32, 71, 100)  # of grids: 36 to 10,000 nodes
MOST_DENSE = 1024  # nodes: F >> 0 has n² rows in CVXPY

Row = dict[str, Any]


# --- Networks -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Network:
    """A problem with one matrix inequality, by its diagonal and the edges of its graph."""

    objective: cp.Minimize
    constraints: list[cp.Constraint]
    diagonal: cp.Expression
    edges: IndexArray
    values: cp.Expression
    best: Callable[[], float]  # the objective, once the values of the variables are made feasible

    def matrix(self) -> cp.Expression:
        """Return F as a matrix of n² entries."""
        size, (first, second) = self.diagonal.size, self.edges.T
        nodes, count = np.arange(size), len(first)
        rows = np.concatenate([nodes * (size + 1), first * size + second, second * size + first])
        columns = np.concatenate([nodes, *[size + np.arange(count)] * 2])
        shape = size * size, size + count
        places = coo_array((np.ones(len(rows)), (rows, columns)), shape).tocsr()
        entries = cp.hstack([self.diagonal, self.values])
        return cp.reshape(places @ entries, (size, size), order="F")

    def forms(self, vectors: FloatArray) -> cp.Expression:
        """Return ``u'Fu`` of each row u."""
        first, second = self.edges.T
        products = 2 * vectors[:, first] * vectors[:, second]
        forms: cp.Expression = vectors**2 @ self.diagonal + products @ self.values
        return forms

    def first_eigenvector(self) -> FloatArray:
        """Return it at the values of the variables."""
        matrix = symmetric(self.diagonal.value, self.edges, self.values.value)
        return first_eigenvector(matrix)[0]


def value_of(variable: cp.Variable) -> FloatArray:
    """Return the values that the last program gave."""
    return np.asarray(variable.value, dtype=np.float64)


def symmetric(diagonal: Any, edges: IndexArray, values: Any) -> csr_array:
    """Return a sparse matrix."""
    first, second = edges.T
    return sparse_symmetric(diagonal, (first, second), values)


def grid(side: int) -> IndexArray:
    """Return the edges of a square grid."""
    nodes = np.arange(side * side).reshape(side, side)
    across = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()], axis=1)
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()], axis=1)
    return np.concatenate([across, down]).astype(np.intp)


def sums_at_nodes(edges: IndexArray, size: int) -> csr_array:
    """Return the matrix that sums the weights of edges at each node."""
    count = np.arange(len(edges))
    places = edges.T.ravel(), np.concatenate([count, count])
    return csr_array((np.ones(2 * len(edges)), places), shape=(size, len(edges)))


def e_optimal(side: int) -> Network:
    """Weights of a grounded grid: the smallest eigenvalue is to be largest."""
    edges, size = grid(side), side * side
    sums, ground = sums_at_nodes(edges, size), np.random.default_rng(0).random(size)
    w, least = cp.Variable(len(edges), nonneg=True), cp.Variable()

    def best() -> float:
        weights = np.maximum(value_of(w), 0.0)
        weights *= min(1.0, len(edges) / weights.sum())
        return -first_eigenvector(symmetric(sums @ weights + ground, edges, -weights))[1]

    rows = [cp.sum(w) <= len(edges)]
    return Network(cp.Minimize(-least), rows, sums @ w + ground - least, edges, -w, best)


def spectral_radius(side: int) -> Network:
    """Links of a grid, weakened under a budget: the spectral radius is to be least."""
    edges, size = grid(side), side * side
    links = 0.5 + np.random.default_rng(0).random(len(edges))
    cut, radius = cp.Variable(len(edges), bounds=[0, 1]), cp.Variable()
    budget = len(edges) / 4

    def best() -> float:
        share = np.clip(value_of(cut), 0.0, 1.0)
        share *= min(1.0, budget / max(share.sum(), budget))
        return -first_eigenvector(symmetric(np.zeros(size), edges, links * (share - 1)))[1]

    values = cp.multiply(links, cut - 1)
    rows = [cp.sum(cut) <= budget]
    return Network(cp.Minimize(radius), rows, radius * np.ones(size), edges, values, best)


def compliance(side: int) -> Network:
    """Conductances under a budget: the energy of a current is to be least."""
    edges, size = grid(side), side * side
    sums = sums_at_nodes(edges, size)
    current = np.zeros(size)
    current[[0, -1]] = 1.0, 2.0
    w, energy = cp.Variable(len(edges), nonneg=True), cp.Variable()

    def best() -> float:
        weights = np.maximum(value_of(w), 0.0)
        weights *= min(1.0, len(edges) / weights.sum())
        conductances = symmetric(sums @ weights + 0.1, edges, -weights)
        return float(current @ spsolve(conductances.tocsc(), current))

    ends = np.array([[0, size], [size - 1, size]])
    return Network(
        cp.Minimize(energy),
        [cp.sum(w) <= len(edges)],
        cp.hstack([sums @ w + 0.1, energy]),
        np.concatenate([edges, ends]),
        cp.hstack([-w, -current[[0, -1]]]),
        best,
    )


def positive_system(side: int) -> Network:
    """The least diagonal Lyapunov function of a stable Metzler matrix on a grid."""
    edges, size = grid(side), side * side
    first, second = edges.T
    there, back = np.random.default_rng(0).random((2, len(edges)))
    p = cp.Variable(size, nonneg=True)

    def best() -> float:
        values = -(there * value_of(p)[first] + back * value_of(p)[second])
        depth = first_eigenvector(symmetric(8 * value_of(p), edges, values))[1]
        return float(value_of(p).sum() / depth) if depth > 0 else math.inf

    numbers = np.arange(len(edges))
    places = np.concatenate([numbers, numbers]), np.concatenate([first, second])
    entries = csr_array((np.concatenate([there, back]), places), shape=(len(edges), size))
    return Network(cp.Minimize(cp.sum(p)), [], 8 * p - 1, edges, -(entries @ p), best)


KINDS = {
    "E-optimal weights": e_optimal,
    "spectral radius": spectral_radius,
    "compliance": compliance,
    "positive system": positive_system,
}


# --- Solvers --------------------------------------------------------------------------------------


def by_cones(network: Network, solver: str) -> tuple[float, FloatArray]:
    """Solve by cones of edges; return the solver's own seconds, and the vector d."""
    cones = gda.lmi.sdd(network.diagonal, network.edges, network.values)
    problem = cp.Problem(network.objective, [*network.constraints, *cones])
    problem.solve(solver=solver)
    return solver_seconds(problem), np.sqrt(np.maximum(cones[-1].dual_value, 0.0))


def by_programs(network: Network, solver: str) -> tuple[float, FloatArray]:
    """Solve by linear programs with tangents."""
    problem = cp.Problem(network.objective, [*network.constraints, network.matrix() >> 0])
    problem.solve(method="discs", solver=solver, tolerance=GAP)
    stats: Any = problem.solver_stats
    return solver_seconds(problem), stats.extra_stats.vector


def by_sdp(network: Network, solver: str) -> tuple[float, FloatArray]:
    """Solve the semidefinite program."""
    inequality = network.matrix() >> 0
    problem = cp.Problem(network.objective, [*network.constraints, inequality])
    options = {"eps": 1e-8, "max_iters": 10**6} if solver == "SCS" else {}
    problem.solve(solver=solver, **options)
    return solver_seconds(problem), np.sqrt(np.maximum(np.diag(inequality.dual_value), 0.0))


def by_cuts(network: Network, solver: str) -> tuple[float, FloatArray]:
    """Solve by Kelley's cuts: each program has one for the first eigenvector of the last answer."""
    size, taken, least = network.diagonal.size, 0.0, math.inf
    vectors = np.vstack([np.eye(size), np.ones((1, size))])
    while True:
        cuts = network.forms(vectors) >= 0
        problem = cp.Problem(network.objective, [*network.constraints, cuts])
        problem.solve(solver=solver)
        taken, least = taken + solver_seconds(problem), min(least, network.best())
        if gap_between(float(problem.value), least) <= GAP:
            return taken, np.sqrt(vectors.T**2 @ np.maximum(cuts.dual_value, 0.0))
        vectors = np.vstack([vectors, network.first_eigenvector()])


def solver_seconds(problem: cp.Problem) -> float:
    """Return what the solver says that it took."""
    stats: Any = problem.solver_stats
    taken = stats.solve_time
    return math.nan if taken is None else float(taken)


SOLVERS: dict[str, tuple[Callable[[Network, str], tuple[float, FloatArray]], str, bool]] = {
    "cones, CLARABEL": (by_cones, "CLARABEL", False),
    "cones, ECOS": (by_cones, "ECOS", False),
    "LPs, HIGHS": (by_programs, "HIGHS", True),
    "SDP, CLARABEL": (by_sdp, "CLARABEL", True),
    "SDP, SCS": (by_sdp, "SCS", True),
    "SDP, SDPA": (by_sdp, "SDPA", True),
    "Kelley, HIGHS": (by_cuts, "HIGHS", True),
}
"""How to solve, the solver, and whether the matrix is written out."""


def bound_below(network: Network, d: FloatArray) -> float:
    """Return the optimum over all points that keep the single cut ``d'Fd ≥ 0``."""
    d = d / np.linalg.norm(d)
    cut = network.forms(d[None, :]) >= 0
    problem = cp.Problem(network.objective, [*network.constraints, cut])
    problem.solve(solver="HIGHS")
    return float(problem.value) if problem.status == cp.OPTIMAL else -math.inf


def measure(kind: str, side: int, name: str) -> Row:
    """Solve one problem; return seconds in all and of the solver, and the gap that is proven."""
    network = KINDS[kind](side)
    solve, solver, _ = SOLVERS[name]
    start = time.perf_counter()
    try:
        of_solver, d = solve(network, solver)
    except cp.SolverError as error:
        return {"end": str(error).split(".")[0][:60]}
    taken = time.perf_counter() - start
    upper = network.best()  # before another program changes the values
    gap = gap_between(bound_below(network, d), upper)
    return {"seconds": taken, "solver": of_solver, "gap": gap, "end": "certified"}


def measure_networks(rows: MeasuredRows, *, quick: bool) -> list[Row]:
    """Measure what is missing: a solver that fails gets no larger networks of that kind."""
    limit, measured = QUICK_LIMIT if quick else LIMIT, []
    with ProcessExecutor(1, time_limit=limit) as processes:

        def run(kind: str, side: int, name: str) -> Row:
            try:
                answer: Row = processes.submit(measure, kind, side, name).result()
            except WorkerEndedError as error:
                return {"end": f"> {limit:g} s" if error.is_late else str(error)}
            return answer

        for kind in KINDS:
            failed: set[str] = set()
            for side in (3,) if quick else SIDES:
                for name, (_, solver, is_dense) in SOLVERS.items():
                    is_too_large = is_dense and side * side > MOST_DENSE
                    if solver not in cp.installed_solvers() or name in failed or is_too_large:
                        continue
                    each = rows.get_or_measure(
                        partial(run, kind, side, name),
                        kind=kind,
                        nodes=side * side,
                        solver_name=name,
                    )
                    if each["end"] != "certified" or not each["gap"] <= GAP:
                        failed.add(name)
                    measured.append(each)
    return measured


# --- Other semidefinite programs ------------------------------------------------------------------


def other_programs() -> dict[str, cp.Problem]:
    """Return ten semidefinite programs of other fields, each as a user writes it."""
    rng, n = np.random.default_rng(0), 8
    random = rng.normal(size=(n, n))
    links = np.triu(rng.random((n, n)) < 0.5, 1).astype(float)
    links = np.maximum(links, np.eye(n, k=1))  # a path through all nodes
    links += links.T
    ends = np.argwhere(np.triu(links))
    incidence = np.zeros((len(ends), n))
    incidence[np.arange(len(ends)), ends[:, 0]], incidence[np.arange(len(ends)), ends[:, 1]] = 1, -1
    identity, ones = np.eye(n), np.ones((n, n))
    programs = {}

    X = cp.Variable((n, n), PSD=True)
    laplacian = np.diag(links.sum(axis=1)) - links
    programs["max-cut"] = cp.Problem(cp.Maximize(cp.trace(laplacian @ X) / 4), [cp.diag(X) == 1])
    X = cp.Variable((n, n), PSD=True)
    programs["Lovász theta"] = cp.Problem(
        cp.Maximize(cp.sum(X)), [cp.trace(X) == 1, cp.multiply(links, X) == 0]
    )
    Q, bound = cp.Variable((3, 3), PSD=True), cp.Variable()  # of 1, x and x²
    programs["sum of squares: least x⁴ - 3x² + x"] = cp.Problem(
        cp.Maximize(bound),
        [
            Q[0, 0] == -bound,
            2 * Q[0, 1] == 1,
            2 * Q[0, 2] + Q[1, 1] == -3,
            Q[1, 2] == 0,
            Q[2, 2] == 1,
        ],
    )
    w, s = cp.Variable(len(ends), nonneg=True), cp.Variable()
    chain = identity - incidence.T @ cp.diag(w) @ incidence
    programs["fastest mixing"] = cp.Problem(
        cp.Minimize(s),
        [chain - ones / n << s * identity, chain - ones / n >> -s * identity, cp.diag(chain) >= 0],
    )
    w, s = cp.Variable(len(ends), nonneg=True), cp.Variable()
    programs["algebraic connectivity"] = cp.Problem(
        cp.Maximize(s),
        [incidence.T @ cp.diag(w) @ incidence + s * ones / n >> s * identity, cp.sum(w) <= 1],
    )
    P = cp.Variable((n, n), symmetric=True)
    stable = random - 5 * identity
    programs["control: a Lyapunov function"] = cp.Problem(
        cp.Minimize(cp.trace(P)), [P >> identity, stable.T @ P + P @ stable << -identity]
    )
    d = cp.Variable(n)
    programs["factor analysis: least trace"] = cp.Problem(
        cp.Maximize(cp.sum(d)), [random @ random.T - cp.diag(d) >> 0, d >= 0]
    )
    X = cp.Variable((n, n), PSD=True)
    programs["nearest correlation matrix"] = cp.Problem(
        cp.Minimize(cp.sum_squares(X - np.tanh(random + random.T))), [cp.diag(X) == 1]
    )
    X = cp.Variable((n, n), PSD=True)
    programs["relaxed quadratic program, off-diagonals ≤ 0"] = cp.Problem(
        cp.Minimize(cp.trace((np.diag(rng.normal(size=n)) - links) @ X)), [cp.diag(X) <= 1]
    )
    p, gain = cp.Variable(n, nonneg=True), cp.Variable()  # of a Metzler matrix, input and output 1
    metzler = links * rng.random((n, n)) - n * identity
    programs["control: the gain of a positive system"] = cp.Problem(
        cp.Minimize(gain),
        [
            cp.bmat(
                [
                    [-(cp.diag(p) @ metzler + metzler.T @ cp.diag(p)) - identity, -cp.diag(p)],
                    [-cp.diag(p), gain * identity],
                ]
            )
            >> 0
        ],
    )
    return programs


# --- The page -------------------------------------------------------------------------------------


def cell(each: Row | None) -> str:
    """Return how a run ended as text."""
    if each is None:
        return "–"
    if each["end"] != "certified":
        return str(each["end"])
    of_solver = "–" if math.isnan(each["solver"]) else f"{each['solver']:.2g}"
    times = f"{each['seconds']:.2g} ({of_solver})"
    return times if each["gap"] <= GAP else f"{times}, gap {each['gap']:.0e}"


def network_lines(rows: list[Row]) -> list[str]:
    """Return the table of the networks."""
    by_name = {(each["kind"], each["nodes"], each["solver_name"]): each for each in rows}
    lines = header(f"network | nodes | {' | '.join(SOLVERS)}")
    for kind, nodes in dict.fromkeys((each["kind"], each["nodes"]) for each in rows):
        cells = [cell(by_name.get((kind, nodes, name))) for name in SOLVERS]
        lines.append(row(kind, f"{nodes:,}", *cells))
    return lines


def other_lines() -> list[str]:
    """Return the table of what the detector says of other semidefinite programs."""
    lines = header("program | inequality | nodes | verdict", words=4)
    for name, problem in other_programs().items():
        for number, each in enumerate(gda.lmi.structure(problem).inequalities, start=1):
            verdict = "exact" if each.is_exact else "not exact"
            lines.append(row(name, number, each.matrix.n_nodes, f"{verdict}: {each.reason}"))
    return lines


def picture(rows: list[Row]) -> Figure:
    """Return the seconds in all of what is certified, by the number of nodes."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    for ax, kind in zip(axes.flat, KINDS, strict=True):
        for number, name in enumerate(SOLVERS):
            points = [
                (each["nodes"], each["seconds"])
                for each in rows
                if (each["kind"], each["solver_name"]) == (kind, name)
                and each["end"] == "certified"
                and each["gap"] <= GAP
            ]
            marker = "os^vD*x"[number]
            ax.plot(*np.reshape(points, (-1, 2)).T, marker=marker, markersize=5, label=name)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_title(kind)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    for ax in axes[1]:
        ax.set_xlabel("nodes")
    figure.supylabel("seconds in all, to a certified 1e-6")
    return figure


def run(quick: bool, out: Path) -> None:
    """Measure what is missing, with `quick` 9 nodes alone, and write page and picture."""
    measured = measure_networks(MeasuredRows(out / "discs.jsonl"), quick=quick)
    about = (
        "Seconds in all, from the model to the answer with detection and compilation, and in "
        "brackets those that the solver says it took. An answer counts if its relative gap is "
        f"proven to be at most {GAP:g}; else the gap stands beside. The proof is not in the "
        f"seconds. A run and its proof may take {LIMIT:g} s; larger networks were left out for a "
        f"solver that failed (–), and beyond {MOST_DENSE:,} nodes all that need the matrix as "
        "F >> 0, which has n² rows in CVXPY. Solvers that are not installed have no times (–)."
    )
    page = Page(out, "discs", "Matrix inequalities of networks", about)
    page.add(*network_lines(measured), "")
    page.add("## What the detector says of other semidefinite programs", "", *other_lines())
    page.write()
    write_figure(out / "discs.png", picture(measured))


EXPERIMENT = Experiment(
    "matrix inequalities of networks: cones of edges, linear and semidefinite programs",
    minutes=12,
    files=("discs.md", "discs.png", "discs.jsonl"),
    run=run,
)
