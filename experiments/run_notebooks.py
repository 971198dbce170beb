"""Run the notebooks: each script in experiments/notebooks/ becomes an .ipynb with its outputs.

    python experiments/run_notebooks.py [NAME...]

The scripts are what one edits. Cells with the tag `skip-execution` are for live notebooks only.
"""

from __future__ import annotations

import argparse
import os
import re
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


def main() -> None:
    """Run the notebooks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="of scripts, by how they begin; all by default")
    names = parser.parse_args().names
    for script in SCRIPTS:
        if names and not script.name.startswith(tuple(names)):
            continue
        start = time.perf_counter()
        nbformat.write(executed(script), script.with_suffix(".ipynb"))
        print(f"{script.stem}: {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
