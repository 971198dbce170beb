"""Run experiments: ``python -m experiments [NAME…] [--quick] [--out DIR]``.

Without a name it lists what there is: each experiment with its minutes and what it writes.
"""

import argparse
import importlib
import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from experiments import NAMES

# Times are those of one thread: NumPy reads this when it is imported, and processes inherit it.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

from experiments.pages import FIGURES, Experiment, note_commit
from gdaopt.studies.study_directory import sole_writer

HELP = """Run experiments. Without a name, list them: minutes on an idle machine of two cores, and
what they write. An experiment that was stopped goes on with what it has measured, which lies in a
folder beside the one it writes to, DIR-unfinished; remove that to begin anew. No file is replaced
before all files of its experiment are complete."""


def experiment_of(name: str) -> Experiment:
    """Return the experiment of a module."""
    found: Experiment = importlib.import_module(f"experiments.{name}").EXPERIMENT
    return found


def listing() -> str:
    """Return a table of all experiments."""
    lines = []
    for name in NAMES:
        experiment = experiment_of(name)
        lines.append(f"{name:22}{experiment.minutes:>4g} min  {', '.join(experiment.files)}")
        lines.append(f"{'':32}{experiment.summary}")
    return "\n".join(lines)


def run(name: str, out: Path, *, quick: bool) -> None:
    """Run an experiment in a folder of its own, and move its files into `out` in the end."""
    experiment = experiment_of(name)
    unfinished = out.with_name(f"{out.name}-unfinished") / name
    with sole_writer(unfinished):
        note_commit(unfinished)
        experiment.run(quick, unfinished)
        for file in experiment.files:
            os.replace(unfinished / file, out / file)
    shutil.rmtree(unfinished)
    if not any(unfinished.parent.iterdir()):
        unfinished.parent.rmdir()


def main() -> None:
    """Read the arguments, and list or run."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=HELP)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which ones; with --quick all")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes, below half a minute each: a check that they run, into a new folder",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where the files go (default: figures)"
    )
    options = parser.parse_args()
    for name in options.names:
        if name not in NAMES:
            parser.error(f"unknown experiment {name!r}; known are {', '.join(NAMES)}")
    if not options.names and not options.quick:
        print(listing())
        return
    if options.quick and options.out is None:
        options.out = Path(tempfile.mkdtemp(prefix="gdaopt-experiments-")) / "quick"
    out = Path(os.path.abspath(options.out or FIGURES))
    if options.quick and out == FIGURES:
        parser.error(f"--quick does not write to {out}: its numbers are of small sizes")
    out.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in options.names or NAMES:
        start = time.monotonic()
        try:
            run(name, out, quick=options.quick)
        except Exception:
            traceback.print_exc()
            failed.append(name)
        print(f"=== {name}: {time.monotonic() - start:.0f} s", flush=True)
    print(f"written to {out}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
