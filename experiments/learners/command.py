"""The command ``python experiments/learners``: fit what is missing, score, print, write."""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gdaopt.support.files import write_atomically, write_text
from learners.comparison import comparison
from learners.data import DATA
from learners.environment import REQUIREMENTS, Environment
from learners.fits import run_fits
from learners.picture import picture
from learners.scores import Score, Scores, no_learning, score
from learners.tables import preface, rank_table, table

_FIGURES = Path(__file__).resolve().parent.parent.parent / "figures"
_WORK = Path(tempfile.gettempdir()) / "gdaopt-learners"
_NO_ENVIRONMENT = 3  # exit code
_HELP = """Compare our learners with those of scikit-learn and metric-learn: CPU seconds and memory
of a fit, errors of neighbours. All of it takes an hour; it prints the tables and writes
figures/learners.md and .png. seeds and page_blocks come from UCI or from the directory in
GDAOPT_DATA. metric-learn runs in an environment of its own, which is built on first use. A run that
was stopped goes on where it was: the finished fits are kept in --out until all are finished.
Without that environment, or with --datasets, the tables are printed only; without it the exit code
is 3."""


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python experiments/learners", description=_HELP)
    parser.add_argument("--datasets", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--out", type=Path, default=_WORK, help="where what is finished is kept")
    options = parser.parse_args()
    environment, problem = None, ""
    try:
        environment = Environment()
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", "") or "").strip() or str(error)
        problem = f"No environment with {REQUIREMENTS[0]}, no rows of it: {said.splitlines()[-1]}"
        print(problem, file=sys.stderr, flush=True)
    scores = measure(options.out, options.datasets, environment)
    lines = preface(environment)
    for data, found in scores.items():
        lines += table(data, found)
    lines += [*rank_table(scores), *comparison(scores)]
    print("\n".join(lines))
    if environment is None:
        print(f"{problem}\nNothing is written.", file=sys.stderr)
        raise SystemExit(_NO_ENVIRONMENT)
    if options.datasets != list(DATA):
        print("\nNot all data sets: nothing is written.", file=sys.stderr)
        return
    write_text(_FIGURES / "learners.md", "\n".join(lines) + "\n")
    drawn = picture(scores)
    write_atomically(_FIGURES / "learners.png", lambda file: drawn.savefig(file, dpi=100))
    if options.out == _WORK:  # the next run measures anew
        shutil.rmtree(_WORK)


def measure(path: Path, names: list[str], environment: Environment | None) -> Scores:
    """Fit what is not fitted yet, and score all of it."""

    def show(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
        if row is not None:
            print(f"{done} of {total}: {key} {row['message']}", flush=True)

    scores: dict[str, dict[str, Score]] = {}
    for data, name, row, matrices in run_fits(path, names, environment, show):
        if row["status"] == "died":  # it says nothing of the learner
            raise SystemExit(f"{name} on {data}: {row['message']}; run this again to go on")
        of_data = scores.setdefault(data, no_learning(data))
        of_data[name] = score(data, row, matrices)
    return scores
