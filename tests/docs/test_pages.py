"""The README and the documentation: the examples run, and the lists are complete."""

import importlib
import pkgutil
import re
import shlex
import sys
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from matplotlib import pyplot

import gdaopt
from gdaopt.backends import CATALOGUE
from gdaopt.cli.app import app
from gdaopt.methods import METHODS
from gdaopt.sets import SETS

TOP = Path(__file__).parents[2]
DOCS = [
    path
    for path in sorted((TOP / "docs").rglob("[!_]*.md"))
    if not {"_build", "notebooks", "gallery"}.intersection(path.parts)
]
PAGES = ["README.md", *sorted(f"docs/{page.name}" for page in (TOP / "docs").glob("[!_]*.md"))]
MOST_WORDS = 1000  # of the README
EXTRAS = {"cli", "dask", "docs", "notebooks", "release", "solvers", "test"}


def text(page: str) -> str:
    return (TOP / page).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    """Return the blocks of code of a text."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(text(page), "python")])
def test_the_examples_of_a_page_run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All of them are one program, and print what the page shows, but for times and gaps."""
    exec(compile("\n".join(blocks(text(page), "python")), page, "exec"), {})
    pyplot.close("all")
    printed = without_measures(capsys.readouterr().out)
    for shown in blocks(text(page), "text"):
        assert without_measures(shown) in printed


def without_measures(text: str) -> str:
    text = re.sub(r"(seconds +)[\d.]+ \(and [\d.]+", r"\1", text)
    return re.sub(r"\d\.\d+e-\d+", "", text)  # gaps


def shell_commands(page: str) -> list[str]:
    """Return the commands of all blocks of a page for the shell."""
    return [line for block in blocks(text(page), "sh") for line in block.splitlines() if line]


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_the_shell_commands_of_a_page_are_right(page: str) -> None:
    """Those of the README are run by .ci/run; others name files and commands that there are."""
    of_readme = shell_commands("README.md")
    known = {
        command.name or getattr(command.callback, "__name__", "")
        for command in app.registered_commands
    }
    for line in shell_commands(page):
        words = shlex.split(line, comments=True)
        if line in of_readme or not words:
            continue
        for program, argument in pairwise(words):
            if Path(program).name == "gdaopt":
                assert argument in known, line
            if Path(program).name in ("bash", "python", "pytest", "notebook") and "/" in argument:
                assert (TOP / argument).exists(), line
        for extra in re.findall(r"\[([a-z,]+)\]", line):
            assert set(extra.split(",")) <= EXTRAS, line


def test_the_readme_is_one_screen_and_links() -> None:
    assert len(text("README.md").split()) <= MOST_WORDS
    for target in re.findall(r"\]\(([^)#:]+)\)", text("README.md")):
        assert (TOP / target).exists(), target


HUBS = ("learn", "use", "about", "extending", "theory")


def test_every_page_is_within_two_clicks_of_the_first() -> None:
    """The first page leads to hubs, and these link all others."""
    top = ("index", "results", *HUBS)
    linked = {
        link for hub in HUBS for link in re.findall(r"\]\(([\w/-]+)\.md", text(f"docs/{hub}.md"))
    }
    pages = {path.relative_to(TOP / "docs").with_suffix("").as_posix() for path in DOCS}
    assert pages - linked - set(top) == set()


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("docs/methods.md", [f'"{name}"' for name in METHODS]),
        ("docs/modelling.md", [f"gda.{kind.__name__}(" for kind in SETS.values()]),
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


NOT_PUBLIC = {
    "gdaopt.cli": "the commands, on a page of their own",
    "gdaopt.constraints": "what problems and certificates are made of",
    "gdaopt.master": "what the method certified is made of",
    "gdaopt.support": "helpers of all packages",
    "gdaopt.support.cvxpy_internals": "what the package needs of CVXPY beyond its public names",
    "gdaopt.studies": "what the commands are made of",
    "gdaopt.wide": "what solve, iterate and certify do with many features",
}
"""Packages that are not in the reference, and why."""


def packages() -> dict[str, ModuleType]:
    """Return all packages by name."""
    found = pkgutil.walk_packages(gdaopt.__path__, "gdaopt.")
    return {"gdaopt": gdaopt} | {
        module.name: importlib.import_module(module.name) for module in found if module.ispkg
    }


def test_every_public_name_is_in_the_reference() -> None:
    """The pages of the reference list all of `__all__`, so that only packages can lack."""
    pages = {word for word in text("docs/api/index.rst").split() if word.startswith("gdaopt")}
    for package, module in packages().items():
        assert (package in pages) != (package in NOT_PUBLIC), package
        for name in getattr(module, "__all__", ()) if package in pages else ():
            thing = getattr(module, name)
            if isinstance(thing, ModuleType):
                assert thing.__name__ in pages, name
            elif callable(thing):
                assert thing.__doc__, f"{package}.{name} has no docstring"


MODULES = [module.name for module in pkgutil.walk_packages(gdaopt.__path__, "gdaopt.")]
KINDS_OF_METHODS = (FunctionType, classmethod, staticmethod, property, cached_property)


