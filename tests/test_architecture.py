"""The layout of the package: no circles of imports, nothing that needs the baselines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "gdaopt"

CIRCLES: list[list[str]] = []
"""The circles of imports that are known, each as a sorted list of modules."""


def name_of(path: Path) -> str:
    """Return the dotted name of the module in a file of the package."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported(module: str) -> Iterator[str]:
    """Yield the modules of the package that a module imports, anywhere in its text.

    Imports under ``if TYPE_CHECKING`` and inside of functions count as well: to understand one
    module of a circle one has to read all of them, whenever the import happens.
    """
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in MODULES else node.module


def test_there_are_no_circles_of_imports() -> None:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edges_from((module, other) for module in MODULES for other in imported(module))
    circles = [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1]
    assert sorted(circles) == CIRCLES
    assert list(nx.nodes_with_selfloops(graph)) == []


def test_nothing_imports_the_baselines() -> None:
    """They are there to be compared with."""
    inside = "gdaopt.estimators.baselines"
    others = [module for module in MODULES if not module.startswith(inside)]
    assert [
        module for module in others if any(name.startswith(inside) for name in imported(module))
    ] == []


def test_the_imports_are_found() -> None:
    """At the top, by name and by module, under TYPE_CHECKING; and not those of functions."""
    found = set(imported("gdaopt.objectives.glr"))
    assert {
        "gdaopt.linalg.directions",
        "gdaopt.objectives.pairs.base",
        "gdaopt.support.validation",
    } <= found
    assert "gdaopt.linalg.laplacian" in set(imported("gdaopt.sets.graph"))  # from linalg import …
    assert "gdaopt.problem" in set(imported("gdaopt.methods.steps"))  # under TYPE_CHECKING
    assert "gdaopt.estimators" in set(imported("gdaopt"))
    assert len(MODULES) > 100
