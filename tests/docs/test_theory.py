"""The results of docs/theory, and those who cite them by name.

A citation is the full name in double quotes; it may be wrapped, in comments too.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
THEORY = sorted((ROOT / "docs" / "theory").glob("*.md"))
MOST_WORDS = 4000  # of the core
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


def names(text: str) -> list[str]:
    return HEADING.findall(text)


def all_names() -> list[str]:
    return [name for page in THEORY for name in names(page.read_text("utf-8"))]


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


def test_an_erratum_has_a_number() -> None:
    assert citations('"Erratum 2: a rule", "Erratum: none"') == {"Erratum 2: a rule"}


def test_names_are_unique() -> None:
    found = all_names()
    assert found
    assert sorted(found) == sorted(set(found))


def test_the_core_is_read_in_half_an_hour() -> None:
    core = ROOT / "docs" / "theory" / "core.md"
    assert len(core.read_text("utf-8").split()) <= MOST_WORDS


def test_proofs_are_folded_and_end() -> None:
    for page in THEORY:
        text = page.read_text("utf-8")
        assert "*Proof.*" not in text, page
        assert text.count(":::{dropdown} Proof") == text.count("∎"), page


def test_cited_results_exist() -> None:
    known = set(all_names())
    found = cited()
    assert found, "nothing cites the theory"
    unknown = {name: files for name, files in found.items() if name not in known}
    assert not unknown, f"docs/theory has no such results: {unknown}"


def test_no_file_names_a_page_that_is_not_here() -> None:
    word = "DES" + "IGN"
    naming = [path for path in written_files() if word in path.read_text("utf-8")]
    assert not naming, f"cite a result of docs/theory instead: {naming}"
