"""The recipes of docs/extending.md run: all code blocks of one recipe are one program."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gdaopt.backends import CATALOGUE
from gdaopt.methods import METHODS
from gdaopt.sets import SETS

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


def recipes() -> dict[str, str]:
    """Return the program of each section that has code blocks, by the section's heading."""
    _, *sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {}
    for section in sections:
        blocks = re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
        if blocks:
            found[section.splitlines()[0]] = "\n".join(blocks)
    return found


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


def test_there_is_a_recipe_for_each_part() -> None:
    parts = [
        "An objective",
        "A loss of distances",
        "A feasible set",
        "A method",
        "A step rule",
        "A backend",
        "An estimator",
    ]
    assert list(recipes()) == parts


@pytest.mark.parametrize("recipe", recipes())
def test_a_recipe_runs(recipe: str, module: ModuleType) -> None:
    exec(compile(recipes()[recipe], f"{PAGE.name}: {recipe}", "exec"), module.__dict__)


def test_a_fast_objective_of_pairs_takes_one_short_file() -> None:
    first = recipes()["A loss of distances"].split("rng = np.random")[0]
    assert len(first.splitlines()) <= 60
