"""Configuration of Sphinx: `sphinx-build -W -b html docs <directory>`."""

import importlib
import inspect
import re
import shutil
from functools import cached_property
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref

import gdaopt
from gdaopt.methods import Method
from gdaopt.objectives import Objective
from gdaopt.sets import FeasibleSet
from gdaopt.support.text import markdown_table
from gdaopt.trace import COLUMNS

project = "gdaopt"
author = "The gdaopt developers"
copyright = author
version = release = gdaopt.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas without a network
    "sphinx_design",  # folded proofs
]
exclude_patterns = ["_templates", "_build", "_columns.md"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

# Sphinx reads no pages outside of its folder. The notebooks are rendered with the outputs that are
# committed.
nb_execution_mode = "off"
_here = Path(__file__).parent
shutil.rmtree(_here / "notebooks", ignore_errors=True)
shutil.copytree(
    _here.parent / "experiments" / "notebooks",
    _here / "notebooks",
    ignore=lambda _, names: [name for name in names if not name.endswith(".ipynb")],
)

# The columns of a trace are declared in the package, and docs/traces.md includes their table.
_heads = ("column", "type", "what it says")
_rows = [
    (f"`{each.name}`", each.type.replace(" |", " or"), each.meaning) for each in COLUMNS.values()
]
_table = markdown_table(_heads, _rows, _heads)
(_here / "_columns.md").write_text("\n".join(_table) + "\n", encoding="utf-8")

# What users call of an objective, a set, a problem or a method. All other members are for those who
# write one, and stand apart on its page; pages of what is written for these list them all.
_OF_USERS = {
    *("value", "gradient", "log_value", "to_cvxpy", "log_to_cvxpy", "distributed"),
    *("of", "violations", "projected", "minimize_linear", "made_feasible"),
    *("from_cvxpy", "violation", "n_components", "largest_edge_weight", "auto_trace_bound"),
    *("n_features", "central_metric"),
}
_APART = [  # what methods are made of, and what a method of one's own inherits
    *("AlignedMethod", "Context", "LowerBound", "Method", "Patience", "ProgramMethod"),
    *("StallRule", "solve_model"),
]


def _members_apart(package, name):
    """Return the kind and the name of the members of a class that are not for users."""
    kinds = (gdaopt.MetricProblem, Objective, FeasibleSet, Method)
    owner = getattr(importlib.import_module(package), name)
    if name in _APART or not (inspect.isclass(owner) and issubclass(owner, kinds)):
        return []
    found = []
    for member in dir(owner):
        value = getattr(owner, member)
        if member.startswith("_") or member in _OF_USERS or not inspect.getdoc(value):
            continue
        if isinstance(value, property | cached_property):
            found.append(("property", member))
        elif callable(value):
            found.append(("method", member))
    return found


# The pages of the reference are made from each package's __all__. What gdaopt itself offers is
# documented there alone.
default_role = "py:obj"
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autosummary_context = {
    "top": gdaopt.__all__,
    "apart": _APART,
    "members_apart": {
        f"{package}.{name}": _members_apart(package, name)
        for package in ("gdaopt", "gdaopt.methods")
        for name in importlib.import_module(package).__all__
    },
}
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = f"gdaopt {version}"
html_static_path = ["_static"]
html_css_files = ["narrow_sides.css"]
html_theme_options = {"show_prev_next": False}
html_sidebars = {  # none where it would be empty
    page.stem: []
    for page in _here.glob("*.md")
    if page.stem == "index" or "{toctree}" not in page.read_text(encoding="utf-8")
}
suppress_warnings = ["myst.nested_header"]  # tables of results have headings, and are folded


def _public_names():
    """Return the classes of the reference by their own names, with their full names."""
    packages = re.findall(r"^   (gdaopt[\w.]*)", (_here / "api" / "index.rst").read_text(), re.M)
    found = {}
    for package in ("gdaopt", *packages):
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", vars(module)):  # of errors all classes are public
            if name[0].isupper():
                found.setdefault(name, f"{package}.{name}")
    return found


def link_names(app, doctree):
    """Make links of public names in running text, such as `gda.solve(problem)` or `Result`."""
    if app.env.docname.startswith("api/"):
        return
    known = _public_names()
    for literal in list(doctree.findall(nodes.literal)):
        said = re.fullmatch(
            r"(gda\.|gdaopt\.)?([A-Za-z_.]\w*(?:\.\w+)*)(\(.*\))?", literal.astext()
        )
        if said is None or isinstance(literal.parent, nodes.reference | nodes.title):
            continue
        first, *rest = said[2].split(".")
        if not said[1] and first not in known:
            continue
        target = ".".join([known.get(first, f"gdaopt.{first}"), *rest])
        link = pending_xref("", refdomain="py", reftype="obj", reftarget=target, refexplicit=True)
        literal.replace_self(link)
        link += literal


def setup(app):
    """Connect what changes pages."""
    app.connect("doctree-read", link_names)
