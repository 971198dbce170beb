"""The pages that Sphinx has made, in the folder that ``GDAOPT_DOCS`` names: .ci/run makes them."""

import json
import os
import re
from html import unescape
from pathlib import Path

import pytest

BUILT = Path(os.environ.get("GDAOPT_DOCS", ""))
pytestmark = pytest.mark.skipif(
    "GDAOPT_DOCS" not in os.environ, reason="GDAOPT_DOCS names no folder with built pages"
)


def index() -> dict[str, object]:
    """Return the index that the search of the pages uses."""
    text = (BUILT / "searchindex.js").read_text(encoding="utf-8")
    found: dict[str, object] = json.loads(text.removeprefix("Search.setIndex(").rstrip(");\n"))
    return found


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("stalled", "methods"),
        ("tutorial", "start"),
        ("bibtex", "about"),
        ("license", "about"),
        ("positive definite", "start"),
        ("csv", "tables"),
        ("gallery", "made_gallery/index"),
        ("threads", "solvers"),
        ("slow progress", "methods"),
        ("licence", "about"),
        ("learned matrix", "start"),
        ("which method", "methods"),
        ("sdp", "methods"),
        ("pipeline", "scikit-learn"),
        ("citing", "about"),
        ("band", "made_gallery/convergence/plot_bands_over_seeds"),
        ("solver of your own", "extending/backend"),
    ],
)
def test_a_search_finds_the_title_that_answers(words: str, page: str) -> None:
    """Titles stand first in the results, before texts."""
    pages, titles = index()["docnames"], index()["alltitles"]
    assert isinstance(pages, list)
    assert isinstance(titles, dict)
    hits = [
        number for title, places in titles.items() if words in title.lower() for number, _ in places
    ]
    assert page in {pages[number] for number in hits}


def test_links_within_the_pages_lead_somewhere() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in BUILT.rglob("[!_]*.html")}
    anchors = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in texts.items()}
    dead = []
    for path, text in texts.items():
        for link in re.findall(r'\bhref="([^"]+)"', text):
            file, _, anchor = re.sub(r"\?.*", "", unescape(link)).partition("#")
            if re.match(r"\w+:|//", file) or path.name in (
                "search.html",
                "genindex.html",
                "webpack-macros.html",
            ):
                continue
            target = (path.parent / file).resolve() if file else path.resolve()
            if not target.exists() or (anchor and anchor not in anchors.get(target, {anchor})):
                dead.append(f"{path.relative_to(BUILT)}: {link}")
    assert dead == []


def test_formulas_are_marked_as_such() -> None:
    """What is not, a browser shows as raw TeX."""
    for path in BUILT.rglob("*.html"):
        text = re.sub(
            r"<(script|pre|code|style)\b.*?</\1>", "", path.read_text("utf-8"), flags=re.DOTALL
        )
        text = re.sub(r'<(span|div)[^>]*class="[^"]*\bmath\b.*?</\1>', "", text, flags=re.DOTALL)
        assert re.findall(r"\\(?:frac|lambda|top|rho|sum|succeq|langle)\b", text) == [], path