def undocumented(owner: type) -> Iterator[str]:
    """Yield the public methods of a class that neither it nor a base of it documents."""
    for name, method in vars(owner).items():
        if isinstance(method, KINDS_OF_METHODS) and not name.startswith("_"):
            overridden: list[Any] = [vars(base).get(name) for base in owner.__mro__]
            if not any(each.__doc__ for each in overridden if each is not None):
                yield f"{owner.__qualname__}.{name}"


def test_public_methods_are_documented() -> None:
    for name in MODULES:
        classes = [
            each
            for each in vars(importlib.import_module(name)).values()
            if isinstance(each, type)
            and each.__module__ == name
            and not each.__name__.startswith("_")
        ]
        assert [method for owner in classes for method in undocumented(owner)] == []


# --- The recipes of docs/extending run ------------------------------------------------------------

EXTENDING = re.findall(r"^extending/(.*)", text("docs/extending.md"), re.MULTILINE)
RECIPES = [name for name in EXTENDING if blocks(text(f"docs/extending/{name}.md"), "python")]


@pytest.fixture(name="module")
def _module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Return an empty module, which pickle can import; then forget what was registered."""
    module = ModuleType("recipe")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    registries: tuple[dict[str, Any], ...] = (CATALOGUE, SETS, METHODS)
    before = [dict(registry) for registry in registries]
    yield module
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_runs(recipe: str, module: ModuleType) -> None:
    """The code blocks of a page are one program."""
    page = f"docs/extending/{recipe}.md"
    exec(compile("\n".join(blocks(text(page), "python")), page, "exec"), module.__dict__)


def test_there_is_a_recipe_for_each_part() -> None:
    kinds = ("objective", "loss", "set", "method", "callback", "step_rule", "backend", "estimator")
    assert tuple(RECIPES) == kinds
    first = "\n".join(blocks(text("docs/extending/loss.md"), "python")).split("rng = np.random")[0]
    assert len(first.splitlines()) <= 60  # a fast objective of pairs takes one short file


# --- The results of docs/theory, and those who cite them by their full names in double quotes -----

ROOT = Path(__file__).parents[2]
THEORY = sorted((ROOT / "docs" / "theory").glob("*.md"))
MOST_WORDS_OF_CORE = 4000
CITING = ("gdaopt", "tests", "experiments", "docs", "README.md", "CONTRIBUTING.md")
WRITTEN = {".cff", ".css", ".md", ".py", ".rst", ".toml", ".yaml", ".yml"}

KIND = r"(?:Definition|Lemma|Proposition|Theorem|Corollary|Algorithm|Remark|Erratum \d+)"
HEADING = re.compile(rf"^#+ +({KIND}: .+?) *$", re.MULTILINE)
CITATION = re.compile(rf'"({KIND}: [^"]+)"')
WRAP = re.compile(r"[ \t]*\n[ \t]*(?:#(?!#)[ \t]?|>[ \t])?")


def written_files() -> Iterator[Path]:
    """Yield the files that people write and read, but this one."""
    for name in CITING:
        top = ROOT / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            built = {"__pycache__", "_build", "generated"}.intersection(path.parts)
            if path.suffix in WRITTEN and not built and path != Path(__file__):
                yield path


def all_names() -> list[str]:
    return [name for page in THEORY for name in HEADING.findall(page.read_text("utf-8"))]


def citations(text: str) -> set[str]:
    return {re.sub(r"\s+", " ", name) for name in CITATION.findall(WRAP.sub(" ", text))}


def cited() -> dict[str, list[str]]:
    """Return the files that cite each name."""
    found: dict[str, list[str]] = {}
    for path in written_files():
        for name in citations(path.read_text("utf-8")):
            found.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return found


@pytest.mark.parametrize(
    "text",
    [
        'see "Lemma: a name of two lines".',
        '    see "Lemma: a name\n    of two lines".',
        '# see "Lemma: a\n# name of two   lines".',
        'x = 1  # see "Lemma: a name of\n#two lines"',
    ],
)
def test_a_citation_may_be_wrapped(text: str) -> None:
    assert citations(text) == {"Lemma: a name of two lines"}


def test_names_are_unique() -> None:
    found = all_names()
    assert found
    assert sorted(found) == sorted(set(found))


def test_the_core_is_read_in_half_an_hour() -> None:
    core = ROOT / "docs" / "theory" / "core.md"
    assert len(core.read_text("utf-8").split()) <= MOST_WORDS_OF_CORE


def test_proofs_are_folded_and_end() -> None:
    for page in THEORY:
        text = page.read_text("utf-8")
        assert "*Proof.*" not in text, page
        assert text.count(":::{dropdown} Proof") == text.count("∎"), page


def test_cited_results_exist() -> None:
    known, found = set(all_names()), cited()
    assert found, "nothing cites the theory"
    unknown = {name: files for name, files in found.items() if name not in known}
    assert not unknown, f"docs/theory has no such results: {unknown}"
    assert citations('"Erratum 2: a rule", "Erratum: none"') == {"Erratum 2: a rule"}
