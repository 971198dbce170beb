"""The list "How a certificate is computed" of docs/extending.md is what runs, in this order."""

import re
import sys
from pathlib import Path
from types import FrameType

import numpy as np

import gdaopt as gda

TOP = Path(__file__).parents[2]
PACKAGE = Path(gda.__file__).parent
SECTION = "How a certificate is computed"
MOST_FILES = 6
NOT_OF_THE_WALK = ("support/", "linalg/known_entries.py")
"""Checks of input and of the time, and sums of entries."""


def steps() -> list[tuple[str, str]]:
    """Return the functions of the list and their files."""
    page = (TOP / "docs" / "extending.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {SECTION}\n")[1].split("\n## ")[0]
    return re.findall(r"^\d+\. `([\w.]+)` \(`([\w/]+\.py)`\)", section, re.MULTILINE)


def of_objective(frame: FrameType | None) -> bool:
    """Say whether a function is one of an objective, or was called by one."""
    objectives = PACKAGE / "objectives"
    while frame is not None:
        if Path(frame.f_code.co_filename).is_relative_to(objectives):
            return True
        frame = frame.f_back
    return False


def passed() -> list[tuple[str, str]]:
    """Return the functions that a certificate runs through, and their files.

    What an objective computes, whatever it calls for that, is a matter of its own.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    problem = gda.MetricProblem(gda.GLR(X, np.sign(X[:, 0])), gda.GraphMetrics(trace_bound=4.0))
    metric = problem.central_metric()
    found = []

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE) and not of_objective(frame):
            found.append((frame.f_code.co_qualname, path.relative_to(PACKAGE).as_posix()))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        gda.certify(problem, metric)
    finally:
        sys.setprofile(before)
    return found


def test_the_functions_run_in_the_order_of_the_list() -> None:
    assert len(steps()) > 10
    run = iter(passed())
    for step in steps():
        assert step in run  # later than the step before


def test_no_other_files_are_needed() -> None:
    files = {file for _, file in steps()}
    assert len(files) <= MOST_FILES
    entered = {file for _, file in passed() if not file.startswith(NOT_OF_THE_WALK)}
    assert entered == files
