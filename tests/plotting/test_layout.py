"""Pictures fit figures as wide as a paper's column, and twice as wide: nothing cut or overprinted.

All is measured in the boxes of the renderer, with runs and names of real data."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Patch
from matplotlib.text import Text

import gdaopt as gda
from gdaopt import plotting
from gdaopt.datasets import load, scale_features
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.laplacian import generalized_laplacian
from gdaopt.plotting.arguments import feature_names
from gdaopt.plotting.legends import escape_text, short_label
from gdaopt.plotting.ticks import eigenvalue_axis
from tests.plotting.cases import METRIC, legend, render, solved, with_rows
from tests.plotting.layout import outside, overprinted

WIDTHS = (3.3, pytest.param(7.0, marks=pytest.mark.slow))
WINE, CANCER = load("wine"), load("breast_cancer")


@cache
def runs() -> dict[str, gda.Result]:
    """Return runs of very different lengths, with and without scalars."""
    glr = gda.GLR(scale_features(WINE.features), WINE.signal(WINE.classes[0]))
    problem = gda.MetricProblem(glr, gda.GraphMetrics(13.0, 1e-6))
    return {
        "alternating": gda.solve(problem, "alternating", solver="analytic", max_iterations=40),
        "certified": gda.solve(problem, "certified"),
        "frank-wolfe, pairwise variant": gda.solve(problem, "frank-wolfe", max_iterations=80),
        "joint, align=gradient": gda.solve(
            problem, "joint", solver="analytic", align="gradient", max_iterations=20
        ),
    }


def signed() -> gda.Result:
    """Return a run whose left-ends are negative in many decades."""
    run = runs()["certified"]
    ends = np.outer(np.geomspace(1e-7, 3.0, len(run.trace)), np.linspace(-1, 1, 13))
    return with_rows(run, left_ends=ends)


def cancer_metric() -> np.ndarray:
    """Return a metric of 30 features with long names."""
    rng = np.random.default_rng(0)
    weights = np.triu(rng.random((30, 30)) * (rng.random((30, 30)) < 0.1), 1)
    return generalized_laplacian(weights + weights.T, rng.standard_normal(30))


ONE, PAIR = ((1, 1), 0.75), ((1, 2), 0.75)
PICTURES: dict[str, tuple[Callable[[Any], Any], tuple[int, int], float]] = {
    "convergence": (lambda ax: plotting.convergence(runs(), ax=ax), (2, 2), 1.0),
    "convergence, 8 runs": (
        lambda ax: plotting.convergence([*runs().values()] * 2, ax=ax, lower_bounds=True),
        (2, 2),
        1.0,
    ),
    "eigenvalues": (lambda ax: plotting.convergence(runs(), ax=ax, y="lambda_min"), *ONE),
    "gap by calls": (lambda ax: plotting.convergence(runs(), ax=ax, x="oracle_calls"), *ONE),
    "objective by seconds": (
        lambda ax: plotting.convergence(runs(), ax=ax, x="seconds", y="objective"),
        *ONE,
    ),
    "left-ends": (lambda ax: plotting.left_ends(runs()["alternating"], ax=ax), *ONE),
    "left-ends, certified": (lambda ax: plotting.left_ends(runs()["certified"], ax=ax), *ONE),
    "left-ends, negative": (lambda ax: plotting.left_ends(signed(), ax=ax), *ONE),
    "discs": (lambda ax: plotting.discs(runs()["certified"], None, WINE.feature_names, ax), *PAIR),
    "discs, 30 features": (
        lambda ax: plotting.discs(cancer_metric(), None, CANCER.feature_names, ax),
        *PAIR,
    ),
    "discs, circles": (
        lambda ax: plotting.discs(METRIC, names=["length", "width", "depth"], ax=ax, circles=True),
        (1, 2),
        0.6,
    ),
    "graph": (lambda ax: plotting.graph(runs()["certified"], WINE.feature_names, ax), *ONE),
    "graph, 30 features": (
        lambda ax: plotting.graph(cancer_metric(), CANCER.feature_names, ax),
        *ONE,
    ),
    "graph, few features": (
        lambda ax: plotting.graph(np.eye(5), ["a feature with a long name"] * 5, ax),
        *ONE,
    ),
    "time-split": (lambda ax: plotting.time_split(runs(), ax=ax), (1, 1), 0.6),
}
"""What draws on axes, how many of these it takes, and height over width of the figure."""


EACH = [name.replace("_", "-") for name in plotting.__all__ if name != "animate"]
"""The pictures of `PICTURES` that show what each function draws; `animate` makes files of these."""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PICTURES)
def test_nothing_is_cut_or_overprinted(name: str, width: float) -> None:
    draw, shape, share = PICTURES[name]
    figure = Figure(figsize=(width, share * width), layout="constrained")
    panels = figure.subplots(*shape, squeeze=False)
    draw(panels[0, 0] if shape == (1, 1) else panels if shape == (2, 2) else panels[0])
    figure.draw_without_rendering()
    assert outside(figure) == []
    assert overprinted(figure) == []
    for ax in panels.ravel():
        assert ax.bbox.width > 0.2 * figure.bbox.width / shape[1]
        for label in (ax.xaxis.label, ax.yaxis.label):
            assert "\n" not in label.get_text()
    for written in figure.findobj(Legend):
        box = written.get_window_extent()
        assert all(box.y0 >= ax.bbox.y1 - 1 for ax in panels[0])  # above the curves
        texts = [text.get_window_extent() for ax in panels.ravel() for text in ax.texts]
        assert not any(box.overlaps(text) for text in texts)  # such as the names of features


def test_small_panels_break_no_word_of_a_legend() -> None:
    """Four runs in four panels of a column: the curves keep about half of each panel."""
    figure = Figure(figsize=(3.4, 3.4), layout="constrained")
    panels = figure.subplots(2, 2)
    for ax, run in zip(panels.ravel(), runs().values(), strict=True):
        plotting.left_ends(run, ax=ax)
    figure.draw_without_rendering()
    words = {"diagonal steps", "left-ends", r"$\lambda_{\min}$", r"$\rho$ = 1e-06"}
    for ax in panels.ravel():
        assert set(legend(ax)) <= words
        assert ax.bbox.height > 0.4 * figure.bbox.height / 2
    assert outside(figure) == []
    lines = plotting.convergence([*runs().values()] * 3, Figure().subplots(), legend=False).lines
    assert len({str(line._dash_pattern) for line in lines}) == len(lines) == 12


@pytest.mark.parametrize("layout", ["tight", None])
def test_other_layouts(layout: Any) -> None:
    """These make no room above all panels; a figure without a layout gets one that does."""
    figure = Figure(figsize=(7, 5), layout=layout)
    axes = figure.subplots(2, 2)
    plotting.convergence(runs(), ax=axes)
    figure.draw_without_rendering()
    assert (axes[0, 0].get_legend() is not None) == (layout is not None)
    assert len(figure.legends) == (layout is None)
    assert overprinted(figure) == []
    if layout is None:
        assert outside(figure) == []


def test_small_axes_have_small_marks_and_the_callers_style_counts() -> None:
    def sizes(width: float) -> tuple[float, float, float]:
        ax = Figure(figsize=(width, width)).subplots()
        line = plotting.convergence(runs(), ax=ax).lines[0]
        label = float(ax.xaxis.label.get_fontsize())
        return float(line.get_markersize()), float(line.get_linewidth()), label

    small, large = sizes(3.3), sizes(7.0)
    assert all(a < b for a, b in zip(small, large, strict=True))
    with matplotlib.rc_context({"font.size": 7}):
        assert sizes(3.3)[2] < sizes(7.0)[2] == 7
    with matplotlib.rc_context({"axes.labelsize": 5}):
        assert sizes(3.3)[2] == 5  # a size in points is the caller's


@pytest.mark.parametrize(
    ("low", "high", "threshold", "height"),
    [
        (-3.0, 4.0, 1e-9, 2.0),
        (-1e3, 1e-6, 1e-7, 1.0),
        (-1e-12, 2.0, 2e-9, 1.5),
        (-1e-3, 1e-3, 0.1, 1.0),
        (0.0, 1e5, 1.0, 4.0),
        (-1.0, 1e-3, 1e-6, 1.0),
    ],
)
def test_decades_never_overprint(low: float, high: float, threshold: float, height: float) -> None:
    figure = Figure(figsize=(2, height), layout="constrained")
    ax = figure.subplots()
    ax.plot([0, 1], [low, high])
    eigenvalue_axis(ax, np.array([low, high]), np.array([threshold]))
    figure.draw_without_rendering()
    assert overprinted(figure) == []
    assert 0 in ax.get_yticks()


def test_no_scaling_at_all_is_said() -> None:
    run = runs()["certified"]
    assert set(run.trace.column("scaling")) == {"components"}
    raw = with_rows(run, scaling=np.full(len(run.trace), ""))
    for shown, word in ((run, "scaled"), (raw, "raw")):
        label = plotting.left_ends(shown, Figure().subplots()).get_ylabel()
        assert label == f"{word} left-ends"


STYLES = ("default", "dark_background", "grayscale")


@pytest.mark.covering(1)
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", PICTURES)
def test_all_can_be_seen_on_the_background_of_the_style(name: str, style: str) -> None:
    """Contrast as the WCAG defines it; matplotlib's own orange on white has 2.2."""
    draw, shape, _ = PICTURES[name]
    with matplotlib.style.context(style):
        figure = Figure(figsize=(7, 5), layout="constrained")
        axes = figure.subplots(*shape, squeeze=False)
        draw(axes[0, 0] if shape == (1, 1) else axes if shape == (2, 2) else axes[0])
        cycle = [to_rgba(each["color"]) for each in matplotlib.rcParams["axes.prop_cycle"]]
        ink = to_rgba(matplotlib.rcParams["text.color"])
    for ax in axes.ravel():
        background = to_rgba(ax.get_facecolor())
        for artist in (*ax.lines, *ax.patches, *ax.texts):
            colour = artist.get_edgecolor() if isinstance(artist, Patch) else artist.get_color()
            rgba = np.array(to_rgba(colour))
            if artist.get_alpha() == 0 or rgba[3] == 0:
                continue  # holds limits open, or is an area without an edge
            # Bars have edges of the background, and colours of the cycle inside.
            allowed = np.array([*cycle, ink, background])
            assert np.isclose(allowed[:, :3], rgba[:3], atol=0.005).all(axis=1).any()
            if not isinstance(artist, Patch):
                assert contrast(tuple(rgba), background) > 2
    drawn = {text for ax in axes.ravel() for text in ax.texts}
    for text in {*figure.findobj(Text)} - drawn:
        assert contrast(to_rgba(text.get_color()), to_rgba(figure.get_facecolor())) > 2


