"""The study's numbers as the text of tables, for Markdown and LaTeX."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median

from experiments.table1.outcome import Block, Outcome, Score
from experiments.table1.protocol import AGGREGATIONS, CLASSIFIERS, HEADLINE
from experiments.table1.published import PUBLISHED
from experiments.table1.rows import ROWS

N_PUBLISHED = sum(
    number is not None for row in PUBLISHED.values() for pair in row for number in pair
)
"""How many numbers the paper prints."""

_NOTHING = "–"
_SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Table:
    """A table of text: the first column names, the others hold numbers."""

    head: Sequence[str]
    body: Sequence[Sequence[str]]


def row_title(outcome: Outcome, row: str) -> str:
    """Return what a row is called, with its number of seeds where others have more."""
    seeds = max(block.n_seeds for block in outcome.blocks if block.row == row)
    title = ROWS[row].title
    return (
        title if seeds == outcome.n_seeds else f"{title} [{seeds} seed{'s' if seeds > 1 else ''}]"
    )


def error_table(outcome: Outcome, classifier: str, aggregation: str) -> Table:
    """Return errors ± standard errors; in brackets the published errors, and ours less those."""
    body = [
        [
            row_title(outcome, row),
            *(
                _error(outcome.score(dataset, row, classifier, aggregation))
                for dataset in outcome.datasets
            ),
        ]
        for row in outcome.rows
    ]
    return Table([CLASSIFIERS[classifier], *outcome.datasets], body)


def _error(score: Score | None) -> str:
    """Return a number of the table as text."""
    if score is None:
        return _NOTHING
    if score.error is None:
        return f"failed ({score.n_failed} tasks)"
    text = f"{score.error:.2f}"
    if score.standard_error is not None:
        text += f" ± {score.standard_error:.2f}"
    if score.published is not None:
        text += f" ({score.published:.2f}: {_signed(score.difference)})"
    return text


def _signed(value: float | None) -> str:
    """Return a difference with its sign, a true minus."""
    if value is None:
        return _NOTHING
    return format(round(value, 2) + 0.0, "+.2f").replace("-", "−")


def nearness(outcome: Outcome, aggregation: str) -> str:
    """Return how many of the published numbers are near ours, as a sentence."""
    compared, (one, two) = outcome.within(aggregation)
    if not compared:
        return f"None of the {N_PUBLISHED} published numbers has one of ours beside it."
    whole = "" if compared == N_PUBLISHED else f" (of {compared} that were run)"
    return (
        f"By {AGGREGATIONS[aggregation]}, {one} of the {N_PUBLISHED} published numbers lie within "
        f"one point of ours, {two} within two{whole}."
    )


def mean_rank_table(outcome: Outcome) -> tuple[Table, list[str]]:
    """Return mean ranks by aggregation and classifier, and the rows that have none."""
    of_each = [(name, outcome.ranks(name)) for name in AGGREGATIONS]
    columns = {**CLASSIFIERS, "all": "all"}
    head = ["mean rank"] + [
        f"{columns[column]}, {AGGREGATIONS[name]}" for name, _ in of_each for column in columns
    ]
    ranked = of_each[0][1][0]
    body = [
        [
            row_title(outcome, row),
            *(f"{ranks[row][column]:.2f}" for _, (ranks, _) in of_each for column in columns),
        ]
        for row in sorted(ranked, key=lambda row: ranked[row]["all"])
    ]
    return Table(head, body), of_each[0][1][1]


def paired_table(outcome: Outcome, reference: str, classifier: str) -> Table:
    """Return each row's error less that of one row with the p of the corrected test."""
    body = []
    for row in outcome.rows:
        if row == reference:
            continue
        cells = []
        for dataset in outcome.datasets:
            compared = outcome.compare(dataset, row, reference, classifier, HEADLINE)
            if compared is None:
                cells.append(_NOTHING)
            elif compared.p is None:
                cells.append(_signed(compared.difference))
            else:
                star = " *" if compared.p < _SIGNIFICANT else ""
                cells.append(f"{_signed(compared.difference)} (p {compared.p:.2f}){star}")
        body.append([row_title(outcome, row), *cells])
    return Table([CLASSIFIERS[classifier], *outcome.datasets], body)


def objective_table(outcome: Outcome) -> Table:
    """Return objective, certified gap and components of the rows that minimise an objective."""
    head = [
        "row",
        "data set",
        "objective",
        "median",
        "certified gap, median",
        "largest",
        "components, median",
        "most",
        "metrics",
    ]
    body = []
    for row, dataset, block in _present(outcome):
        told = block.metrics()
        if not ROWS[row].objective or not told:
            continue
        gaps = [metric["relative_gap"] for metric in told if metric["relative_gap"] is not None]
        components = [metric["components"] for metric in told]
        body.append(
            [
                row_title(outcome, row),
                dataset,
                ROWS[row].objective,
                f"{median(metric['objective'] for metric in told):.4g}",
                f"{median(gaps):.1e}" if gaps else _NOTHING,
                f"{max(gaps):.1e}" if gaps else _NOTHING,
                f"{median(components):g}",
                f"{max(components)}",
                f"{len(told)}",
            ]
        )
    return Table(head, body)


def seconds_table(outcome: Outcome) -> Table:
    """Return the mean seconds of learning one metric."""
    body = []
    for row in outcome.rows:
        cells = []
        for dataset in outcome.datasets:
            block = outcome.block(dataset, row)
            seconds = [] if block is None else [metric["seconds"] for metric in block.metrics()]
            cells.append(f"{mean(seconds):.2g}" if seconds else _NOTHING)
        body.append([row_title(outcome, row), *cells])
    return Table(["seconds per metric", *outcome.datasets], body)


def _present(outcome: Outcome) -> list[tuple[str, str, Block]]:
    """Return the blocks there are, row after row."""
    return [
        (row, dataset, block)
        for row in outcome.rows
        for dataset in outcome.datasets
        if (block := outcome.block(dataset, row)) is not None
    ]
