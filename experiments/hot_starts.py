"""Look for hot starts that end wrong: sequences of programs, solved hot and cold, and checked.

Run ``python experiments/hot_starts.py`` from the top of a checkout (three minutes); it prints the
tables and writes ``figures/hot_starts.md``. ``--highspy FOLDER`` adds another version of HiGHS, of
a folder that ``pip install --target FOLDER --no-deps highspy==1.15.1`` has filled. The programs are
those of ``gdaopt bench --export-set``, whose optima are proven in rational arithmetic. Where an
answer is wrong, the shortest sequence that ends so is written to ``figures/hot_starts/``.
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import Any

from gdaopt.backends import LinearArrays, solvers
from gdaopt.backends.highspy import HighsModel, load_highspy
from gdaopt.backends.lookup import entry_of, tolerance_options
from gdaopt.bench import Sequence as Programs
from gdaopt.bench import replay
from gdaopt.bench.exact import exact_optimum
from gdaopt.bench.export import mps_text
from gdaopt.bench.judging import verdict
from gdaopt.bench.program_set import RECIPES
from gdaopt.support.files import write_text
from gdaopt.support.warning_filters import ignoring

OUT = Path(__file__).parent.parent / "figures" / "hot_starts.md"
FAULTY = OUT.with_suffix("")
MOST = 100  # programs of a sequence
MOST_OF_OTHERS = 20  # for solvers through CVXPY
TOLERANCE = 1e-7  # asked of HiGHS, as by its defaults
OF_OTHERS = 1e-6
ALLOWED = 10  # times the tolerance: what is off by more is wrong
CAP = 10.0

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
        cells = [
            label,
            str(count),
            *(str(self.faults[name]) for name in ("wrong", "infeasible", "failed")),
            "" if self is cold else str(slower),
            f"{1e3 * sum(self.seconds) / count:.3f}",
            f"{self.iterations / count:.2f}" if self.iterations else "",
        ]
        return f"| {' | '.join(cells)} |"


HEAD = (
    "| solver, start | programs | wrong | called infeasible | failed | slower than cold "
    "| ms a program | iterations |\n|---|--:|--:|--:|--:|--:|--:|--:|"
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
        off = arrays.residuals(answer.point, answer.row_duals)
        costs = abs(arrays.cost)
        size = max(float(costs @ abs(answer.point)), float(costs.max()))
        error = abs(float(arrays.cost @ answer.point) - optimum) / size
        fault = "wrong" if max(off.feasibility, error) > ALLOWED * TOLERANCE else ""
    return fault, seconds, answer.iterations


def shortest(case: Case, last: int, way: str, start: str, fault: str) -> range:
    """Return the shortest range of programs at whose end the fault is seen again; or none."""
    for first in range(last, -1, -1):
        model = model_of(way)
        found = ""
        for number in range(first, last + 1):
            found, _, _ = solved(model, case.programs[number], case.optima[number], start)
        if found == fault:
            return range(first, last + 1)
        if start != "hot":  # no program before plays a part
            break
    return range(0)


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
                        numbers = shortest(case, number, way, start, fault)
                        files = ", ".join(write(case, i) for i in numbers)
                        what = f"HiGHS {version}, {way}, {start}: {fault}"
                        faults.append(f"* {what}: {files or 'not again from any program before'}")
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


def by_others(cases: Sequence[Case]) -> Iterator[str]:
    """Yield the rows of the solvers through CVXPY that can start hot."""
    for info in solvers():
        if not info.usable or info.name == "highspy" or not entry_of(info.name).hot:
            continue
        tallies = {"re-solve": Tally(), "hot": Tally()}
        options = tolerance_options(info.name, OF_OTHERS)
        for case in cases:
            sequence = Programs.from_arrays(case.name, case.programs[:MOST_OF_OTHERS])
            for start, tally in tallies.items():
                answers = replay(
                    sequence.programs,
                    info.name,
                    start=start,  # type: ignore[arg-type]  # one of them
                    solver_opts=options,
                    time_limit=CAP,
                )
                for found in answers:
                    said = verdict(found, ALLOWED * OF_OTHERS, CAP)
                    if said != "verified":
                        known = said if said in ("wrong", "infeasible") else "failed"
                        tally.faults[known] += 1
                    tally.seconds.append(found.seconds.total)
                    tally.iterations += (found.answer and found.answer.iterations) or 0
        for start, tally in tallies.items():
            yield tally.row(f"{info.name} {info.version}, {start}", tallies["re-solve"])


def all_cases() -> list[Case]:
    """Return the sequences of the set."""
    found = []
    for recipe in RECIPES:
        programs = recipe.arrays(MOST)
        optima = [float(exact_optimum(one).value(one)) for one in programs]
        found.append(Case(recipe.name, programs, optima))
    return found


def main() -> None:
    """Measure, print, write."""
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
        others = [*by_others(cases)]
    tried = sum(int(row.split(" | ")[1]) for row in [*rows, *others])
    count = sum(len(case.programs) for case in cases)
    text = "\n".join(
        [
            "# Hot starts, checked against proven optima",
            "",
            fill(
                f"{count} programs in {len(cases)} sequences, solved {tried} times in all; of "
                f"solvers through CVXPY the first {MOST_OF_OTHERS} of each sequence. *cold*: after "
                "clearing the basis; *hot*: from the last basis, or the last point. Asked of HiGHS "
                f"{TOLERANCE:g}, and of others {OF_OTHERS:g}; *wrong*: called optimal, and a bound "
                f"is broken, or the value is off, by more than {ALLOWED} times that in units in "
                "which points are about 1. *slower than cold*: of single programs, measured once; "
                "*failed*: any other end. The machine had other work: only rows of one version and "
                "way, whose starts take turns, can be compared by time. All programs have optima, "
                "which are proven in rational arithmetic. Written by "
                "`python experiments/hot_starts.py --highspy …`.",
                100,
            ),
            "",
            HEAD,
            *rows,
            "",
            HEAD,
            *others,
            "",
            fill(
                "HiGHS' first fault of each kind, with the shortest sequence that ends so; the "
                "files are in `hot_starts/`, and their programs have optima.",
                100,
            ),
            "",
            *(faults or ["None."]),
            "",
        ]
    )
    print(text)
    write_text(OUT, text)


if __name__ == "__main__":
    main()