def contrast(colour: tuple[float, ...], background: tuple[float, ...]) -> float:
    """Return the ratio of the luminances of a colour, with its alpha, and its background."""

    def luminance(rgb: np.ndarray) -> float:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    below, alpha = np.array(background[:3]), colour[3]
    pair = sorted([luminance(below), luminance(alpha * np.array(colour[:3]) + (1 - alpha) * below)])
    return (pair[1] + 0.05) / (pair[0] + 0.05)


# --- What all pictures have in common ------------------------------------------------------------


TABLE = solved(max_iterations=1).trace.to_pandas()
UNKNOWN = gda.trace.Trace((), np.empty((0, 3)))
AX = Figure().subplots()
BAD: list[tuple[str, dict[str, Any], str]] = [
    ("convergence", {"lower_bounds": True, "y": "gap"}, "lower bounds stand beside the objective"),
    ("convergence", {"lower_bounds": True, "x": "seconds"}, "lower bounds stand beside the obj"),
    ("convergence", {"x": "time"}, "unknown x 'time'"),
    ("convergence", {"y": "loss"}, "unknown y 'loss'"),
    ("convergence", {"colors": ["rot"]}, "colors holds 'rot', which is no colour"),
    ("convergence", {"colors": []}, "colors holds 0 colours; 1 are needed"),
    ("convergence", {"runs": {}}, "runs is empty"),
    ("convergence", {"runs": [METRIC]}, r"pass runs, as gdaopt\.solve returns them, .*; got array"),
    ("convergence", {"problems": ["a", "b"]}, "problems has 2 labels for 1 runs"),
    ("convergence", {"ax": [[AX, AX]] * 2, "x": "seconds"}, "ax must be axes of matplotlib"),
    ("convergence", {"ax": [1, 2]}, r"ax must be an array of 2×2 axes, got shape \(2,\)"),
    ("convergence", {"y": "solver"}, "unknown y 'solver'"),
    ("left_ends", {"run": METRIC}, r"pass runs, as gdaopt\.solve returns them"),
    ("left_ends", {"run": UNKNOWN}, "trace of the run has no rows"),
    ("convergence", {"bands": (0.5, 0.5)}, r"bands must be two quantiles, .* got \(0.5, 0.5\)"),
    ("convergence", {"bands": (0.1, 0.5, 0.9)}, "bands must be two quantiles"),
    ("convergence", {"color_by": "set"}, "unknown color_by 'set'"),
    ("convergence", {"runs": {"a": []}}, "a list of repeats is empty"),
    ("convergence", {"problems": [["a", "b"]]}, "or a list of 1 labels"),
    ("convergence", {"problems": {"a": 1}}, r"problems names \['a'\], and the runs are"),
    ("convergence", {"runs": TABLE[["iteration"]]}, "needs numbers in its column 'objective'"),
    ("convergence", {"runs": TABLE.assign(iteration="many")}, "'iteration' .* other than numbers"),
    ("convergence", {"runs": TABLE.iloc[:0]}, "the table of the run has no rows"),
    ("discs", {"metric": [[1.0, 2.0], [0.0, 1.0]]}, "metric is not symmetric"),
    ("discs", {"names": ["a"]}, "names holds 1 names for 3 features"),
    ("discs", {"ax": AX}, r"ax must be an array of 2 axes, got shape \(\)"),
    ("discs", {"metric": np.eye(8), "circles": True}, "circles of 8 features cannot be told apart"),
    ("graph", {"threshold": -1}, "threshold must be at least 0, got -1"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), BAD)
