"""The notebooks: in step with their scripts, and what they show is what they do."""

import ast
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import nbformat
import pytest

from experiments import run_notebooks
from gdaopt.support.warning_filters import ignoring

SCRIPTS = run_notebooks.SCRIPTS
each_script = pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])


def committed(script: Path) -> nbformat.NotebookNode:
    notebook: nbformat.NotebookNode = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    return notebook


def executed(script: Path, **options: Any) -> nbformat.NotebookNode:
    with ignoring(module=r"(jupyter_client|nbclient|zmq|asyncio|traitlets)"):
        return run_notebooks.executed(script, **options)


def test_there_are_notebooks_and_no_others() -> None:
    assert len(SCRIPTS) == 7
    made = sorted(path.stem for path in run_notebooks.FOLDER.glob("*.ipynb"))
    assert made == [path.stem for path in SCRIPTS]


@each_script
def test_a_notebook_is_in_step_with_its_script(script: Path) -> None:
    """Its outputs have no errors and no warnings."""
    contents = [
        [(cell.cell_type, cell.source, dict(cell.metadata), cell.id) for cell in notebook.cells]
        for notebook in (committed(script), run_notebooks.paired(script))
    ]
    assert contents[0] == contents[1]
    outputs = [output for cell in committed(script).cells for output in cell.get("outputs", ())]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 1
    assert {output.output_type for output in outputs} <= {"stream", "display_data"}
    assert {output.name for output in outputs if output.output_type == "stream"} == {"stdout"}


@each_script
def test_solutions_are_folded_and_assert(script: Path) -> None:
    cells = committed(script).cells
    exercises = sum(cell.source.count("**Exercise") for cell in cells)
    solutions = [cell for cell in cells if cell.source.startswith("# Solution")]
    assert exercises >= 3
    assert len(solutions) == exercises
    for cell in solutions:
        assert cell.metadata.tags == ["hide-cell"]
        assert cell.metadata.jupyter.source_hidden
        assert "assert " in cell.source, cell.source.splitlines()[0]


def test_notebooks_need_what_the_page_for_teachers_says() -> None:
    """Notebooks 4 and 5 stand alone."""
    needs_the_first = {
        script.stem[0]
        for script in SCRIPTS
        if re.search(r"You need (the first notebook|notebook 1)", script.read_text("utf-8"))
    }
    page = (run_notebooks.FOLDER.parents[1] / "docs" / "notebooks.md").read_text("utf-8")
    need, alone = re.findall(
        r"Notebooks ([\d, and]+) need\s+the\s+first one; ([\d, and]+) need", page
    )[0]
    assert set(re.findall(r"\d", need)) == needs_the_first
    assert set(re.findall(r"\d", alone)) == {"4", "5"} == {*"234567"} - needs_the_first


@each_script
def test_students_get_hints_and_no_solutions(script: Path) -> None:
    cells = run_notebooks.for_students(script).cells
    texts = "\n".join(cell.source for cell in cells)
    assert texts.count("**Exercise") == texts.count("<summary>Hint</summary>")
    assert texts.count("**Exercise") == texts.count("# Your solution of exercise")
    assert "# Solution" not in texts
    assert not any(cell.get("outputs") or cell.metadata.get("jupyter") for cell in cells)


def names_of(cells: list[nbformat.NotebookNode]) -> tuple[set[str], set[str]]:
    """Return the names that cells of code make, and those that they use."""
    made, used = set(), set()
    for node in (node for cell in cells for node in ast.walk(ast.parse(cell.source))):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.arg(arg=name):
                made.add(name)
    return made, used


@each_script
def test_nothing_needs_a_solution(script: Path) -> None:
    codes = [cell for cell in committed(script).cells if cell.cell_type == "code"]
    solutions = [cell for cell in codes if cell.source.startswith("# Solution")]
    made, used = names_of([cell for cell in codes if cell not in solutions])
    assert not (names_of(solutions)[0] - made) & used


MOST_WORDS_OF_A_SLIDE = 135


