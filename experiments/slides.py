"""Slides of a notebook: a page of HTML that needs no network.

A cell whose ``slide_type`` is ``slide`` is one slide: a text as it stands, a code cell by its
pictures, under the last heading. Arrow keys turn them; a browser prints one to a page.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path

import nbformat
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

_MATHJAX = "tex-svg-full.js"  # with its fonts inside
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
html {{ scroll-snap-type: y mandatory; }}
body {{ margin: 0; font: 28px/1.45 sans-serif; color: #1a1a1a; }}
section {{
  box-sizing: border-box; height: 100vh; padding: 3vh 6vw; overflow: hidden;
  display: flex; flex-direction: column; justify-content: center;
  scroll-snap-align: start; break-after: page;
}}
h1, h2, h3 {{ margin: 0 0 .5em; font-size: 38px; line-height: 1.2; color: #0072b2; }}
p, ul, ol {{ margin: .3em 0; }}
code {{ font-size: 24px; }}
img {{ width: 100%; height: 76vh; object-fit: contain; }}
@page {{ size: 1280px 720px; margin: 0; }}
</style>
<script>
const by = {{ ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 }};
addEventListener("keydown", event => {{
  if (!by[event.key]) return;
  event.preventDefault();
  scrollTo(0, (Math.round(scrollY / innerHeight) + by[event.key]) * innerHeight);
}});
</script>
<script src="{mathjax}"></script></head>
<body>
{slides}
</body></html>
"""


def is_slide(cell: nbformat.NotebookNode) -> bool:
    """Say whether a cell is on a slide."""
    return bool(cell.metadata.get("slideshow", {}).get("slide_type") == "slide")


def _formula(text: str, options: dict[str, bool]) -> str:
    """Return a formula as MathJax reads it."""
    text = escape(text)
    return rf"\[{text}\]" if options["display_mode"] else rf"\({text}\)"


def _slides(notebook: nbformat.NotebookNode) -> Iterator[str]:
    """Yield what is on each slide."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    dollarmath_plugin(markdown, renderer=_formula)
    heading = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = next(iter(re.findall(r"^##+ (.*)", cell.source, re.M)), heading)
            if is_slide(cell):
                title = "" if cell.source.startswith("#") else f"## {heading}\n\n"
                yield markdown.render(title + cell.source)
        elif is_slide(cell):
            for output in cell.outputs:
                if "image/png" in output.get("data", {}):
                    picture = output.data["image/png"].replace("\n", "")
                    title = markdown.renderInline(heading)
                    yield f'<h2>{title}</h2><img alt="" src="data:image/png;base64,{picture}">'


def write_slides(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Write the slides of a notebook, and MathJax beside them."""
    package = importlib.util.find_spec("sphinx-mathjax-offline")
    if package is None or package.origin is None:
        raise SystemExit('slides need the extra "docs": pip install -e ".[docs,notebooks]"')
    shutil.copy(Path(package.origin).parent / "static" / "mathjax" / _MATHJAX, path.parent)
    slides = "\n".join(f"<section>{slide}</section>" for slide in _slides(notebook))
    page = _PAGE.format(title=path.stem, mathjax=_MATHJAX, slides=slides)
    path.write_text(page, encoding="utf-8")
