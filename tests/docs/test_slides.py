"""Slides are pages of HTML: one idea each, on one screen, without a network."""

import re
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest

from experiments import run_notebooks

pytest.importorskip("mdit_py_plugins")  # of the extra "docs"
pytest.importorskip("sphinx-mathjax-offline")

from experiments.slides import is_slide, write_slides

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
MEASURE = """<script>addEventListener("load", () => MathJax.startup.promise.then(() => {
const tall = [...document.querySelectorAll("section")].map((slide, number) => [slide, number + 1])
  .filter(([slide]) => [...slide.children].reduce((sum, part) => sum + part.offsetHeight, 0) > 700
    || slide.scrollWidth > 1280 || slide.scrollHeight > 720).map(([, number]) => number);
document.documentElement.setAttribute("data-tall", JSON.stringify(tall));
document.documentElement.setAttribute("data-formulas",
  document.querySelectorAll("mjx-container svg").length);
}));</script>"""


@pytest.fixture(name="page", params=run_notebooks.SCRIPTS, ids=lambda path: path.stem)
def _page(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Write the slides of a notebook."""
    notebook = nbformat.read(request.param.with_suffix(".ipynb"), as_version=4)
    page = tmp_path / f"{request.param.stem}.html"
    write_slides(notebook, page)
    assert page.read_text("utf-8").count("<section>") == sum(map(is_slide, notebook.cells))
    return page


def test_a_slide_is_a_heading_with_a_text_or_one_picture(page: Path) -> None:
    text = page.read_text("utf-8")
    slides = re.findall(r"<section>(.*?)</section>", text, re.DOTALL)
    for slide, following in zip(slides, [*slides[1:], ""], strict=True):
        assert len(re.findall(r"<h[1-3]>", slide)) == 1, slide
        assert slide.count("<img") <= 1
        assert "<pre>" not in slide
        assert "$" not in re.sub(r"<[^>]*>", "", slide)
        assert not slide.rstrip().endswith(":</p>") or "<img" in following, slide
    sources = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert [source for source in sources if re.match(r"\w+://|//", source)] == []
    assert all(
        source.startswith("data:image/png;base64,") or (page.parent / source).exists()
        for source in sources
    )


@pytest.mark.skipif(CHROMIUM is None, reason="no browser to measure slides in")
@pytest.mark.slow
def test_slides_fit_the_screen(page: Path, tmp_path: Path) -> None:
    text = page.read_text("utf-8")
    measured = page.with_name("measured.html")
    measured.write_text(text.replace("</head>", MEASURE + "</head>"), "utf-8")
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    )
    command = (
        str(CHROMIUM),
        *options,
        f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1280,807",  # the viewport is 720 high
        "--virtual-time-budget=20000",
        "--dump-dom",
        measured.as_uri(),
    )
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    attributes = dict(re.findall(r'data-(tall|formulas)="([^"]*)"', dom[:5000]))
    assert attributes["tall"] == "[]"
    assert int(attributes["formulas"]) >= len(
        re.findall(r"\\[(\[]", re.sub(r"(?s)<script.*?</script>|base64,[^\"]*", "", text))
    )
