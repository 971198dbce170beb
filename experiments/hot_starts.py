"""Look for hot starts that end wrong: sequences of programs, solved hot and cold, and checked.

Run ``python experiments/hot_starts.py`` from the top of a checkout (ten minutes); it prints the
tables and writes ``figures/hot_starts.md``. ``--highspy FOLDER`` adds another version of HiGHS, of
a folder that ``pip install --target FOLDER --no-deps highspy==1.15.1`` has filled. The programs are
those that ``experiments/sequences/make.py`` makes, whose optima are proven in rational arithmetic.
Where an answer is wrong, the shortest sequence that ends so is written to ``figures/hot_starts/``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pages import FIGURES, Page, header, wrapped
from pages import row as line_of

from gdaopt.backends import LinearArrays, solvers
from gdaopt.backends.catalogue import entry_of, tolerance_options
from gdaopt.backends.highspy import HighsModel, load_highspy
from gdaopt.bench import ProgramSequence, replay
from gdaopt.bench.mps import mps_text
from gdaopt.bench.table import verdict
from gdaopt.support.warning_filters import ignoring
from sequences.exact import exact_optimum
from sequences.make import RECIPES

FAULTY = FIGURES / "hot_starts"
MOST = 100  # programs of a sequence
MOST_OF_OTHERS = 20  # for solvers through CVXPY
LEFT_OUT = ("MPAX",)  # it compiles each program anew, for seconds, and has no time limit
TOLERANCE = 1e-7  # asked of HiGHS, as by its defaults
OF_OTHERS = 1e-6
ALLOWED = 10  # times the tolerance: what is off by more is wrong
CAP = 10.0
FAULTS = ("wrong", "infeasible")  # of answers that a solver calls right

WAYS: dict[str, dict[str, Any]] = {
    "dual simplex": {"simplex_strategy": 1},
    "primal simplex": {"simplex_strategy": 4},
    "HiGHS chooses": {"simplex_strategy": 0},
    "HiGHS chooses, and scales": {"simplex_strategy": 0, "simplex_scale_strategy": 2},
}
STARTS: dict[str, dict[str, bool]] = {
    "cold": {"hot": False},
    "cold, no presolve": {"hot": False, "presolve": False},
    "hot": {"hot": True},
}


@dataclass(frozen=True)
class Case:
    """A sequence, with the least values of its programs."""

    name: str
    programs: Sequence[LinearArrays]
    optima: Sequence[float]


@dataclass
class Tally:
    """What has become of the programs of one way."""

    faults: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    iterations: int = 0

    def row(self, label: str, cold: Tally) -> str:
        """Return the cells of a table."""
        slower = sum(a > b for a, b in zip(self.seconds, cold.seconds, strict=True))
        count = len(self.seconds)
        return line_of(
            label,
            count,
            *(self.faults[name] for name in ("wrong", "infeasible", "failed")),
            "" if self is cold else slower,
            f"{1e3 * sum(self.seconds) / count:.3f}",
            f"{self.iterations / count:.2f}" if self.iterations else "",
        )


HEAD = header(
    "solver, start | programs | wrong | called infeasible | failed | slower than cold "
    "| ms a program | iterations"
)


def model_of(way: str) -> HighsModel:
    """Return HiGHS with the options of a way."""
    names = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
    return HighsModel({**dict.fromkeys(names, TOLERANCE), **WAYS[way]})


def solved(
    model: HighsModel, arrays: LinearArrays, optimum: float, start: str
) -> tuple[str, float, int]:
    """Return what is wrong with an answer, an empty text for nothing; seconds, and iterations."""
    begun = time.perf_counter()
    answer = model.minimize(arrays, **STARTS[start])
    seconds = time.perf_counter() - begun
    fault = ""
    if answer.status in ("infeasible", "infeasible_or_unbounded", "unbounded"):
        fault = "infeasible"
    elif answer.status != "optimal":
        fault = "failed"
    else:
        assert answer.row_duals is not None
        off = arrays.residuals(answer.point, answer.row_duals)
        costs = abs(arrays.cost)
        size = max(float(costs @ abs(answer.point)), float(costs.max()))
        error = abs(float(arrays.cost @ answer.point) - optimum) / size
        fault = "wrong" if max(off.feasibility, error) > ALLOWED * TOLERANCE else ""
    return fault, seconds, answer.iterations or 0


def shortest(last: int, ends_so: Callable[[range], bool]) -> range:
    """Return the shortest range of programs at whose end the fault is seen again; or none."""
    for first in range(last, -1, -1):
        if ends_so(range(first, last + 1)):
            return range(first, last + 1)
    return range(0)


def report(case: Case, what: str, numbers: range) -> str:
    """Write the programs of a fault, and return a line on it."""
    files = ", ".join(write(case, number) for number in numbers)
    return f"* {what}: {files or 'not again from any program before'}"


def ends_so(case: Case, numbers: range, way: str, start: str, fault: str) -> bool:
    """Say whether a new HiGHS that solves some programs has this fault at the last one."""
    if start != "hot" and len(numbers) > 1:
        return False  # no program before plays a part
    model, found = model_of(way), ""
    for number in numbers:
        found, _, _ = solved(model, case.programs[number], case.optima[number], start)
    return found == fault


def by_highs(cases: Sequence[Case]) -> tuple[list[str], list[str]]:
    """Return the rows of this version of HiGHS, and lines on faults, whose programs are written."""
    version = load_highspy().Highs().version()
    rows, faults = [], []
    for way in WAYS:
        tallies = {start: Tally() for start in STARTS}
        for case in cases:
            models = {start: model_of(way) for start in STARTS}
            for number, arrays in enumerate(case.programs):
                for start, tally in tallies.items():
                    found = solved(models[start], arrays, case.optima[number], start)
                    fault, seconds, iterations = found
                    tally.seconds.append(seconds)
                    tally.iterations += iterations
                    tally.faults[fault] += 1
                    if fault and tally.faults[fault] == 1:
                        again = partial(ends_so, case, way=way, start=start, fault=fault)
                        what = f"HiGHS {version}, {way}, {start}: {fault}"
                        faults.append(report(case, what, shortest(number, again)))
        rows += [
            tally.row(f"HiGHS {version}, {way}, {start}", tallies["cold"])
            for start, tally in tallies.items()
        ]
    return rows, faults


def write(case: Case, number: int) -> str:
    """Write a program for whoever looks into a fault; return the name of its file."""
    FAULTY.mkdir(exist_ok=True)
    name = f"{case.name}_{number:03d}"
    text = mps_text(case.programs[number], name).encode()
    path = FAULTY / f"{name}.mps.gz"
    path.write_bytes(gzip.compress(text, mtime=0))
    return f"`{path.name}`"


def by_others(cases: Sequence[Case]) -> tuple[list[str], list[str]]:
    """Return the rows of the solvers through CVXPY that can start hot, and lines on faults.

    A fault is a hot start that ends wrong where the same program is solved without one.
    """
    rows, faults = [], []
    for info in solvers():
        if not info.usable or info.name in ("highspy", *LEFT_OUT) or not entry_of(info.name).hot:
            continue
        tallies = {"re-solve": Tally(), "hot": Tally()}
        is_new = True
        for case in cases:
            ends = {
                start: [*ends_of(case, range(MOST_OF_OTHERS), info.name, start, tally)]
                for start, tally in tallies.items()
            }
            for number, (plain, hot) in enumerate(zip(*ends.values(), strict=True)):
                if is_new and hot in FAULTS and plain == "verified":
                    is_new = False
                    again = partial(ends_hot_as, hot, case, info.name)
                    what = f"{info.name} {info.version}, hot: {hot}"
                    faults.append(report(case, what, shortest(number, again)))
        for start, tally in tallies.items():
            rows.append(tally.row(f"{info.name} {info.version}, {start}", tallies["re-solve"]))
    return rows, faults


def ends_of(case: Case, numbers: range, solver: str, start: str, tally: Tally) -> Iterator[str]:
    """Solve programs of a sequence one after the other, and yield what is said of each answer."""
    programs = case.programs[numbers.start : numbers.stop]
    answers = replay(
        ProgramSequence.from_arrays(case.name, programs).programs,
        solver,
        start=start,  # type: ignore[arg-type]  # one of them
        solver_opts=tolerance_options(solver, OF_OTHERS),
        time_limit=CAP,
    )
    for found in answers:
        said = verdict(found, ALLOWED * OF_OTHERS, CAP)
        if said != "verified":
            tally.faults[said if said in FAULTS else "failed"] += 1
        tally.seconds.append(found.seconds.total)
        tally.iterations += (found.answer and found.answer.iterations) or 0
        yield said


def ends_hot_as(end: str, case: Case, solver: str, numbers: range) -> bool:
    """Say whether the last of some programs, solved hot, ends so again."""
    *_, found = ends_of(case, numbers, solver, "hot", Tally())
    return found == end


def all_cases() -> list[Case]:
    """Return the sequences of the set."""
    found = []
    for recipe in RECIPES:
        programs = recipe.arrays(MOST)
        optima = [float(exact_optimum(one).value(one)) for one in programs]
        found.append(Case(recipe.name, programs, optima))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--highspy", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--cases", type=Path, help="only solve these, and print rows as JSON")
    options = parser.parse_args()
    if options.cases:
        print(json.dumps(by_highs(pickle.loads(options.cases.read_bytes()))))
        return
    cases = all_cases()
    rows, faults = by_highs(cases)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.pickle"
        file.write_bytes(pickle.dumps(cases))
        for other in options.highspy:
            path = os.pathsep.join([other, *filter(None, [os.environ.get("PYTHONPATH")])])
            command = [sys.executable, __file__, "--cases", str(file)]
            environment = {**os.environ, "PYTHONPATH": path}
            output = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
            more_rows, more_faults = json.loads(output.stdout)
            rows += more_rows
            faults += more_faults
    with ignoring(category=Warning):  # points are judged, not what solvers say of them
        others, more_faults = by_others(cases)
    faults += more_faults
    tried = sum(int(row.split(" | ")[1]) for row in [*rows, *others])
    count = sum(len(case.programs) for case in cases)
    page = Page(
        "hot_starts",
        "# Hot starts, checked against proven optima",
        "",
        *wrapped(
            f"{count} programs in {len(cases)} sequences, solved {tried} times in all; of "
            f"solvers through CVXPY the first {MOST_OF_OTHERS} of each sequence, and none of "
            f"{' and '.join(LEFT_OUT)}, which compiles each program anew. *cold*: after "
            "clearing the basis; *hot*: from the last basis, or the last point. Asked of HiGHS "
            f"{TOLERANCE:g}, and of others {OF_OTHERS:g}; *wrong*: called optimal, and a bound "
            f"is broken, or the value is off, by more than {ALLOWED} times that in units in "
            "which points are about 1. *slower than cold*: of single programs, measured once; "
            "*failed*: any other end. The machine had other work: only rows of one version and "
            "way, whose starts take turns, can be compared by time. All programs have optima, "
            "which are proven in rational arithmetic. Written by "
            "`python experiments/hot_starts.py --highspy …`.",
        ),
        "",
        *HEAD,
        *rows,
        "",
        *HEAD,
        *others,
        "",
        *wrapped(
            "The first fault of each kind by HiGHS, and of each other solver the first program "
            "that it solves, but not from a hot start; with the shortest sequence that ends "
            "so. The files are in `hot_starts/`, and their programs have optima.",
        ),
        "",
        *(faults or ["None."]),
    )
    page.write()


if __name__ == "__main__":
    main()
