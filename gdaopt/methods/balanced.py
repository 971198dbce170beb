"""The best balanced signed graph of all colourings, with a proof: branch and bound over colours."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import ClassVar

import numpy as np

from gdaopt.errors import InvalidInputError, RoundOffError
from gdaopt.linalg.entries import Edges, neighbors
from gdaopt.linalg.laplacian import maximum_spanning_tree
from gdaopt.master.active_set import ActiveSet
from gdaopt.methods.base import Demand, Method, States
from gdaopt.methods.certified import Certified
from gdaopt.methods.context import Context
from gdaopt.methods.hull import active_set_of, split_metric
from gdaopt.problem import MetricProblem
from gdaopt.sets import FeasibleSet, SDDMetrics
from gdaopt.state import State
from gdaopt.support.validation import FloatArray, integer, store_checked

_FAR = 0.1  # how far a hull's bound may be below its value, by what it is below the best metric
_SHARE = 0.5  # share of the allowed gap that the runs of single nodes and colourings may leave
_STARTS = 8  # at random, of the local search


@dataclass(frozen=True, kw_only=True, eq=False)
class Balanced(Method):
    """The best metric of a balanced signed graph, over all colours of the features, with a proof.

    Entries ``M_ij < 0`` are positive edges, between nodes of one colour, and ``M_ij > 0`` negative
    ones, between nodes of two. The problem's set is `gdaopt.SDDMetrics`; if it gives colours, these
    stay. If the optimum over the set is balanced, it is the answer; else branch and bound over the
    other colours finds it ("Algorithm: branch and bound over colourings"). The metric after each
    step is balanced, with the colours in `Result.colors`, and the lower bound holds for the
    balanced metrics of all colours. A round is a node, a step is a round of `Certified` in it.

    Parameters
    ----------
    node_limit : int, optional
        Most nodes of the search; a run that reaches it ends with the status ``iteration_limit``.
    **limits
        See `Method`; `initial` is a balanced metric.

    Raises
    ------
    InvalidInputError
        For a bad option, a set of another kind, an `initial` that is not balanced, and linear
        constraints: no balanced metric that keeps them may be known to begin with.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 1.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.SDDMetrics(trace_bound=4.0))
    >>> result = gda.solve(problem, "balanced")
    >>> result.status, result.colors, bool(result.metric[0, 1] > 0)
    ('converged', array([-1.,  1.]), True)
    """

    name: ClassVar[str] = "balanced"
    takes: ClassVar[tuple[Demand, ...]] = ()
    sets: ClassVar[tuple[type[FeasibleSet], ...]] = (SDDMetrics,)

    node_limit: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        store_checked(self, integer, "node_limit", at_least=1)

    def states(self, problem: MetricProblem, context: Context) -> States:
        return (yield from _Search(self, problem, context).states())


@dataclass(order=True)
class _Node:
    """Some colours, with a lower bound of all their completions, and atoms to start from."""

    bound: float
    number: int  # in the order of their making, which decides between equal bounds
    colors: FloatArray = field(compare=False)
    start: ActiveSet | None = field(compare=False)


class _Search:
    """One run: the open nodes, and the best state, whose metric is balanced."""

    best: State

    def __init__(self, method: Balanced, problem: MetricProblem, context: Context) -> None:
        assert isinstance(problem.feasible_set, SDDMetrics)
        self._method, self._problem, self._context = method, problem, context
        self._hull = problem.feasible_set
        self._inner = Certified(
            tolerance=_SHARE * method.tolerance,
            absolute_tolerance=_SHARE * method.absolute_tolerance,
        )
        colors = self._hull.colors
        fixed = np.zeros(problem.n_features) if colors is None else colors
        self._fixed = np.asarray(fixed, dtype=np.float64)  # colours of the set; 0 for none
        self._colors = np.where(self._fixed, self._fixed, 1.0)  # those of the best metric
        self._open: list[_Node] = []
        self._closed = math.inf  # the least bound of the nodes that are done
        self._tried: set[bytes] = set()
        self._numbers = count(1)
        self._n_steps = self._oracle_calls = self._newton_steps = 0

    def states(self) -> States:
        start = self._split_initial()
        heapq.heappush(self._open, _Node(-math.inf, next(self._numbers), self._fixed, start))
        for n_nodes in count(1):
            yield from self._solve_node(heapq.heappop(self._open), n_nodes)
            if not self._open:
                break
            if n_nodes == self._method.node_limit:
                return "iteration_limit", f"node_limit = {n_nodes} reached"
        return "stalled", "all colours are decided, and what is left of the gap is round-off"

    def _split_initial(self) -> ActiveSet | None:
        """Return the atoms of `initial`; take its colours."""
        metric = self._method.initial_metric(self._problem)
        if metric is None:
            return None
        self._colors = rounded_colors(metric, self._fixed)
        pairs = conflicts(metric, self._colors)
        if len(pairs[0]):
            raise InvalidInputError(
                f"initial is not balanced: no colours of the features go with its entry "
                f"[{pairs[0][0]},{pairs[1][0]}]; set it to 0, or leave initial out"
            )
        return split_metric(self._problem, metric)

    def _solve_node(self, node: _Node, number: int) -> Iterator[State]:
        """Bound a node, round its optimum, and branch; yield the states on the way."""
        hull = None
        for hull in self._solve(node.colors, node.start):
            if hull.lower_bound is not None:
                node.bound = max(node.bound, hull.lower_bound)
            if not self._n_steps:  # the start of the run, which is balanced
                self.best = hull
            elif number == 1:  # until the hull is solved, there is nothing else
                self._take_rounding(node, hull)
            yield self._state(node, number, "hull")
            # What is below the best metric by far will be branched on, if it has conflicts.
            is_far = hull.objective - node.bound <= _FAR * (self.best.objective - hull.objective)
            if self._is_closed(node) or (is_far and len(self._round(node, hull)[1][0])):
                break
        assert hull is not None
        if not self._is_closed(node):
            colors, pairs = self._round(node, hull)
            if not len(pairs[0]):
                self._take(hull, colors)
            elif colors.tobytes() not in self._tried:
                self._tried.add(colors.tobytes())
                yield from self._solve_coloring(node, number, hull, colors)
            if len(pairs[0]) and not self._is_closed(node):
                self._branch(node, hull, pairs)
                return
        self._closed = min(self._closed, node.bound)
        yield self._state(node, number, "closed")

    def _is_closed(self, node: _Node) -> bool:
        """Say whether no completion of a node's colours is better by more than the tolerance."""
        return self.best.objective - node.bound <= self._allowed_gap

    @property
    def _allowed_gap(self) -> float:
        return self._method.allowed_gap(self._problem.size_of(self.best.objective))

    def _round(self, node: _Node, hull: State) -> tuple[FloatArray, Edges]:
        """Return colours for a metric of a node, and the pairs that are in conflict under them."""
        colors = rounded_colors(hull.metric, node.colors, [self._colors])
        return colors, conflicts(hull.metric, colors)

    def _solve_coloring(
        self, node: _Node, number: int, hull: State, colors: FloatArray
    ) -> Iterator[State]:
        """Look for the best metric of some colours, as long as it may be better than the best."""
        for state in self._solve(colors, _select_atoms(hull, colors)):
            self._take(state, colors)
            yield self._state(node, number, "colours")
            bound = state.lower_bound
            if bound is not None and self.best.objective - bound <= _SHARE * self._allowed_gap:
                return

    def _branch(self, node: _Node, hull: State, pairs: Edges) -> None:
        """Open two nodes, in which one more feature has a colour."""
        weights, fixed = np.abs(hull.metric[pairs]), node.colors.copy()
        if fixed.any():
            loads = sum(np.bincount(ends, weights, len(fixed)) for ends in pairs)
            feature = int(np.where(fixed, -1.0, loads).argmax())
        else:  # c and -c are the same
            first, feature = (int(ends[weights.argmax()]) for ends in pairs)
            fixed[first] = 1.0
        for color in (1.0, -1.0):
            colors = fixed.copy()
            colors[feature] = color
            start = _select_atoms(hull, colors)
            heapq.heappush(self._open, _Node(node.bound, next(self._numbers), colors, start))

    def _solve(self, colors: FloatArray, start: ActiveSet | None) -> Iterator[State]:
        """Yield the states of a certified run for some colours, until it has converged."""
        feasible_set = replace(self._hull, colors=colors.tolist() if colors.any() else None)
        problem = replace(self._problem, feasible_set=feasible_set)
        problem.take_centre(*self._problem.centre)
        n_calls, n_newton = self._oracle_calls, self._newton_steps
        with suppress(RoundOffError):  # the bound is what can be had
            for state in self._inner.rounds(problem, self._context, start):
                self._oracle_calls = n_calls + state.oracle_calls
                self._newton_steps = n_newton + state.newton_steps
                yield state
                if self._inner.is_converged(problem, state):
                    return

    def _take(self, state: State, colors: FloatArray) -> None:
        """Take a state as the best one, if it is, with its colours."""
        if state.objective < self.best.objective:
            self.best, self._colors = state, colors

    def _take_rounding(self, node: _Node, hull: State) -> None:
        """Take what the colours of a metric leave of its atoms, if that is the best."""
        colors, _ = self._round(node, hull)
        part = _select_atoms(hull, colors)
        base = self._problem.members.base
        point = self._problem.objective.at(part.atoms.added_to(base, part.weights))
        self._take(replace(hull, point=point, atoms=part.atoms, weights=part.weights), colors)

    def _state(self, node: _Node, number: int, phase: str) -> State:
        """Return the state of the run after a step of a node."""
        self._n_steps += 1
        return State(
            point=self.best.point,
            atoms=self.best.atoms,
            weights=self.best.weights,
            colors=self._colors,
            lower_bound=min([self._closed, node.bound, *(other.bound for other in self._open)]),
            iteration=self._n_steps - 1,
            round=number,
            phase="start" if self._n_steps == 1 else phase,
            oracle_calls=self._oracle_calls,
            newton_steps=self._newton_steps,
        )


