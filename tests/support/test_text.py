"""Texts for people: user text in each medium does nothing but be read."""

import re
from html import unescape
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends.registry import SolverInfo
from gdaopt.support.text import (
    format_cell,
    html_table,
    latex,
    latex_table,
    markdown,
    plain,
    reason,
    shortened,
    text_table,
)

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
def test_hostile_text_is_one_printable_line_without_syntax(text: str) -> None:
    assert plain(text).isprintable()
    assert plain(plain(text)) == plain(text)
    written = markdown(text)
    assert written.isprintable()
    assert not re.search(r"[`*_\[\]<>|$~&#]", re.sub(r"\\.", "", written))
    assert re.sub(r"\\(.)", r"\1", written) == plain(text)
    left = re.sub(r"\\([&%$#_{}]|text\w+\{\})", "", latex(text))
    assert left.isprintable()
    assert not re.search(r"[\\{}$&%#_^~<>|`]", left)


def test_plain_keeps_what_is_readable_and_shows_escapes() -> None:
    for text in ("naïve", "日本 語", "a\u00a0b", "λ_min ≥ ρ", "", r"C:\new"):
        assert plain(text) == text
    assert plain("a\x1b[1m\n\u202e\ud800") == r"a\x1b[1m\n\u202e\ud800"


def test_cells_of_missing_values_are_empty() -> None:
    cells = [format_cell("{:.3g} %", value, 100) for value in (0.12345, None, np.nan)]
    assert cells == ["12.3 %", "", ""]
    assert format_cell("{:d}", 3) == "3"


def test_values_and_reasons_are_one_short_line() -> None:
    assert shortened(np.ones((2, 2))) == "array([[1., 1.], [1., 1.]])"
    assert shortened("a  b\n") == r"'a  b\n'"
    assert shortened(10**5000) == "a value of type int"
    assert shortened(list(range(1000))).startswith("[0, 1, 2")
    assert len(shortened(list(range(1000)))) == 60
    assert shortened(type("Broken", (), {"__repr__": None})()) == "a value of type Broken"
    assert reason(ValueError("a\n\x1b[31m" + "b" * 10_000)).startswith(r"a \x1b[31mbbb")
    assert len(reason(ValueError("b" * 10_000))) == 300
    assert reason(KeyError()) == "KeyError"


def test_tables() -> None:
    rows, header = [("0", "start"), ("10", "a<b")], ("step", "phase")
    lines = ["  step  phase", "     0  start", "    10    a<b"]
    assert text_table(rows, header).splitlines() == lines
    assert html_table(rows[1:], caption="run", header=header) == (
        "<table><caption>run</caption><tr><th>step</th><th>phase</th></tr>"
        "<tr><th>10</th><td>a&lt;b</td></tr></table>"
    )
    assert text_table([HOSTILE], HOSTILE).count("\n") == 1
    page = html_table([HOSTILE], caption=HOSTILE[0])
    assert page.isprintable()
    assert "<script>" not in page


def test_tables_of_latex() -> None:
    heads = ("method", "gap", "steps", "share", "range")
    rows = [
        ("joint_1", "-1.25e-07", "10.", "99.5 %", "1 to 2"),
        ("a & b", "12.5", "", "100.0 %", "<3"),
    ]
    assert latex_table(heads, rows, ("method",), "50 %") == [
        *(r"\begin{table}", r"\centering", r"\caption{50 \%}"),
        r"\begin{tabular}{l S[table-format=-2.2e-2] S[table-format=2] S[table-format=3.1] "
        r"S[table-format=0]}",
        *(r"\toprule", r"method & {gap} & {steps} & {share (\%)} & {range} \\", r"\midrule"),
        r"joint\_1 & -1.25e-07 & 10 & 99.5 & {1 to 2} \\",
        r"a \& b & 12.5 & {} & 100.0 & {\textless{}3} \\",
        *(r"\bottomrule", r"\end{tabular}", r"\end{table}"),
    ]


