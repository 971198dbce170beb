"""The numbers of the study as data frames, and their files."""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING, Any

from table1.outcome import Outcome
from table1.rows import ROWS

if TYPE_CHECKING:
    import pandas as pd

_SCORES = {
    **dict.fromkeys(("dataset", "row", "title", "classifier", "aggregation"), "string"),
    "headline": "boolean",
    **dict.fromkeys(("n_seeds", "n_failed"), "Int64"),
    **dict.fromkeys(("error", "standard_error", "published", "difference"), "Float64"),
}
_COMPARISONS = {
    **dict.fromkeys(("dataset", "classifier", "aggregation", "first", "second"), "string"),
    **dict.fromkeys(("difference", "t", "p"), "Float64"),
}
_METRICS = {
    **dict.fromkeys(("dataset", "row"), "string"),
    **dict.fromkeys(("seed", "fold"), "Int64"),
    **dict.fromkeys(("class", "status"), "string"),
    **dict.fromkeys(("objective", "relative_gap"), "Float64"),
    **dict.fromkeys(("components", "iterations"), "Int64"),
    "seconds": "Float64",
}


def score_frame(outcome: Outcome) -> pd.DataFrame:
    """Return a line for each number of the table, the headline's aggregation first."""
    lines = [
        {
            **vars(score),
            "title": ROWS[score.row].title,
            "headline": aggregation == outcome.protocol.aggregation,
            "difference": score.difference,
        }
        for aggregation in outcome.aggregations
        for score in outcome.scores(aggregation)
    ]
    return _frame(lines, _SCORES, outcome)


def comparison_frame(outcome: Outcome) -> pd.DataFrame:
    """Return a line for each pair of rows, data set, classifier and aggregation."""
    lines = []
    for aggregation in outcome.aggregations:
        for dataset in outcome.datasets:
            for classifier in outcome.classifiers:
                for first, second in combinations(outcome.rows, 2):
                    found = outcome.compare(dataset, first, second, classifier, aggregation)
                    if found is not None:
                        where = (dataset, classifier, aggregation, first, second)
                        names = list(_COMPARISONS)[: len(where)]
                        lines.append({**dict(zip(names, where, strict=True)), **vars(found)})
    return _frame(lines, _COMPARISONS, outcome)


def metric_frame(outcome: Outcome) -> pd.DataFrame:
    """Return a line for each metric learned, with its seconds, which differ from run to run."""
    lines = [metric for block in outcome.blocks for metric in block.metrics()]
    return _frame(lines, _METRICS, outcome)


def _frame(lines: list[dict[str, Any]], kinds: dict[str, str], outcome: Outcome) -> pd.DataFrame:
    """Return lines as a frame that carries the protocol, in its `attrs` and in the file."""
    import pandas as pd  # on demand: it is slow to import

    frame = pd.DataFrame([{name: line.get(name) for name in kinds} for line in lines], dtype=object)
    frame = frame.reindex(columns=list(kinds)).astype(kinds)
    protocol = {**outcome.protocol.record(), "aggregation": outcome.protocol.aggregation}
    frame.attrs["protocol"] = json.loads(json.dumps(protocol))
    return frame
