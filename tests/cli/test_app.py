"""The application: its version and its commands."""

from __future__ import annotations

import gdaopt as gda
from tests.cli.cases import run


def test_the_version() -> None:
    assert run("--version") == f"gdaopt {gda.__version__}"


def test_help_lists_all_commands() -> None:
    shown = run("--help")
    assert "Learn positive definite metrics without projections." in shown
    for command in ("learn", "apply", "compare", "plot", "solvers"):
        assert f" {command} " in shown
