"""The walks of docs/extending are true: a run passes their functions in their order.

A walk is a page with a numbered list of functions, each with its file, in the order in which
control passes them. Below that list may be another one, of what a run passes as well and a reader
can leave out. A new walk is a page like that and an entry of `WALKS`.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import gdaopt as gda

TOP = Path(__file__).parents[2]
PAGES = TOP / "docs" / "extending"
PACKAGE = Path(gda.__file__).parent

Call = tuple[str, str]
"""The file of a function, such as ``"gdaopt/problem.py"``, and its name there with its class."""


@dataclass(frozen=True)
class Walk:
    """What a page describes."""

    run: Callable[[], Callable[[], object]]  # makes it ready
    most_files: int  # that the numbered list may name
    folders: Sequence[str]  # whose modules a run enters only where the page names them
    begins: str = ""  # the function with which each round begins; empty without rounds
    settled: int = 0  # rounds that are left out first: they make what later ones use again


def alternating() -> Callable[[], object]:
    """Return a run of two rounds: two steps with the diagonal, and with each of three columns."""
    signal = np.repeat([1.0, -1.0], 10)
    samples = np.random.default_rng(0).standard_normal((20, 3))
    samples[:, 0] += signal
    problem = gda.MetricProblem(gda.GLR(samples, signal), gda.GraphMetrics(3.0, 1e-3))
    gda.solve(problem, "alternating", solver="HIGHS", max_iterations=1)  # tries the solver
    method = gda.methods.Alternating(
        solver="HIGHS", tolerance=0, block_iterations=2, max_iterations=16
    )
    return lambda: gda.solve(problem, method)


def regulariser(n_samples: int) -> Callable[[], object]:
    """Return a call of value and gradient of the regulariser of so many samples."""
    samples = np.random.default_rng(0).standard_normal((n_samples, 3))
    glr, metric = gda.GLR(samples, np.sign(samples[:, 0])), np.eye(3)
    glr.value(metric)  # computes the logarithms of the weights
    return lambda: (glr.value(metric), glr.gradient(metric))


def certificate() -> Callable[[], object]:
    """Return a call of `gda.certify`."""
    samples = np.random.default_rng(0).standard_normal((30, 4))
    glr = gda.GLR(samples, np.sign(samples[:, 0]))
    problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    metric, certify = problem.central_metric(), gda.certify  # which is loaded here
    return lambda: certify(problem, metric)


OBJECTIVES = ("gdaopt/objectives", "gdaopt/objectives/pairs")
STEP, BESIDE = r"\d+\.", r"\*"  # the marks of the two lists of a walk

WALKS = {
    "how_pairs_are_summed": Walk(partial(regulariser, 300), 6, OBJECTIVES),
    "how_many_pairs_are_summed": Walk(partial(regulariser, 800), 6, OBJECTIVES),
    "how_a_certificate_is_computed": Walk(
        certificate, 5, ("gdaopt", "gdaopt/certificate", "gdaopt/sets")
    ),
    "how_a_step_runs": Walk(
        alternating,
        most_files=7,
        folders=("gdaopt/methods", "gdaopt/programs", "gdaopt/backends"),
        begins="Run._step",
        settled=8,
    ),
}


def listed(page: str, mark: str) -> list[Call]:
    """Return the functions of a page's lists of one kind, by the pattern of their marks."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    items = re.findall(rf"^{mark} `([\w.]+)` \(`([\w/]+\.py)`\)", text, re.MULTILINE)
    return [(file, name) for name, file in items]


@cache
def calls(page: str) -> list[Call]:
    """Return the package's functions that a run calls or resumes, in order."""
    run = WALKS[page].run()
    found: list[Call] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)):
            file = Path(code.co_filename).relative_to(PACKAGE.parent).as_posix()
            found.append((file, code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return found


def rounds(page: str) -> list[list[Call]]:
    """Return the calls of each round that counts; all calls where there are no rounds."""
    walk, found = WALKS[page], calls(page)
    if not walk.begins:
        return [found]
    starts = [index for index, (_, name) in enumerate(found) if name == walk.begins]
    parts = [found[start:end] for start, end in pairwise(starts)]
    return parts[walk.settled :]


def missed(wanted: Sequence[Call], passed: Sequence[Call]) -> list[Call]:
    """Return what is not passed in its order, from the first function that is missing on."""
    left = iter(passed)
    for index, function in enumerate(wanted):
        if function not in left:  # takes all up to it
            return list(wanted[index:])
    return []


def defined(node: ast.AST, prefix: str = "") -> Iterator[str]:
    """Yield the names of the functions and classes in a text, with those of their classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield prefix + child.name
            yield from defined(child, f"{prefix}{child.name}.")


@pytest.mark.parametrize("page", WALKS)
def test_every_function_is_in_its_file(page: str) -> None:
    steps = listed(page, STEP)
    assert 0 < len({file for file, _ in steps}) <= WALKS[page].most_files
    for file, name in [*steps, *listed(page, BESIDE)]:
        names = defined(ast.parse((TOP / file).read_text(encoding="utf-8")))
        assert name in names, f"{name} is not in {file}"


@pytest.mark.parametrize("page", WALKS)
def test_a_run_passes_the_functions_in_their_order(page: str) -> None:
    wanted, begins = listed(page, STEP), WALKS[page].begins
    start = [name for _, name in wanted].index(begins) if begins else len(wanted)
    assert missed(wanted[:start], calls(page)) == []
    assert min((missed(wanted[start:], part) for part in rounds(page)), key=len) == []


@pytest.mark.parametrize("page", WALKS)
def test_a_run_enters_no_other_module(page: str) -> None:
    """And a function beside the walk that no run passes any more goes from the list."""
    beside, passed = listed(page, BESIDE), {call for part in rounds(page) for call in part}
    known = {file for file, _ in [*listed(page, STEP), *beside]}
    entered = {file for file, _ in passed if str(Path(file).parent) in WALKS[page].folders}
    assert entered - known == set()
    assert [call for call in beside if call not in passed] == []


def test_order_counts() -> None:
    a, b, c = (("gdaopt/problem.py", name) for name in "abc")
    assert missed([a, c], [a, b, c]) == []
    assert missed([a, c, b], [a, b, c]) == [b]
    assert missed([c, b], [a, b]) == [c, b]