def _select_atoms(state: State, colors: FloatArray) -> ActiveSet:
    """Return those atoms of a metric that some colours allow, with their weights."""
    active_set = active_set_of(state)
    first, second = active_set.atoms.support.T
    # An edge between two colours is positive in M; the product is 0 for an atom of one feature.
    signs = colors[first] * colors[second] * active_set.atoms.values.prod(axis=1)
    return active_set.select(signs <= 0)


def conflicts(metric: FloatArray, colors: FloatArray) -> Edges:
    """Return the pairs i < j whose entry has the wrong sign for their colours."""
    rows, columns = np.nonzero(np.triu(metric, 1))
    wrong = colors[rows] * colors[columns] * metric[rows, columns] > 0
    return rows[wrong], columns[wrong]


def rounded_colors(
    metric: FloatArray, fixed: FloatArray, guesses: Sequence[FloatArray] = ()
) -> FloatArray:
    """Return colours for which little weight of the edges is in conflict, by a local search.

    Fixed colours stay (0 for a feature without one). The search starts from the guesses, a
    maximum spanning forest, so that a balanced graph has no conflict, and random colours.
    """
    rows, columns = np.nonzero(np.triu(metric, 1))
    nodes, ends = np.unique(np.concatenate([rows, columns]), return_inverse=True)
    colors = np.where(fixed, fixed, 1.0)
    if not len(nodes):
        return colors
    # One more node, of colour 1, is tied to all whose colour is fixed: these keep it.
    size, fixed_nodes = len(nodes), np.append(fixed[nodes], 1.0)
    weights = np.zeros((size + 1, size + 1))
    starts, stops = ends[: len(rows)], ends[len(rows) :]
    weights[starts, stops] = weights[stops, starts] = -metric[rows, columns]
    heaviest = 2 * np.abs(weights).sum()
    weights[size, :size] = weights[:size, size] = heaviest * fixed_nodes[:size]
    rng = np.random.default_rng(0)
    tried = [_along_forest(weights), *(np.append(guess[nodes], 1.0) for guess in guesses)]
    tried += [rng.choice([-1.0, 1.0], size + 1) for _ in range(_STARTS)]
    improved = [_improve(weights, np.where(fixed_nodes, fixed_nodes, start)) for start in tried]
    best = max(improved, key=lambda each: float(each @ weights @ each))  # the first of the best
    colors[nodes] = best[:size]
    return colors


