"""Texts for people: user text in each medium does nothing but be read."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gdaopt.support.text import html_table, latex, markdown, plain, reason, shortened, text_table

HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\u202eright to left\u202c",
    "two\nlines\r\x08",
    "zero\u200bwidth",
    "a|b `code` <script>x</script>",
    r"$x_1$ \input{secret} 50% & #1 ~ ^",
    "[link](x) *strong* _em_",
    "half \ud800 of a pair",
)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_plain_text_is_one_printable_line(text: str) -> None:
    assert plain(text).isprintable()
    assert plain(plain(text)) == plain(text)


@pytest.mark.parametrize("text", ["naïve", "日本 語", "a\u00a0b", "λ_min ≥ ρ", "", r"C:\new"])
def test_plain_keeps_what_is_readable(text: str) -> None:
    assert plain(text) == text


def test_plain_shows_escapes() -> None:
    assert plain("a\x1b[1m\n\u202e\ud800") == r"a\x1b[1m\n\u202e\ud800"


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_markdown_has_no_syntax(text: str) -> None:
    written = markdown(text)
    assert written.isprintable()
    assert not re.search(r"[`*_\[\]<>|$~&#]", re.sub(r"\\.", "", written))
    assert re.sub(r"\\(.)", r"\1", written) == plain(text)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_latex_has_no_commands(text: str) -> None:
    left = re.sub(r"\\([&%$#_{}]|text\w+\{\})", "", latex(text))
    assert left.isprintable()
    assert not re.search(r"[\\{}$&%#_^~<>|`]", left)


def test_tables() -> None:
    rows, header = [("0", "start"), ("10", "a<b")], ("step", "phase")
    assert text_table(rows, header).splitlines() == [
        "  step  phase",
        "     0  start",
        "    10    a<b",
    ]
    assert html_table(rows[1:], caption="run", header=header) == (
        "<table><caption>run</caption><tr><th>step</th><th>phase</th></tr>"
        "<tr><th>10</th><td>a&lt;b</td></tr></table>"
    )


def test_tables_hold_one_line_a_row() -> None:
    assert text_table([HOSTILE], HOSTILE).count("\n") == 1
    page = html_table([HOSTILE], caption=HOSTILE[0])
    assert page.isprintable()
    assert "<script>" not in page


def test_shortened_is_one_line() -> None:
    assert shortened(np.ones((2, 2))) == "array([[1., 1.], [1., 1.]])"
    assert shortened("a  b\n") == r"'a  b\n'"
    assert shortened(10**5000) == "a value of type int"


def test_reasons_are_one_short_line() -> None:
    assert reason(ValueError("a\n\x1b[31m" + "b" * 10_000)).startswith(r"a \x1b[31mbbb")
    assert len(reason(ValueError("b" * 10_000))) == 300
    assert reason(KeyError()) == "KeyError"
