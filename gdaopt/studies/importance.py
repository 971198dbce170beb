"""What matters to learned metrics: features and edges, ranked, with their range over folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return rankings of all features and of the strongest edges, the largest share first.

        The columns are the name, the share, and its least and most in the folds, if there are
        some.
        """
        pairs = [f"{self.feature_names[i]} – {self.feature_names[j]}" for i, j in self.edges]
        tables = {}
        for what, names, shares, of_folds in (
            ("feature", self.feature_names, self.shares, "importances"),
            ("edge", pairs, self.edge_shares, "edges"),
        ):
            table = pd.DataFrame({what: list(names), "share": shares})
            if self.folds:
                folds = [row[of_folds] for row in self.folds]
                table["least in folds"], table["most in folds"] = (
                    end(folds, axis=0) for end in (np.min, np.max)
                )
            order = np.argsort(-np.abs(shares), kind="stable")
            tables[f"{what}s"] = table.iloc[order].reset_index(drop=True)
        return tables


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
    tables = importance.tables()
    rows = max(min(len(table), _MOST_BARS) for table in tables.values())
    figure = new_figure(11, 1.6 + _ROW * rows)
    figure.suptitle(escape_text(title), parse_math=False)
    features, edges = figure.subplots(1, 2)
    without = 1 / len(importance.feature_names)
    for ax, table, what, label in (
        (features, tables["features"], "features", f" (dashed: without learning, {without:.2g})"),
        (edges, tables["edges"], "edges between features", ""),
    ):
        _draw_bars(ax, table.head(_MOST_BARS))
        of = f" ({_MOST_BARS} of {len(table)})" if len(table) > _MOST_BARS else ""
        ax.set_title(f"{what}{of}")
        ax.set_xlabel(f"share of the trace{label}")
    features.axvline(without, color=ink(MUTED), linestyle="--", zorder=3)
    return figure


def _draw_bars(ax: Axes, table: pd.DataFrame) -> None:
    places = np.arange(len(table))
    names, shares, *ends = (table[name].to_numpy() for name in table)
    with drawing(ax):
        ax.barh(places, np.abs(shares), height=0.65, color="C0")
        if ends and len(table):
            low, high = np.sort(np.abs(ends), axis=0)
            ax.hlines(places, low, high, color=ink(), linewidth=2, label="range over folds")
            ax.legend(loc="lower right", frameon=False)
        labels = [escape_text(short_label(name)) for name in names]
        ax.set_yticks(places, labels, parse_math=False)
        ax.set_ylim(max(len(table), 1) - 0.5, -0.5)
        ax.set_xlim(left=0)
