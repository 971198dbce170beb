"""The application: its version and its commands."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import gdaopt as gda
from gdaopt.cli import app
from tests.cli.cases import run


def test_the_version() -> None:
    assert run("--version") == f"gdaopt {gda.__version__}"


def test_help_lists_all_commands() -> None:
    shown = run("--help")
    assert "Learn positive definite metrics without projections." in shown
    for command in ("learn", "apply", "compare", "plot", "solvers"):
        assert f" {command} " in shown


@pytest.mark.parametrize("command", ["learn", "apply", "compare", "plot", "bench", "solvers"])
def test_paragraphs_of_help_fill_their_lines(command: str) -> None:
    """However long the lines of the docstring are: no word would fit on the line before."""
    width = 80
    help_ = CliRunner(env={"COLUMNS": str(width)}).invoke(app, [command, "--help"]).stdout
    text = help_.split("[OPTIONS]")[1].split("╭")[0].splitlines()
    lines = [line.strip() for line in text[1:]]
    for line, following in itertools.pairwise(lines):
        if line and following:
            assert len(line) + 1 + len(following.split()[0]) > width - 3


@pytest.mark.parametrize("command", ["learn", "compare"])
def test_terminals_without_the_characters(command: str) -> None:
    """They get escapes; the square root of the features ended in a UnicodeEncodeError."""
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment["PYTHONIOENCODING"] = "ascii"
    code = [sys.executable, "-c", "from gdaopt.cli import app; app()", command, "--help"]
    done = subprocess.run(code, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"\u221a" in done.stdout
