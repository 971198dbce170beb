"""The README's numbers are those of the pages in ``figures/``, as the table in the results says."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
UNITS = {"%": 1.0, "ms": 1e-3, "s": 1.0, "seconds": 1.0, "": 1.0}
NUMBER = r"\d[\d.]*(?:e[-+]?\d+)?"


@dataclass(frozen=True)
class Claim:
    """A row of the table in ``docs/results.md``."""

    number: str
    what: str
    page: str
    place: str
    column: str


def text(path: str) -> str:
    return (TOP / path).read_text(encoding="utf-8")


def section(page: str, title: str) -> str:
    """Return the text below a title, up to the next one."""
    return text(page).partition(f"## {title}\n")[2].partition("\n## ")[0]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip()[1:-1].split("|")]


def claims() -> list[Claim]:
    lines = section("docs/results.md", "Where the README's numbers stand").splitlines()
    rows = [line for line in lines if line.startswith("|")]
    return [Claim(*cells(row)) for row in rows[2:]]


def numbers(page: str, claim: Claim) -> Iterator[str]:
    """Yield what stands in a page at the place of a claim."""
    if not claim.column:
        before, _, after = (re.escape(part) for part in claim.place.partition("…"))
        words = " ".join(page.split())
        yield from re.findall(f"{before}({NUMBER}){after}", words)
        return
    wanted, _, row = claim.place.rpartition(": ")
    title = ""
    heads: list[str] = []
    for line in page.splitlines():
        if line.startswith("#"):
            title, heads = line.strip("# "), []
        elif not line.startswith("|"):
            heads = []
        elif not heads:
            heads = cells(line)
        elif claim.column in heads and title.startswith(wanted):
            found = cells(line)
            if row in (", ".join(found[:count]) for count in range(1, len(found))):
                yield found[heads.index(claim.column)]


def value(number: str, heading: str = "") -> float:
    """Return a number in units of 1; its unit stands behind it, or at the head of its column."""
    digits, _, unit = number.partition(" ")
    return float(digits) * UNITS[unit or (heading if heading in UNITS else "")]


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: f"{claim.number} {claim.page}")
def test_a_number_is_that_of_its_page(claim: Claim) -> None:
    (found,) = set(numbers(text(f"figures/{claim.page}.md"), claim))
    unit = claim.number.partition(" ")[2]
    heading = claim.column or (unit if f"… {unit}" in claim.place else "")
    quoted = claim.number.partition(" ")[0]
    decimals = len(quoted.partition(".")[2])
    half = 0.5 * 10**-decimals * UNITS[unit] if "e" not in quoted else 0.0
    assert abs(value(found, heading) - value(claim.number)) <= half * (1 + 1e-9)


def test_each_number_of_the_readme_has_its_place() -> None:
    measured = re.sub(r"\[\w+\]\(.*?\)|`.*?`", "", section("README.md", "What was measured"))
    known = {claim.number.partition(" ")[0] for claim in claims()}
    assert set(re.findall(rf"\b{NUMBER}\b", measured)) == known
