"""Compare our learners with those of scikit-learn and metric-learn."""

import subprocess
from pathlib import Path

from experiments.learners.comparison import comparison
from experiments.learners.data import DATA
from experiments.learners.environment import REQUIREMENTS, Environment
from experiments.learners.fits import run_fits
from experiments.learners.picture import picture
from experiments.learners.rows import LEARNERS
from experiments.learners.scores import Score, no_learning, score
from experiments.learners.tables import about, rank_table, table
from experiments.pages import Experiment, Page, write_figure

QUICK = ("GDA graph, MCML", "GDA diagonal, MCML", "GDA definite, MCML", "scikit-learn LDA")


def run(quick: bool, out: Path) -> None:
    """Fit what is missing, with `quick` four learners to iris, and write page and picture.

    metric-learn runs in an environment of its own, which is built on first use.
    """
    names = ("iris",) if quick else tuple(DATA)
    learners = tuple(one for one in LEARNERS if not quick or one.name in QUICK)
    environment = None
    if not quick:
        try:
            environment = Environment()
        except subprocess.CalledProcessError as error:
            said = (error.stderr or "").strip().splitlines()
            raise OSError(
                f"no environment with {REQUIREMENTS[0]} can be built, and without its rows no "
                f"table is written: {said[-1] if said else error}"
            ) from error
    scores: dict[str, dict[str, Score]] = {}
    for data, name, row, matrices in run_fits(out, names, learners, environment):
        scores.setdefault(data, no_learning(data))[name] = score(data, row, matrices)
    page = Page(
        out,
        "learners",
        "Learners beside those of scikit-learn and metric-learn",
        about(environment),
    )
    for data, of_data in scores.items():
        page.add(*table(data, of_data))
    page.add(*rank_table(scores), *comparison(scores))
    page.write()
    write_figure(out / "learners.png", picture(scores), dpi=100)


EXPERIMENT = Experiment(
    f"errors, seconds and memory of {len(LEARNERS)} learners, and of no learning",
    minutes=60,
    files=("learners.md", "learners.png"),
    run=run,
)
