"""Labels and names that would act on a terminal, a Markdown page or a picture if they were let."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text
from typer.testing import CliRunner

import gdaopt as gda
from gdaopt import plotting
from gdaopt.cli.app import app
from gdaopt.studies.comparison_table import markdown
from gdaopt.studies.pictures import PICTURES, Run
from tests.cli.cases import files, record, undrawn
from tests.result_cases import solved
from tests.studies.cases import names

LABELS = (
    "\x1b[31mred\x1b[0m",
    "\u202eright to left",
    "two\nlines",
    "a|b `code`",
    "<script>alert(1)</script>",
    r"$x_1$ \input{secret}",
    "[bold]strong[/bold] :smile:",
    "9" * 5000,
)
NO_FILES = ("a/b", "a b", "A B", "../..", ".hidden", "ä.1", "x" * 300)
FEATURES = ("\x1b[2Jclear", "\u202ename", r"$\q$", "| x |", "kind")


def write_table(path: Path, labels: tuple[str, ...]) -> Path:
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(FEATURES)
        for label in labels * 3:
            writer.writerow([*rng.standard_normal(4), label])
    return path


def shown(*arguments: object, code: int = 0) -> str:
    """Return all that a command prints, and check that nothing in it acts on a terminal."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    output = result.stdout + result.stderr
    assert output.replace("\n", "").isprintable()
    return output


def test_learn_and_plot(tmp_path: Path) -> None:
    table, out = write_table(tmp_path / "[bold].csv", LABELS + NO_FILES), tmp_path / "out"
    with undrawn():
        output = shown("learn", table, "--one-against-rest", "--tolerance", "0.5", "--out", out)
        shown("plot", out, "--out", tmp_path / "\x1b[31mpictures")
    for escaped in (r"\x1b[31mred\x1b[0m:", r"\u202eright to left:", "two lines:"):
        assert escaped in output
    classes = record(out)["metrics"]
    assert set(classes) == {" ".join(label.split()) for label in LABELS + NO_FILES}
    assert classes["ä.1"]["file"] == "ä.1.npz"
    stems = [entry["file"].removesuffix(".npz") for entry in classes.values()]
    assert names(out) == files(*stems)
    assert len({name.casefold() for name in names(out)}) == len(names(out))
    for entry in classes.values():
        assert gda.Result.load(out / entry["file"]).objective == entry["objective"]


def test_errors(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t.csv", LABELS)
    for name in ("\x1b[31mwhite", "\u202eleft", "three\nlines", "9" * 6000):
        error = shown("learn", table, "--positive", name, code=2)
        assert error.startswith("error: unknown class '")
        assert len(error) < 500
    shown("learn", tmp_path / "\x1b[31m.csv", code=2)
    shown("learn", table, "--label", "\x1b[31m\n", code=2)


def test_markdown() -> None:
    rows = [
        {"class": label, "method": "joint", "options": "", "solver": label}
        | {"status": "died", "message": label}
        for label in LABELS
    ]
    page = markdown(rows, LABELS[0], LABELS[1], LABELS)
    assert page.replace("\n", "").isprintable()
    without_escapes = re.sub(r"\\.", "", page)
    assert not re.search(r"[`<$\[]", without_escapes)
    cells = {line.count("|") for line in without_escapes.splitlines() if line.startswith("|")}
    assert len(cells) == 1


def test_pictures() -> None:
    """Whatever is drawn is printable, and no text is read as mathematics that was not meant so."""
    rng = np.random.default_rng(0)
    glr = gda.GLR(rng.standard_normal((9, 4)), np.arange(9) % 2)
    result = gda.solve(gda.MetricProblem(glr, gda.GraphMetrics(4.0)), "joint", max_iterations=2)
    runs = [
        Run(name=label, problem=0, result=result, feature_names=FEATURES[:4]) for label in LABELS
    ]
    for name, draw in PICTURES.items():
        figure = draw(runs if name == "convergence" else runs[:3], r"\x1b[31m$\q$")
        for text in figure.findobj(Text):
            assert text.get_text().replace("\n", "").isprintable()


def test_saved_results(tmp_path: Path) -> None:
    """The texts in a result's file are those of whoever wrote it."""
    method, solver, message, name = LABELS[:4]
    solved_by = {solver: 1, name: 2}
    hostile = replace(
        solved("analytic"), method=method, solver=solver, message=message, solved_by=solved_by
    )
    loaded = gda.Result.load(hostile.save(tmp_path / "run.npz"))
    assert loaded == hostile
    for text in (repr(loaded), loaded._repr_html_()):
        assert text.replace("\n", "").isprintable()
        for escaped in (r"\x1b[31mred\x1b[0m: 6×6", r"by \u202eright", r"two\nlines", "2 of 3 by"):
            assert escaped in text.replace("</caption>", "")
    shown("plot", tmp_path / "run.npz", "--out", tmp_path / "pictures")
    axes = plotting.convergence([loaded, loaded])
    texts = [text.get_text() for text in axes.flat[0].figure.findobj(Text)]
    assert any(r"\x1b[31mred" in text for text in texts)
    assert all(text.replace("\n", "").isprintable() for text in texts)


@pytest.mark.parametrize("labels", [[str(n / 7) for n in range(30)], [f"n{n}" for n in range(30)]])
def test_many_classes_are_refused_before_any_work(tmp_path: Path, labels: list[str]) -> None:
    table = write_table(tmp_path / "t.csv", tuple(labels))
    kind = "30 numbers, a target of regression" if labels[0] == "0.0" else "30 different texts"
    for command in (["learn", "--one-against-rest"], ["compare", "--methods", "certified"]):
        error = " ".join(shown(*command, table, "--out", tmp_path / "out", code=2).split())
        assert f"the labels of t are {kind}" in error
        assert "by --label, one class by --positive, or" in error
        assert "pass --max-classes 30" in error
    assert not (tmp_path / "out").exists()
    with undrawn():
        options = ("--max-classes", 30, "--tolerance", "0.9", "--out", tmp_path / "out")
        output = shown("learn", table, *options)
    assert "one metric is learned for all 30 classes" in " ".join(output.split())
