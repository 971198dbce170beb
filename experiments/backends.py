"""Compare all solvers that work here on recorded programs, and on whole runs.

Run ``python experiments/backends.py`` from the top of a checkout, where ``gdaopt[solvers]`` is
installed (an hour for 20 solvers); it writes ``figures/backends.md``,
``figures/backends.png``, ``figures/backends_profiles.png`` and ``figures/backends_pareto.png``. A
run that was stopped goes on where it was: the finished cells are kept among the temporary files
until all are there.

Wine is asked of all solvers at two tolerances, breast cancer at one, and both are run as a whole.
Of larger programs there are few, spread evenly over a run, and none is solved cold.
"""

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from gdaopt.bench.pictures import pareto, profiles, times
from gdaopt.bench.sequences import BenchOptions, ProgramSequence
from gdaopt.bench.study import Bench
from gdaopt.datasets import load
from gdaopt.plotting.canvas import save_figure
from gdaopt.support.files import write_text

FIGURES = Path(__file__).parent.parent / "figures"
WORK = Path(tempfile.gettempdir()) / "gdaopt-backends"
JOBS = 1  # cells side by side would take time from one another
STUDIES: dict[str, tuple[Sequence[ProgramSequence], dict[str, Any]]] = {
    "wine": (
        [ProgramSequence("wine", load("wine"))],
        {"most": 60, "budget": 8.0},
    ),
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
PICTURES = {"backends": times, "backends_profiles": profiles, "backends_pareto": pareto}


def main() -> None:
    """Run the studies, and keep their tables and the pictures of the first."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # of the cells, a core each
        os.environ[variable] = "1"
    pages = []
    for name, (sequences, options) in STUDIES.items():
        study = Bench(WORK / name, sequences, BenchOptions(**options, jobs=JOBS))
        study.run(lambda key, done, total, row, s=study: row and print(done, total, s.label(key)))  # type: ignore[misc]
        pages.append((WORK / name / "bench.md").read_text(encoding="utf-8"))
    first = next(iter(STUDIES))
    programs = pd.read_parquet(WORK / first / "programs.parquet")
    for name, draw in PICTURES.items():
        save_figure(FIGURES / f"{name}.png", draw(programs, BenchOptions.cap))
    write_text(FIGURES / "backends.md", joined(pages, taken_away(programs)))
    shutil.rmtree(WORK)


def taken_away(programs: pd.DataFrame) -> str:
    """Return the sentence to take away: where the time of the joint programs goes."""
    own = programs[(programs["program"] == "joint") & (programs["tolerance"] == 1e-6)]

    def total(solver: str, start: str, column: str = "seconds") -> str:
        cells = own.loc[(own["solver"] == solver) & (own["start"] == start), column]
        return f"{1e3 * float(cells.sum()):.3g} ms"

    return (
        f"{own['index'].nunique()} joint programs of wine take {total('HIGHS', 're-solve')} by "
        f"HiGHS through CVXPY, of which HiGHS itself reports "
        f"{total('HIGHS', 're-solve', 'reported_seconds')}, {total('highspy', 'hot')} by HiGHS "
        f"alone, started hot, and {total('analytic', 're-solve')} in closed form."
    )


def joined(pages: Sequence[str], sentence: str) -> str:
    """Return the pages of the studies as one, whose head is the first page's."""
    title, _, text = pages[0].partition("\n")
    command = f"`python experiments/backends.py`; cells at a time: {JOBS}."
    text = f"{title}\n\n{command}\n\n**{sentence}**\n{text}"
    for page in pages[1:]:
        limits = page[page.index("Tolerances: ") :].strip()
        about, _, tables = limits.partition("\n\n")
        about = about[: about.index(" s. ") + 3]  # the machine and the versions are the same
        text += f"\n# More programs\n\n{about}\n\n{tables}\n"
    return text


if __name__ == "__main__":
    main()
