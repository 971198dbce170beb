"""The README and the documentation: the examples run, and the lists are complete."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
from matplotlib import pyplot

import gdaopt
from gdaopt.cli import app
from gdaopt.methods import METHODS
from gdaopt.sets import SETS
from gdaopt.trace import TraceRow

TOP = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(f"docs/{page.name}" for page in (TOP / "docs").glob("*.md"))]
ELSEWHERE = {"docs/extending.md"}  # whose recipes are a program each: tests/docs/test_extending.py
MOST_WORDS = 1200  # of the README


def text(page: str) -> str:
    return (TOP / page).read_text(encoding="utf-8")


def program(page: str) -> str:
    """Return all examples of a page, which are one program."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", text(page), re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if program(page) and page not in ELSEWHERE]
)
def test_the_examples_of_a_page_run(page: str) -> None:
    exec(compile(program(page), page, "exec"), {})
    pyplot.close("all")


def test_the_readme_is_one_screen_and_links() -> None:
    assert len(text("README.md").split()) <= MOST_WORDS
    for target in re.findall(r"\]\(([^)#:]+)\)", text("README.md")):
        assert (TOP / target).exists(), target


def test_the_index_links_every_page() -> None:
    index = text("docs/index.md")
    for page in PAGES:
        if page not in ("README.md", "docs/index.md"):
            assert f"({Path(page).name})" in index, page


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("docs/methods.md", [f'"{name}"' for name in METHODS]),
        ("docs/modelling.md", [f"gda.{kind.__name__}(" for kind in SETS.values()]),
        ("docs/traces.md", [f"`{field.name}`" for field in fields(TraceRow)]),
        (
            "docs/command-line.md",
            [
                f"gdaopt {command.name or command.callback.__name__}"
                for command in app.registered_commands
                if command.callback
            ],
        ),
    ],
)
def test_a_list_is_complete(page: str, names: list[str]) -> None:
    assert [name for name in names if name not in text(page)] == []


def test_every_public_name_is_in_the_reference() -> None:
    reference = text("docs/api/index.rst")
    assert "gdaopt" in reference.split()
    packages = {
        getattr(gdaopt, name).__name__
        for name in ("estimators", "linalg", "objectives", "plotting", "sets")
    }
    assert [name for name in sorted(packages) if name not in reference] == []