def _along_forest(weights: FloatArray) -> FloatArray:
    """Return the colours that no edge of a maximum spanning forest conflicts with."""
    size = len(weights)
    forest = maximum_spanning_tree(-np.abs(weights))
    neighbors_of = neighbors(size, (forest[:, 0], forest[:, 1]))
    colors = np.zeros(size)
    for root in range(size)[::-1]:  # the node of known colour first
        front = [] if colors[root] else [root]
        colors[root] = colors[root] or 1.0
        while front:
            node = front.pop()
            new = [other for other in neighbors_of[node] if not colors[other]]
            colors[new] = colors[node] * np.sign(weights[node, new])
            front += new
    return colors


def _improve(weights: FloatArray, colors: FloatArray) -> FloatArray:
    """Change single colours, the worst first, as long as that lowers the weight in conflict."""
    colors = colors.copy()
    agreement = colors * (weights @ colors)  # each node with its neighbours
    round_off = 1e-12 * float(np.abs(weights).sum(axis=1).max())
    while True:
        worst = int(agreement.argmin())
        if not agreement[worst] < -round_off:
            return colors
        change = 2 * weights[worst] * colors[worst] * colors
        colors[worst] = -colors[worst]
        agreement[worst] = -agreement[worst]
        change[worst] = 0.0
        agreement -= change
