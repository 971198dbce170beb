"""Compare all solvers that work here on recorded programs, and on whole runs.

Needs ``gdaopt[solvers]``. Wine is asked of all solvers at two tolerances, breast cancer at one, and
both are run as a whole. Of larger programs there are few, spread evenly over a run, and none is
solved cold.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.pages import Experiment, origin, wrap
from gdaopt.bench.pictures import pareto, profiles, times
from gdaopt.bench.sequences import BenchOptions, ProgramSequence
from gdaopt.bench.study import Bench
from gdaopt.datasets import load
from gdaopt.plotting.canvas import save_figure
from gdaopt.support.files import write_text

STUDIES: dict[str, tuple[Sequence[ProgramSequence], dict[str, Any]]] = {
    "wine": ([ProgramSequence("wine", load("wine"))], {"most": 60, "budget": 8.0}),
    "breast cancer": (
        [ProgramSequence("breast_cancer", load("breast_cancer"))],
        {"most": 20, "budget": 8.0, "tolerances": [1e-6]},
    ),
    "made": (
        [ProgramSequence("synthetic", size=50)],
        {
            **{"steps": 100, "most": 4, "budget": 4.0, "tolerances": [1e-6], "runs": []},
            "starts": ["re-solve", "hot"],
        },
    ),
}
QUICK: dict[str, tuple[Sequence[ProgramSequence], dict[str, Any]]] = {
    "wine": (
        [ProgramSequence("wine", load("wine"))],
        {
            **{"steps": 20, "most": 2, "budget": 0.5, "repeats": 1, "tolerances": [1e-6]},
            **{"runs": [], "solvers": ["analytic", "highspy", "HIGHS"]},
        },
    ),
}
PICTURES = {"backends": times, "backends_profiles": profiles, "backends_pareto": pareto}


def run(quick: bool, out: Path) -> None:
    """Run the studies, and write their tables as one page and the pictures of the first."""
    studies, pages = QUICK if quick else STUDIES, []
    for name, (sequences, options) in studies.items():
        # Cells side by side would take time from one another.
        study = Bench(out / name, sequences, BenchOptions(**options, jobs=1))
        study.run(lambda key, done, total, row, s=study: row and print(done, total, s.label(key)))  # type: ignore[misc]
        pages.append((out / name / "bench.md").read_text(encoding="utf-8"))
    programs = pd.read_parquet(out / next(iter(studies)) / "programs.parquet")
    for name, draw in PICTURES.items():
        save_figure(out / f"{name}.png", draw(programs, BenchOptions.cap))
    command = f"Written by `python -m experiments backends`. {origin(out)} One cell at a time."
    title, _, text = pages[0].partition("\n")
    head = [title, "", *wrap(command), "", sentence(programs), ""]
    write_text(out / "backends.md", "\n".join(head) + text + more_programs(pages[1:]))


def sentence(programs: pd.DataFrame) -> str:
    """Return the sentence to take away: where the time of the joint programs goes."""
    joint = programs[(programs["program"] == "joint") & (programs["tolerance"] == 1e-6)]

    def total(solver: str, start: str, column: str = "seconds") -> str:
        cells = joint.loc[(joint["solver"] == solver) & (joint["start"] == start), column]
        return f"{1e3 * float(cells.sum()):.3g} ms"

    return (
        f"**{joint['index'].nunique()} joint programs of wine take {total('HIGHS', 're-solve')} by "
        f"HiGHS through CVXPY, of which HiGHS itself reports "
        f"{total('HIGHS', 're-solve', 'reported_seconds')}, {total('highspy', 'hot')} by HiGHS "
        f"alone, started hot, and {total('analytic', 're-solve')} in closed form.**"
    )


def more_programs(pages: Sequence[str]) -> str:
    """Return the tables of further studies, whose machine and versions are those of the first."""
    text = ""
    for page in pages:
        limits = page[page.index("Tolerances: ") :].strip()
        about, _, tables = limits.partition("\n\n")
        about = about[: about.index(" s. ") + 3]
        text += f"\n# More programs\n\n{about}\n\n{tables}\n"
    return text


EXPERIMENT = Experiment(
    "all solvers on recorded programs and on whole runs",
    minutes=60,
    files=("backends.md", *(f"{name}.png" for name in PICTURES)),
    run=run,
)
