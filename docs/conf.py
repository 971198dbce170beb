"""Configuration of Sphinx: `sphinx-build -W -b html docs <directory>`."""

import shutil
from pathlib import Path

import gdaopt

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
exclude_patterns = ["_templates", "_build"]
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

# The pages of the reference are made from each package's __all__. What gdaopt itself offers is
# documented there alone.
default_role = "py:obj"
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autosummary_context = {"top": gdaopt.__all__}
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = f"gdaopt {version}"
html_theme_options = {"show_prev_next": False}
