"""Compare all solvers that work here on the recorded programs of wine, and on whole runs.

Run ``python experiments/backends.py`` from the top of a checkout, where ``gdaopt[solvers]`` is
installed (25 minutes for 20 solvers); it writes ``figures/backends.md``,
``figures/backends.png``, ``figures/backends_profiles.png`` and ``figures/backends_pareto.png``. A
run that was stopped goes on where it was: the finished cells are kept among the temporary files
until all are there.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pandas as pd

from gdaopt.datasets import load
from gdaopt.io import write_atomically, write_text
from gdaopt.studies.bench.options import BenchOptions
from gdaopt.studies.bench.pictures import pareto, profiles, times
from gdaopt.studies.bench.sequences import Sequence
from gdaopt.studies.bench.study import Bench

FIGURES = Path(__file__).parent.parent / "figures"
WORK = Path(tempfile.gettempdir()) / "gdaopt-backends"
DATA = "wine"
OPTIONS = {
    "most": 110,  # the run of `alternating` ends before
    "budget": 20.0,
    "runs": ["alternating"],
}
PICTURES = {"backends": times, "backends_profiles": profiles, "backends_pareto": pareto}


def main() -> None:
    """Run the study, and keep its table and its pictures."""
    options = BenchOptions(**OPTIONS)  # type: ignore[arg-type]  # each is checked there
    study = Bench(WORK, [Sequence(DATA, load(DATA))], options)
    study.run(lambda key, done, total, row: row and print(done, total, study.label(key)))
    text = (WORK / "bench.md").read_text(encoding="utf-8")
    title, _, rest = text.partition("\n")
    write_text(FIGURES / "backends.md", f"{title}\n\n`python experiments/backends.py`.\n{rest}")
    programs = pd.read_parquet(WORK / "programs.parquet")
    for name, draw in PICTURES.items():
        figure = draw(programs, options.cap)
        write_atomically(
            FIGURES / f"{name}.png",
            lambda file, figure=figure: figure.savefig(file, format="png", dpi=150),  # type: ignore[misc]
        )
    shutil.rmtree(WORK)


if __name__ == "__main__":
    main()
