"""The study as a picture: a dot for each number, and the published ones as open marks."""

from __future__ import annotations

import textwrap
from statistics import median
from typing import TYPE_CHECKING, Any

from experiments.table1.outcome import Outcome
from experiments.table1.protocol import AGGREGATIONS, CLASSIFIERS
from experiments.table1.published import PUBLISHED
from experiments.table1.tables import row_title
from gdaopt.plotting.canvas import MUTED, SHADE, ink
from gdaopt.plotting.legends import write_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH_OF_NAMES = 3.0  # inches
_WIDTH_OF_PANEL = 2.7
_HEIGHT_OF_ROW = 0.26
_FOOTER_WIDTH = 66  # characters for each panel beside another, about
_OUT_OF_LINE = 2.5  # a number above so many medians is written at the edge, not drawn


def picture(outcome: Outcome) -> Figure:
    """Return a panel for each data set and classifier, with errors on one line for each row.

    The protocol stands below. A number far beyond the others is written at the edge of its panel.
    """
    from matplotlib.figure import Figure

    n_columns, n_lines = len(outcome.datasets), len(CLASSIFIERS)
    footer = textwrap.fill(
        " ".join(outcome.protocol.description()),
        max(80, _FOOTER_WIDTH * n_columns),
        break_on_hyphens=False,
    )
    figure = Figure(
        figsize=(
            _WIDTH_OF_NAMES + _WIDTH_OF_PANEL * n_columns,
            1.4 + n_lines * (0.8 + _HEIGHT_OF_ROW * len(outcome.rows)) + 0.14 * footer.count("\n"),
        ),
        layout="constrained",
    )
    panels = figure.subplots(n_lines, n_columns, squeeze=False, sharex="col", sharey=True)
    handles: dict[str, Any] = {}
    for classifier, of_line in zip(CLASSIFIERS, panels, strict=True):
        for dataset, ax in zip(outcome.datasets, of_line, strict=True):
            handles |= _draw(ax, outcome, dataset, classifier)
            ax.set_title(f"{dataset}, {CLASSIFIERS[classifier]}", parse_math=False)
    for ax in panels[-1]:
        ax.set_xlabel("error, %")
    for ax in panels[:, 0]:
        titles = [row_title(outcome, row) for row in outcome.rows]
        ax.set_yticks(range(len(titles)), titles, parse_math=False, fontsize="small")
        ax.set_ylim(len(titles) - 0.4, -0.6)
    seeds = f"{outcome.n_seeds} seed{'s' if outcome.n_seeds > 1 else ''}"
    write_legend(
        figure,
        handles,
        # Constrained layout does not keep a title of the figure apart from a legend above it.
        title=f"Classification errors, {seeds}",
        title_fontsize="x-large",
        loc="outside upper center",
        ncols=len(handles),
        frameon=False,
    )
    figure.supxlabel(footer, fontsize=7, color=ink(MUTED), parse_math=False, ha="center")
    return figure


def _draw(ax: Axes, outcome: Outcome, dataset: str, classifier: str) -> dict[str, Any]:
    """Draw one panel; return the handles of its legend by their texts."""
    handles: dict[str, Any] = {}
    headline, other = AGGREGATIONS
    limit = _limit(outcome, dataset)
    for line, row in enumerate(outcome.rows):
        if row in PUBLISHED:
            handles["rows of the paper"] = ax.axhspan(
                line - 0.5, line + 0.5, color=ink(SHADE), linewidth=0, zorder=0
            )
        score = outcome.score(dataset, row, classifier, headline)
        if score is None:
            continue
        beside = outcome.score(dataset, row, classifier, other)
        both = [of.error for of in (score, beside) if of is not None and of.error is not None]
        if beside is not None and len(both) == 2 and max(both) <= limit:
            handles[f"ours, by {AGGREGATIONS[other]}"] = ax.plot(
                both[1], line, "D", color=ink(MUTED), markersize=3, zorder=2
            )[0]
        if score.error is not None and score.error <= limit:
            handles[f"ours, by {AGGREGATIONS[headline]}, ± 2 standard errors"] = ax.errorbar(
                score.error,
                line,
                xerr=2 * (score.standard_error or 0.0),
                fmt="o",
                color="C0",
                markersize=4.5,
                elinewidth=1.2,
                capsize=2,
                zorder=3,
            )
        else:
            words = "failed" if score.error is None else f"{score.error:.1f} ▸"
            place = ax.get_yaxis_transform()
            ax.text(0.99, line, words, transform=place, ha="right", va="center", fontsize=8)
        if score.published is not None:
            handles["published"] = ax.plot(
                score.published,
                line,
                "o",
                markerfacecolor="none",
                markeredgecolor="C1",
                markeredgewidth=1.4,
                markersize=8,
                zorder=4,
            )[0]
    ax.margins(x=0.08)
    ax.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return handles


def _limit(outcome: Outcome, dataset: str) -> float:
    """Return the largest error that is drawn, for all classifiers of a data set."""
    errors = [
        score.error
        for aggregation in AGGREGATIONS
        for score in outcome.scores(aggregation)
        if score.dataset == dataset and score.error is not None
    ]
    return _OUT_OF_LINE * median(errors) if errors else 0.0