@each_script
def test_a_slide_has_one_idea(script: Path) -> None:
    slides = [cell for cell in committed(script).cells if "slideshow" in cell.metadata]
    texts = [cell.source for cell in slides if cell.cell_type == "markdown"]
    assert len(texts) >= 5
    assert max(len(text.split()) for text in texts) <= MOST_WORDS_OF_A_SLIDE
    for cell in slides:
        assert "**Exercise" not in cell.source
        pictures = [
            output for output in cell.get("outputs", ()) if "image/png" in output.get("data", ())
        ]
        assert cell.cell_type == "markdown" or len(pictures) == 1


def test_the_plan_of_the_lecture_counts_the_words_of_the_notebooks() -> None:
    plan = (run_notebooks.FOLDER.parents[1] / "docs" / "teaching.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| \d+ \| (\d) \| (.+?) \| (\d+) \| (\d) \|(.*)\| ([\d.]+) \|$", plan, re.MULTILINE
    )
    assert len(rows) == 8
    total = 0.0
    for number, section, words, pictures, board, minutes in rows:
        assert abs(words_of(int(number), section) - int(words)) <= 20, section
        drawn = sum(int(each) for each in re.findall(r"(\d) min", board))
        assert abs(int(words) / 130 + int(pictures) + drawn - float(minutes)) <= 0.1
        total += float(minutes)
    assert total <= 45


def words_of(number: int, section: str) -> int:
    """Return how many words a section has, without its exercises and hints."""
    heading, count = "", 0
    for cell in committed(SCRIPTS[number - 1]).cells:
        if cell.cell_type == "markdown":
            heading = next(iter(re.findall(r"^##+ (.*)", cell.source, re.MULTILINE)), heading)
            text = re.sub(
                r"\*\*Exercise.*?(?=\n\n|\Z)|<details>.*", "", cell.source, flags=re.DOTALL
            )
            count += len(text.split()) if heading == section else 0
    return count


@pytest.mark.slow
@each_script
def test_a_fresh_run_says_the_same(script: Path) -> None:
    assert run_notebooks.texts(executed(script)) == run_notebooks.texts(committed(script))


def test_times_are_no_difference() -> None:
    def said(text: str) -> list[list[str]]:
        cell = nbformat.v4.new_code_cell(outputs=[nbformat.v4.new_output("stream", text=text)])
        return run_notebooks.texts(nbformat.v4.new_notebook(cells=[cell]))

    assert said("a run:  12.25 ms, 3 times as fast") == said("a run: 1.5e+03 ms, 11 times as fast")
    assert said("objective 12.25 in 3 ms") != said("objective 12.26 in 3 ms")


WIDGETS = SimpleNamespace(  # with sliders that stay where they begin
    IntSlider=lambda **options: options["min"],
    FloatSlider=lambda **options: options["value"],
    interact=lambda function, **values: function(**values),
)


@pytest.mark.parametrize("widgets", [None, WIDGETS], ids=["no widgets", "widgets"])
@pytest.mark.parametrize("number", [1, 6])
def test_sliders_draw_pictures(number: int, widgets: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", widgets)
    cells = run_notebooks.paired(SCRIPTS[number - 1]).cells
    (cell,) = (cell for cell in cells if "skip-execution" in cell.metadata.get("tags", ()))
    draw, draw_set = MagicMock(), MagicMock()
    names = {"draw": draw, "draw_set": draw_set, "states": [0, 1], "rho": 0.1, "C": 2.0}
    exec(cell.source, {**names, "plt": MagicMock()})
    drawn = (draw if number == 1 else draw_set).call_args_list
    assert len(drawn) == (3 if number == 6 and widgets is None else 1)
    given = [value for call in drawn for value in (*call.args, *call.kwargs.values())]
    assert all(isinstance(value, int | float | list | MagicMock) for value in given)


@pytest.mark.slow
def test_the_slider_is_drawn_where_there_are_widgets() -> None:
    pytest.importorskip("ipywidgets")
    notebook = executed(SCRIPTS[0], skipping="none")
    (cell,) = (cell for cell in notebook.cells if "skip-execution" in cell.metadata.get("tags", ()))
    kinds = [kind for output in cell.outputs for kind in output.get("data", {})]
    assert "application/vnd.jupyter.widget-view+json" in kinds
