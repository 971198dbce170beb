"""HiGHS prints no banner, and nothing that users print is lost.

HiGHS prints from C, once a process: each test is a process of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gdaopt as gda
from tests.covering import chosen
from tests.process_cases import posix_only

BEFORE = """
import gdaopt as gda
glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
graphs = gda.GraphMetrics(4.0)
problem = gda.MetricProblem(glr, graphs)
constrained = gda.MetricProblem(glr, graphs, constraints=lambda M: [M[0, 0] <= 3])
few = {"max_iterations": 2}
"""


def printed(code: str, folder: Path) -> str:
    """Return what a script prints; it must end well."""
    run = subprocess.run(
        [sys.executable, "-c", BEFORE + code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(gda.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


SILENT = {
    "CVXPY": 'gda.solve(problem, "joint", solver="HIGHS", **few)',
    "highspy": 'gda.solve(problem, "joint", solver="highspy", **few)',
    "options": 'gda.methods.Joint(solver="HIGHS", solver_opts={"less_infeasible_DSE_check": True})',
    "constraints": 'gda.solve(constrained, "certified", **few)',
    "constraints, CVXPY": 'gda.solve(constrained, "joint", solver="HIGHS", **few)',
    "worker": 'gda.solve(problem, "joint", solver="HIGHS", isolate=True, **few)\n'
    'gda.solve(problem, "joint", solver="highspy", isolate=True, **few)',
    "solvers": "gda.solvers()",
    "commands": 'with gda.bench.recording("run.npz"):\n'
    '    gda.solve(problem, "joint", solver="analytic", **few)\n'
    "from gdaopt.cli.app import app\n"
    'app(["export", "run.npz", "--program", "0", "--out", "out"], standalone_mode=False)',
}


@pytest.mark.parametrize("name", chosen(SILENT, default=["CVXPY"], slow=SILENT))
def test_nothing_of_ours_prints_it(name: str, tmp_path: Path) -> None:
    lines = printed(SILENT[name] + "\nprint('end')", tmp_path).splitlines()
    assert [line for line in lines if "run-00000" not in line] == ["end"]
    assert len(lines) == (3 if name == "commands" else 1)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["HIGHS", "highspy"])
def test_what_others_print_at_that_time_is_kept(solver: str, tmp_path: Path) -> None:
    """Lines of Python, and by the file descriptor, while the first model is made."""
    code = f"""
import os, threading
ended, lines = threading.Event(), 0
def write():
    global lines
    while not ended.is_set():
        print("by Python", flush=True)
        os.write(1, b"by descriptor\\n")
        lines += 1
writer = threading.Thread(target=write)
writer.start()
gda.solve(problem, "joint", solver={solver!r}, **few)
ended.set()
writer.join()
print(lines)
"""
    *lines, count = printed(code, tmp_path).splitlines()
    assert lines == ["by Python", "by descriptor"] * int(count)
    assert int(count) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        'gda.solve(problem, "joint", solver="highspy", solver_opts={"output_flag": True}, **few)',
        'gda.solve(problem, "joint", solver="HIGHS", solver_opts={"verbose": True}, **few)',
        """
gda.solve(problem, "joint", solver="highspy", **few)
import highspy
own = highspy.Highs()
own.addVar(0, 1)
own.run()
""",
    ],
    ids=["highspy", "CVXPY", "own"],
)
def test_logs_that_are_asked_for_are_printed(code: str, tmp_path: Path) -> None:
    assert "HiGHS run time" in printed(code, tmp_path)


@pytest.mark.slow
@posix_only
@pytest.mark.parametrize("lost", ["os.close(1)", "sys.stdout = io.StringIO()"])
def test_standard_output_closed_or_replaced(lost: str, tmp_path: Path) -> None:
    """Nothing is written to what takes its place, such as the file that is opened next."""
    code = f"""
import ctypes, io, os, sys
{lost}
with open("next.txt", "w"):
    for solver in ("highspy", "HIGHS"):
        gda.solve(problem, "joint", solver=solver, **few)
    ctypes.CDLL(None).fflush(None)
assert open("next.txt").read() == ""
assert sys.stdout is sys.__stdout__ or sys.stdout.getvalue() == ""
sys.stdout = sys.__stdout__ = None  # the end would flush what is closed
"""
    assert printed(code, tmp_path) == ""
