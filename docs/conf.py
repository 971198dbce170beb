"""Configuration of Sphinx: `sphinx-build -W -b html docs <directory>`."""

import importlib
import inspect
import re
import shutil
from functools import cache, cached_property
from pathlib import Path

from docutils import nodes
from numpydoc.docscrape import NumpyDocString
from sphinx.addnodes import pending_xref
from sphinx.util.nodes import make_refnode

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
    "sphinx_copybutton",
    "sphinx_design",  # folded proofs
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_templates", "_build", "_columns.md", "gallery", "made_gallery/**/*.ipynb"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

# Sphinx reads no pages outside of its folder. The notebooks are rendered with the outputs that are
# committed.
nb_execution_mode = "off"
nb_code_prompt_show, nb_code_prompt_hide = "Solution", "Fold the solution"
_here = Path(__file__).parent
shutil.rmtree(_here / "notebooks", ignore_errors=True)
shutil.copytree(
    _here.parent / "experiments" / "notebooks",
    _here / "notebooks",
    ignore=lambda _, names: [name for name in names if not name.endswith(".ipynb")],
)

# The scripts of the gallery run in each build.
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "made_gallery",
    "filename_pattern": "/plot_",
    "matplotlib_animations": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "nested_sections": False,
    "min_reported_time": 1e9,  # no page of times
    "write_computation_times": False,
}

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
nitpicky = True
nitpick_ignore_regex = [("py:obj", r"(cvxpy|scipy|sklearn|time)\..*")]  # pages of other packages

html_theme = "pydata_sphinx_theme"
html_title = f"gdaopt {version}"
html_logo = html_favicon = "../figures/logo.svg"
html_static_path = ["_static"]
html_css_files = ["layout.css"]
html_theme_options = {
    "show_prev_next": False,
    "logo": {"text": "gdaopt"},
    "header_links_before_dropdown": 6,  # all of them
}
html_sidebars = {"index": [], "results": []}  # they would be empty
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.highlight-text):not(.output) > div.highlight pre"
suppress_warnings = ["myst.nested_header"]  # tables of results have headings, and are folded


@cache
def _public_names():
    """Return the names of the reference with their full names; what gdaopt offers comes first."""
    packages = re.findall(r"^   (gdaopt[\w.]*)", (_here / "api" / "index.rst").read_text(), re.M)
    found = {}
    for package in ("gdaopt", *packages):
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", vars(module)):  # of errors all classes are public
            if not name.startswith("_"):
                found.setdefault(name, f"{package}.{name}")
                found.setdefault(f"{package}.{name}", found[name])
    return found


_LINKED = nodes.reference | nodes.title | pending_xref  # in which no link is made


def link_names(app, doctree):
    """Make links of public names in running text, such as `gda.solve(problem)` or `Result`."""
    if app.env.docname.startswith("api/"):
        return
    for literal in list(doctree.findall(nodes.literal)):
        said = re.fullmatch(
            r"(?:gda\.|(gdaopt)\.)?([A-Za-z_.]\w*(?:\.\w+)*)(\(.*\))?", literal.astext()
        )
        if said is None or isinstance(literal.parent, _LINKED):
            continue
        is_said_to_be_public = literal.astext().startswith(("gda.", "gdaopt."))
        if not (is_said_to_be_public or said[2].split(".")[0][:1].isupper()):
            continue
        target = f"gdaopt.{said[2]}" if is_said_to_be_public else said[2]
        if not _full_name(target):
            continue
        link = pending_xref("", refdomain="py", reftype="obj", reftarget=target, refexplicit=True)
        literal.replace_self(link)
        link += literal


def _full_name(target):
    """Return the full name of what is public, also of the class of an attribute; else nothing."""
    known = _public_names()
    return known.get(target) or known.get(target.rpartition(".")[0], "")


def _local_names(page):
    """Return the names of parameters and attributes that the docstrings of a page explain."""
    package, _, name = page.removeprefix("api/generated/").rpartition(".")
    owner = getattr(importlib.import_module(package), name, None) if package else None
    things = [owner, *(getattr(owner, member) for member in dir(owner) if member[:1] != "_")]
    bases = inspect.getmro(owner) if inspect.isclass(owner) else ()
    texts = [inspect.getdoc(each) or "" for each in (*things, *bases)]
    heads = re.findall(r"^(\w+(?:, (?:\*\*)?\w+)*)(?: : .*)?$", "\n".join(texts), re.M)
    found = {name for head in heads for name in head.split(", ")}
    for thing in things:
        if callable(thing):
            found.update(getattr(inspect.unwrap(thing), "__annotations__", ()))
    return found.union(*(getattr(base, "__annotations__", ()) for base in bases), dir(owner))


def list_options(_app, _what, _name, thing, _options, lines):
    """Put the options that a method inherits in the place of ``**options`` in its docstring."""
    if not (inspect.isclass(thing) and issubclass(thing, Method) and thing is not Method):
        return
    own = {each.name for each in NumpyDocString(inspect.getdoc(thing))["Parameters"]}
    inherited = []
    for base in thing.__mro__[1:]:
        for each in NumpyDocString(inspect.getdoc(base) or "")["Parameters"]:
            if issubclass(base, Method) and each.name[0] != "*" and each.name not in own:
                own.add(each.name)
                inherited += [f"{each.name} : {each.type}", *(f"    {line}" for line in each.desc)]
    text = "\n".join(lines)
    place = re.search(r"^\*\*\w+\n(    .*\n?)+", text, re.M)
    if place is None:  # the class has no options of its own
        place = re.search(r"^(?=Examples\n---|Notes\n---)|\Z", text, re.M)
        inherited = ["", "Parameters", "----------", *inherited, ""]
    lines[:] = [*text[: place.start()].split("\n"), *inherited, *text[place.end() :].split("\n")]


def _value_of(name):
    """Return what a full name of the reference stands for."""
    package, _, last = name.rpartition(".")
    return getattr(importlib.import_module(package), last)


def resolve(app, env, node, content):
    """Resolve names as docstrings write them: public ones from any package, and parameters."""
    target = node["reftarget"]
    full = _full_name(target)
    for name in (full, full.rpartition(".")[0]):  # constants are on the page of their package
        if (page := f"api/generated/{name}") in env.found_docs:
            is_of_its_own = name == full and not inspect.ismodule(_value_of(name))
            anchor = name if is_of_its_own else ""
            return make_refnode(app.builder, node["refdoc"], page, anchor, content)
    if target in _local_names(node["refdoc"]):
        return content  # explained on the same page
    return None


def setup(app):
    """Connect what changes pages."""
    app.connect("doctree-read", link_names)
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", list_options, priority=100)  # before numpydoc