X, SIGNS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), [1, -1, -1]
GLR = gda.GLR(X, SIGNS)
SET = gda.GraphMetrics(trace_bound=4.0)
PROBLEM = gda.MetricProblem(GLR, SET)
RULED = gda.MetricProblem(GLR, SET, constraints=lambda M: [M[0, 0] <= 2])
STATES = [
    [*gda.iterate(PROBLEM, method, max_iterations=2)][-1] for method in ("certified", "joint")
]


def squares(metric: Any) -> tuple[float, Any]:
    return float(np.sum(metric**2)), 2 * metric


squares.__name__ = "<b>squares</b>"

SHOWN: dict[str, tuple[Any, str, dict[str, str]]] = {
    "pairs": (GLR, "GLR", {"samples": "3", "distances": "2", "features": "2"}),
    "all pairs": (gda.MCML(X, SIGNS), "MCML", {"samples": "3", "features": "2"}),
    "matrix": (gda.LogDet(np.eye(2)), "LogDet", {"features": "2"}),
    "ridge": (gda.Ridge(n_features=2), "Ridge", {"features": "2"}),
    "sum": (GLR + 0.5 * gda.Ridge(n_features=2), "GLR + 0.5 * Ridge", {"features": "2"}),
    "cvxpy": (gda.CvxpyObjective(cp.sum_squares, 2), "CvxpyObjective(", {"features": "2"}),
    "function": (
        gda.FunctionObjective(squares, n_features=2),
        "FunctionObjective(<b>squares</b>)",
        {"features": "2"},
    ),
    "problem": (
        PROBLEM,
        "MetricProblem",
        {"objective": "GLR(3 samples, 2 distances, 2 features)", "feasible_set": repr(SET)},
    ),
    "problem with rows": (RULED, "MetricProblem", {"constraints": "<lambda>"}),
    "set": (SET, "GraphMetrics", {"trace_bound": "4", "min_eigenvalue": "1e-06"}),
    "mask": (
        gda.GraphMetrics(4.0, edges=np.ones((2, 2), dtype=bool)),
        "GraphMetrics",
        {"edges": "EdgeMask(1 pair of 2 features)"},
    ),
    "signed": (gda.SignedGraphMetrics([1, -1], 4.0), "SignedGraphMetrics", {}),
    "certificate": (gda.certify(RULED, np.eye(2)), "Certificate", {"multipliers": "ndarray of 1"}),
    "row": (gda.solve(PROBLEM, "certified").trace[0], "TraceRow", {"phase": "start"}),
    "state of atoms": (STATES[0], "State", {"point": "PairPoint", "phase": "weights"}),
    "state of programs": (STATES[1], "State", {"v": "ndarray of 2", "phase": "joint"}),
    "result": (gda.solve(PROBLEM, "certified"), "certified: 2×2 metric", {"status": "converged"}),
    "solver": (SolverInfo("HIGHS", usable=True), "SolverInfo", {"usable": "True"}),
}


@pytest.mark.parametrize("name", SHOWN)
def test_notebooks_show_names_and_values(name: str) -> None:
    shown, title, lines = SHOWN[name]
    html = shown._repr_html_()
    (caption,) = re.findall(r"<caption>(.*?)</caption>", html)
    assert unescape(caption).startswith(title)
    rows = [
        (unescape(head), unescape(text))
        for head, text in re.findall(r"<th>([^<]+)</th><td>([^<]*)</td>", html)
    ]
    assert html.count("<tr>") == len(rows) == len({row[0] for row in rows})
    assert lines.items() <= dict(rows).items()
    assert all(text and text != "None" and len(text) <= 300 for _, text in rows)
    assert " at 0x" not in html
    assert "<b>" not in html
    assert "<lambda>" not in html


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (GLR, "GLR(3 samples, 2 distances, 2 features)"),
        (gda.GLR(X[:2, :1], SIGNS[:2]), "GLR(2 samples, 1 distance, 1 feature)"),
        (gda.Ridge(n_features=1), "Ridge(1 feature)"),
        (gda.Linear(np.eye(300)), "Linear(300 features)"),
        (PROBLEM, f"MetricProblem(objective={GLR!r}, feasible_set={SET!r}, constraints=None)"),
    ],
    ids=repr,
)
def test_objectives_say_their_kind_and_sizes(shown: Any, text: str) -> None:
    assert repr(shown) == text
