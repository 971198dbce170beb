"""The numbers of the study as data frames, and their files."""

import json

import pandas as pd

from experiments.table1.outcome import Outcome
from experiments.table1.protocol import AGGREGATIONS, HEADLINE
from experiments.table1.rows import ROWS

_SCORES = {
    **dict.fromkeys(("dataset", "row", "title", "classifier", "aggregation"), "string"),
    "headline": "boolean",
    **dict.fromkeys(("n_seeds", "n_failed"), "Int64"),
    **dict.fromkeys(("error", "standard_error", "published", "difference"), "Float64"),
}


def score_frame(outcome: Outcome) -> pd.DataFrame:
    """Return a line for each number of the table; the frame and its file carry the protocol."""
    lines = [
        {
            **vars(score),
            "title": ROWS[score.row].title,
            "headline": aggregation == HEADLINE,
            "difference": score.difference,
        }
        for aggregation in AGGREGATIONS
        for score in outcome.scores(aggregation)
    ]
    frame = pd.DataFrame(lines, columns=list(_SCORES), dtype=object).astype(_SCORES)
    protocol = {**outcome.protocol.record(), "aggregation": HEADLINE}
    frame.attrs["protocol"] = json.loads(json.dumps(protocol))
    return frame
