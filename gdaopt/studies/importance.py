"""What matters to learned metrics: features and edges, ranked, with their range over folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gdaopt.estimators.components import metric_of
from gdaopt.estimators.metric_graph import MetricGraph
from gdaopt.plotting.canvas import MUTED, drawing, ink, new_figure
from gdaopt.plotting.legends import escape_text, short_label
from gdaopt.result import Result
from gdaopt.support.validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_EDGES = 40  # that are ranked
_MOST_BARS = 15
_ROW = 0.28  # inches: the height of a bar

Edge = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Features, or edges, by their share of the metric, the largest first."""

    names: tuple[str, ...]
    shares: FloatArray
    ranges: tuple[FloatArray, FloatArray] | None = None  # least and largest share over the folds

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        shares: FloatArray,
        of_folds: Sequence[FloatArray] | None,
    ) -> Ranking:
        """Return a ranking from shares in any order, and those of each fold."""
        order = np.argsort(-np.abs(shares), kind="stable")
        ranges = None
        if of_folds:
            ranges = np.min(of_folds, axis=0)[order], np.max(of_folds, axis=0)[order]
        return cls(tuple(names[place] for place in order), shares[order], ranges)

    def lines(self, most: int) -> list[tuple[str, str, str]]:
        """Return the first ones as texts: name, share and range."""
        ranges = [""] * len(self.names)
        if self.ranges is not None:
            ranges = [f"{low:.3f} to {high:.3f}" for low, high in zip(*self.ranges, strict=True)]
        lines = zip(self.names, (f"{share:.3f}" for share in self.shares), ranges, strict=True)
        return list(lines)[:most]

    def to_table(self, what: str) -> pd.DataFrame:
        """Return the ranking as a table, with a column of names that says what is ranked."""
        table = pd.DataFrame({what: self.names, "share": self.shares})
        if self.ranges is not None:
            table["least in folds"], table["most in folds"] = self.ranges
        return table


@dataclass(frozen=True, eq=False)
class Importance:
    """The importance of features, and of edges, of one metric or several.

    That of a feature is its share ``M_kk / tr M`` of the trace, of the metric M of features that
    are divided by their spreads: without learning all have the share 1/K. That of an edge is
    ``-M_ij / tr M``. Of several metrics both are means.
    """

    feature_names: tuple[str, ...]
    shares: FloatArray
    edges: tuple[Edge, ...]  # the strongest ones
    edge_shares: FloatArray
    folds: tuple[Mapping[str, Any], ...] = ()  # rows of `judge_task`

    @classmethod
    def of_metrics(
        cls, names: Sequence[str], shares: Sequence[FloatArray], results: Sequence[Result]
    ) -> Importance:
        """Return the importance from what each metric says of its features, and its result."""
        of_edges = share_edges(results)
        edges = sorted(of_edges, key=lambda edge: -abs(of_edges[edge]))[:_MOST_EDGES]
        weights = np.array([of_edges[edge] for edge in edges])
        return cls(tuple(names), np.mean(shares, axis=0), tuple(edges), weights)

    def with_folds(self, rows: Sequence[Mapping[str, Any]]) -> Importance:
        """Return the importance with what folds found."""
        return replace(self, folds=tuple(rows))

    @property
    def of_features(self) -> Ranking:
        """All features."""
        folds = [np.array(row["importances"]) for row in self.folds]
        return Ranking.of(self.feature_names, self.shares, folds)

    @property
    def of_edges(self) -> Ranking:
        """The strongest edges."""
        names = [f"{self.feature_names[i]} – {self.feature_names[j]}" for i, j in self.edges]
        folds = [np.array(row["edges"]) for row in self.folds]
        return Ranking.of(names, self.edge_shares, folds)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return both rankings as tables, by what they rank."""
        return {
            "features": self.of_features.to_table("feature"),
            "edges": self.of_edges.to_table("edge"),
        }


def share_edges(results: Sequence[Result]) -> dict[Edge, float]:
    """Return the weight of each edge as a share of the trace, the mean over the metrics."""
    total: Counter[Edge] = Counter()
    for result in results:
        metric = metric_of(result)
        graph = MetricGraph.of_metric(metric, [""] * metric.shape[0])
        shares = graph.weights / float(metric.trace())
        for (i, j), share in zip(graph.edges.tolist(), shares.tolist(), strict=True):
            total[i, j] += share
    return {edge: share / len(results) for edge, share in total.items()}


def draw_importance(importance: Importance, title: str) -> Figure:
    """Draw the most important features, and edges, as bars with their range over folds."""
    rankings = {"features": importance.of_features, "edges between features": importance.of_edges}
    rows = max(min(len(ranking.names), _MOST_BARS) for ranking in rankings.values())
    figure = new_figure(11, 1.6 + _ROW * rows)
    figure.suptitle(escape_text(title), parse_math=False)
    panels = figure.subplots(1, 2)
    for ax, (what, ranking) in zip(panels, rankings.items(), strict=True):
        _draw_bars(ax, ranking)
        shown = min(len(ranking.names), _MOST_BARS)
        of = f" ({shown} of {len(ranking.names)})" if shown < len(ranking.names) else ""
        ax.set_title(f"{what}{of}")
        ax.set_xlabel("share of the trace")
    without = 1 / len(importance.feature_names)
    panels[0].axvline(without, color=ink(MUTED), linestyle="--", zorder=3)
    panels[0].set_xlabel(f"share of the trace (dashed: without learning, {without:.2g})")
    return figure


def _draw_bars(ax: Axes, ranking: Ranking) -> None:
    names, shares = ranking.names[:_MOST_BARS], np.abs(ranking.shares[:_MOST_BARS])
    places = np.arange(len(names))
    with drawing(ax):
        ax.barh(places, shares, height=0.65, color="C0")
        if ranking.ranges is not None and len(names):
            low, high = (np.abs(ends[:_MOST_BARS]) for ends in ranking.ranges)
            low, high = np.minimum(low, high), np.maximum(low, high)
            ax.hlines(places, low, high, color=ink(), linewidth=2, label="range over folds")
            ax.legend(loc="lower right", frameon=False)
        labels = [escape_text(short_label(name)) for name in names]
        ax.set_yticks(places, labels, parse_math=False)
        ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
        ax.set_xlim(left=0)