def test_bad_input(name: str, arguments: dict[str, Any], message: str) -> None:
    run = solved(max_iterations=1)
    drawn = {"convergence": "runs", "left_ends": "run"}
    given: dict[str, Any] = {drawn[name]: run} if name in drawn else {"metric": METRIC}
    with pytest.raises(InvalidInputError, match=message):
        getattr(plotting, name)(**{**given, **arguments})


def test_new_axes_are_known_to_pyplot() -> None:
    for number, name in enumerate(EACH, start=1):
        ax = np.ravel(PICTURES[name][0](None))[0]
        assert pyplot.get_fignums() == list(range(1, number + 1))
        assert ax.figure is pyplot.figure(number)


@pytest.mark.slow
def test_the_callers_style_and_metric_stay() -> None:
    before, metrics = dict(matplotlib.rcParams), [run.metric.copy() for run in runs().values()]
    for name in EACH:
        render(np.ravel(PICTURES[name][0](None))[0])
    assert dict(matplotlib.rcParams) == before
    for metric, run in zip(metrics, runs().values(), strict=True):
        np.testing.assert_array_equal(metric, run.metric)


def test_matplotlib_is_loaded_when_something_is_drawn() -> None:
    code = (
        "import sys, gdaopt.plotting as plotting, numpy as np\n"
        "heavy = ('matplotlib', 'pandas', 'networkx')\n"
        "print(*[name for name in heavy if name in sys.modules], sep=',')\n"
        "plotting.discs(np.eye(2))\n"
        "print(*[name for name in heavy if name in sys.modules], sep=',')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["", "matplotlib"]


# --- Pictures survive ``rcParams["text.usetex"]`` ------------------------------------------------


NAMES = ["cost_in $ & 100 % of {x}", "naïve µm² ~ αβΩ − ρ…", r"C:\new #1 ^ 日本 Ωmega|<>"]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_acts_in_a_name(name: str) -> None:
    assert escape_text(name) == name.replace("日本", "??")  # without LaTeX
    with matplotlib.rc_context({"text.usetex": True}):
        text = escape_text(name)
    # Without what is escaped or written as mathematics, no sign of LaTeX is left.
    rest = re.sub(r"\\text\w+\{\}|\\ldots\{\}|\\[_$&%{}#]|\$[^$]*\$", "", text)
    assert not set(rest) & set("\\_$&%#{}^~")
    assert "日" not in text


@pytest.mark.skipif(
    any(shutil.which(program) is None for program in ("latex", "dvipng")), reason="no LaTeX"
)
@pytest.mark.slow
def test_all_pictures() -> None:
    runs: dict[str, gda.Result] = dict.fromkeys(NAMES, solved(max_iterations=20))
    with matplotlib.rc_context({"text.usetex": True}):
        figure = Figure(figsize=(8, 12), layout="constrained")
        above, middle, below = figure.subfigures(3, 1, squeeze=False)[:, 0]
        plotting.convergence(runs, ax=above.subplots(2, 2))
        ends, split = middle.subplots(1, 2)
        plotting.left_ends(runs[NAMES[0]], ax=ends)
        plotting.time_split(runs, ax=split)
        *pair, last = below.subplots(1, 3)
        plotting.discs(METRIC, names=NAMES, ax=pair)
        plotting.graph(METRIC, names=NAMES, ax=last)
        figure.draw_without_rendering()
        assert outside(figure) == []
        assert overprinted(figure) == []


def test_names_are_printable_and_short() -> None:
    names = feature_names(["a\nb", "\u202ec", "x" * 99], 3)
    assert names[:2] == [r"a\nb", r"\u202ec"]
    assert names[2] == short_label("x" * 99) == "x" * 39 + "…"
