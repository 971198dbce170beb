"""Masks of edges: the forms that they are read from, and what they do to a set."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_matrix

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import all_edges
from gdaopt.linalg.laplacian import n_components
from gdaopt.sets import EdgeMask, FeasibleSet, record_of, set_of_record
from tests.helpers import PROPERTY, Rng, generators, n_parts, random_symmetric
from tests.sets.mask_cases import is_allowed, random_mask, random_set

PAIRS = [(0, 1), (0, 3), (1, 2)]
MATRIX = np.zeros((4, 4), dtype=bool)
MATRIX[[0, 0, 1, 1, 3, 2], [1, 3, 2, 0, 0, 1]] = True

kinds = st.sampled_from(["graph", "signed"])


# --- Reading -------------------------------------------------------------------------------------

FORMS: dict[str, Any] = {
    "pairs": PAIRS,
    "array": np.array(PAIRS, dtype=np.uint8),
    "set": set(PAIRS),
    "other order, twice": [(2, 1), (3, 0), (1, 0), (0, 1)],
    "mask": EdgeMask.of(PAIRS),
    "memory of pairs": np.array(PAIRS).data,
    "memory of a matrix": MATRIX.data,
    "matrix": MATRIX,
    "matrix with a diagonal": MATRIX | np.eye(4, dtype=bool),
    "list of lists of bool": MATRIX.tolist(),
    "sparse": coo_array(MATRIX.astype(float)),
    "sparse matrix": csr_matrix(MATRIX.astype(int)),
    "graph": nx.Graph([*PAIRS, (3, 0)]),
    "table": pd.DataFrame(PAIRS),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    mask = EdgeMask.of(FORMS[form])
    assert list(zip(mask.rows.tolist(), mask.columns.tolist(), strict=True)) == PAIRS
    whole = any(word in form for word in ("matrix", "bool", "sparse", "graph"))
    same = EdgeMask.of(MATRIX if whole else PAIRS)
    assert mask.n_features == (4 if whole else None)
    assert (mask, hash(mask)) == (same, hash(same))
    assert EdgeMask.of_record(json.loads(json.dumps(mask.record()))) == mask
    assert not mask.rows.flags.writeable


def test_masks_of_other_pairs_or_sizes_differ() -> None:
    masks = [EdgeMask.of(edges) for edges in ([], PAIRS, PAIRS[:2], MATRIX, np.zeros((4, 4), bool))]
    assert len(set(masks)) == len(masks)
    assert masks[1] != PAIRS
    nothing: list[Any] = [[], np.zeros((0, 2)), np.zeros((3, 3), bool), nx.Graph()]
    for empty in nothing:
        assert len(EdgeMask.of(empty)) == 0


@pytest.mark.parametrize(
    "make", [partial(gda.GraphMetrics, 3.0), partial(gda.SignedGraphMetrics, [1, -1, 1], 3.0)]
)
def test_sets_with_the_same_mask_are_equal(make: Callable[..., FeasibleSet]) -> None:
    first, second = make(edges=[(0, 1)]), make(edges={(1, 0)})
    assert (first, hash(first)) == (second, hash(second))
    assert make() != first != make(edges=[])
    assert "edges" not in record_of(make())
    for one in (first, make()):
        assert set_of_record(json.loads(json.dumps(record_of(one)))) == one


BAD: dict[str, tuple[Any, str]] = {
    "not symmetric": (np.triu(MATRIX), r"not symmetric: of \[0,1\] and \[1,0\] only one is set"),
    "sparse, not symmetric": (coo_array(np.triu(MATRIX)), "not symmetric"),
    "not square": (coo_array(MATRIX[:3]), r"K×K matrix, got shape \(3, 4\)"),
    "numbers": (MATRIX.astype(float), "a matrix has to be boolean: pass edges != 0"),
    "self-loop": ([(0, 1), (2, 2)], "pair of feature 2 with itself"),
    "negative": ([(0, -1)], r"the pair \(0, -1\); features are numbered from 0 on"),
    "fractions": ([(0.0, 1.5)], "pairs of indices of features, got"),
    "names": ([("a", "b")], r"pairs of indices of features, got \['a', 'b'\]"),
    "triples": ([(0, 1, 2)], r"n pairs, of shape \(n, 2\)"),
    "ragged": ([(0, 1), (0, 1, 2)], "cannot be read as pairs"),
    "text": ("0,1", "mask of edges, such as pairs of features, got '0,1'"),
    "number": (3, "mask of edges, such as pairs of features, got 3"),
    "digraph": (nx.DiGraph([(0, 1)]), "to_undirected"),
    "nodes": (nx.Graph([(1, 2)]), r"must be 0, …, 1.*convert_node_labels_to_integers"),
    "loop of a graph": (nx.Graph([(0, 0)]), "feature 0 with itself"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_edges_are_refused(case: str) -> None:
    edges, message = BAD[case]
    with pytest.raises(InvalidInputError, match=message):
        gda.GraphMetrics(3.0, edges=edges)


def test_names_are_read_where_they_are_known() -> None:
    names = ["height", "length", "width"]
    pair: Any = ("width", "height")
    written: list[Any] = [[pair], np.array([pair]), nx.Graph([pair])]
    for edges in written:
        assert EdgeMask.of(edges, names) == EdgeMask.of([(0, 2)])
    for pair, known, says in (
        (("heigth", "width"), names, "'heigth'; did you mean 'height'"),
        (("width", "width"), names, "pair of feature 'width' with itself"),
        (("g", "f0"), [f"f{n}" for n in range(2000)], r"Known: f0, .* and 1988 more"),
    ):
        with pytest.raises(InvalidInputError, match=says):
            EdgeMask.of([pair], known)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (PAIRS, r"the pair \(0, 3\), and the 3 features are numbered from 0 to 2"),
        (MATRIX, "a mask of 4 features, and there are 3"),
    ],
)
def test_a_mask_of_other_features_is_refused(edges: Any, message: str) -> None:
    glr = gda.GLR(np.eye(3), [1, -1, 1])
    for feasible_set in (
        gda.GraphMetrics(3.0, edges=edges),
        gda.SignedGraphMetrics([1, 1, -1], 3.0, edges=edges),
    ):
        with pytest.raises(InvalidInputError, match=message):
            gda.MetricProblem(glr, feasible_set)


# --- Starts, paths, trees ------------------------------------------------------------------------


@PROPERTY
@given(generators, st.integers(2, 9))
def test_the_bound_of_the_start_is_sharp(rng: Rng, size: int) -> None:
    """ "Erratum 3: bound of the path start", for a spanning forest."""
    feasible_set = gda.GraphMetrics(float(size), 0.01, edges=random_mask(rng, size, 0.4))
    bound = feasible_set.largest_edge_weight(size)
    if bound == np.inf:
        assert len(feasible_set.family.edges_of(size)[0]) == 0
        return
    start = feasible_set.start(size, bound * (1 - 1e-12))
    assert np.linalg.eigvalsh(start)[0] == pytest.approx(0.01, abs=1e-9)
    with pytest.raises(InvalidInputError, match="would not be a metric"):
        feasible_set.start(size, bound * (1 + 1e-9))


@PROPERTY
@given(generators, st.integers(2, 9), kinds)
def test_a_path_becomes_a_tree_of_the_mask(rng: Rng, size: int, kind: str) -> None:
    feasible_set = replace(random_set(rng, size, kind), trace_bound=float(4 * size))
    connected = replace(feasible_set, path_weight=0.25)
    if n_components(-is_allowed(size, feasible_set), 0.0) > 1:
        with pytest.raises(InvalidInputError, match=r"leave \d components; allow more edges"):
            connected.budget(size)
        return
    connected.budget(size)
    fixed = connected.base(size) - feasible_set.base(size)
    assert np.trace(fixed) == pytest.approx(0.5 * (size - 1))
    assert not (fixed * (1 - is_allowed(size, feasible_set))).any()
    start = connected.start(size)
    assert start in connected
    assert start in feasible_set
    assert n_parts(connected, start) == 1
    vertex = connected.minimize_linear(random_symmetric(rng, size)).vertex
    assert vertex in feasible_set


def test_a_mask_does_not_list_the_pairs_that_it_leaves_out() -> None:
    listed = all_edges.cache_info().misses
    assert len(gda.DiagonalMetrics(1.0).family.edges_of(1003)[0]) == 0
    assert all_edges.cache_info().misses == listed
