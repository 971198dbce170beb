"""Run the notebooks: each script in experiments/notebooks/ becomes an .ipynb with its outputs.

    python experiments/run_notebooks.py [NAME...] [--students DIR] [--slides DIR]

With a folder nothing is run: it gets the notebooks for students, without outputs and solutions, or
the slides, as pages of HTML. The scripts are what one edits. Cells with the tag `skip-execution`
are for live notebooks only.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent / "notebooks"
SCRIPTS = sorted(FOLDER.glob("[0-9]*.py"))

_INLINE = "module://matplotlib_inline.backend_inline"  # pictures go into the notebook
_MOST_SECONDS = 120  # for each cell
_MEASURED = re.compile(r"\d[\d.,]*(e[-+]?\d+)?\s*(s|ms|µs|×|times)\b|(?<=×)\s*\d[\d.,]*")


def paired(script: Path) -> nbformat.NotebookNode:
    """Return a script as a notebook without outputs, the same in each call."""
    notebook: nbformat.NotebookNode = jupytext.read(script)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        cell.metadata.pop("lines_to_next_cell", None)  # blank lines of the script
    return notebook


def executed(script: Path, *, skipping: str = "skip-execution") -> nbformat.NotebookNode:
    """Return a script as a notebook with the outputs of a new kernel; an error ends it.

    Cells with the tag `skipping` are not executed.
    """
    notebook = paired(script)
    client = NotebookClient(
        notebook,
        timeout=_MOST_SECONDS,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        skip_cells_with_tag=skipping,
        resources={"metadata": {"path": str(script.parent)}},
    )
    client.execute(env={**os.environ, "MPLBACKEND": _INLINE})
    notebook.metadata.pop("language_info", None)  # the version of Python
    return notebook


def texts(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """Return what the outputs of each cell say, without times and spaces; pictures by their kind.

    A time is a number before s, ms, µs, ×, or "times".
    """
    return [
        [_said(output) for output in cell.get("outputs", [])]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _said(output: nbformat.NotebookNode) -> str:
    """Return the text of an output, and the kinds of its other forms."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    kinds = sorted(kind for kind in data if kind != "text/plain")
    if "image/png" in kinds:
        return "image/png"
    text = _MEASURED.sub("#", data.get("text/plain", ""))
    return " ".join([output.output_type, *kinds, *text.split()])


def for_students(script: Path) -> nbformat.NotebookNode:
    """Return a script as a notebook without outputs, with an empty cell for each solution."""
    notebook = paired(script)
    for cell in notebook.cells:
        if cell.source.startswith("# Solution"):
            exercise = re.match(r"# Solution (of exercise \d+)", cell.source)
            assert exercise is not None, cell.source
            cell.source = f"# Your solution {exercise[1]}\n"
            cell.metadata = {}
    return notebook


def main() -> None:
    """Run the notebooks that are named, or all; or write what is asked for of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="of scripts, by how they begin; all by default")
    parser.add_argument("--students", type=Path, metavar="DIR", help="write notebooks to fill in")
    parser.add_argument("--slides", type=Path, metavar="DIR", help="write slides")
    options = parser.parse_args()
    for folder in filter(None, (options.students, options.slides)):
        folder.mkdir(parents=True, exist_ok=True)
    for script in SCRIPTS:
        if options.names and not script.name.startswith(tuple(options.names)):
            continue
        if options.students:
            nbformat.write(for_students(script), options.students / f"{script.stem}.ipynb")
            shutil.copy(FOLDER / "half_disc.py", options.students)
        if options.slides:
            from experiments.slides import write_slides  # which needs the extra "docs"

            notebook = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
            write_slides(notebook, options.slides / f"{script.stem}.html")
        if options.students or options.slides:
            continue
        start = time.perf_counter()
        nbformat.write(executed(script), script.with_suffix(".ipynb"))
        print(f"{script.stem}: {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
