"""The study as a page of Markdown."""

from collections import Counter
from collections.abc import Iterator, Sequence

from experiments.table1.outcome import Outcome
from experiments.table1.protocol import AGGREGATIONS, CLASSIFIERS, HEADLINE
from experiments.table1.rows import ROWS
from experiments.table1.tables import (
    Table,
    error_table,
    mean_rank_table,
    nearness,
    objective_table,
    paired_table,
    row_title,
    seconds_table,
)
from gdaopt.support.text import markdown_table

_REFERENCE = "alternating"
_MOST_NOTES = 5  # about one row on one data set


def markdown(outcome: Outcome, origin: str) -> str:
    """Return the page: the numbers first, then how they were measured, and what made it."""
    seeds = f"{outcome.n_seeds} seed{'s' if outcome.n_seeds > 1 else ''}"
    lines = [
        "# Table 1: classification errors, %",
        "",
        f"{seeds}. Mean over seeds ± its standard error; in brackets the number that the paper "
        "prints, and ours less it. “–”: not run.",
        "",
    ]
    for aggregation in AGGREGATIONS:
        is_headline = aggregation == HEADLINE
        lines += [f"## By {AGGREGATIONS[aggregation]}{' (headline)' if is_headline else ''}", ""]
        for classifier in CLASSIFIERS:
            lines += _written(error_table(outcome, classifier, aggregation))
        lines += [nearness(outcome, aggregation), ""]
    lines += _notes("Not run", outcome.left_out)
    lines += _notes("Tasks that failed, so that numbers are missing", task_notes(outcome))
    lines += _notes("Warnings", _warnings(outcome))
    lines += ["## Protocol", "", *(f"* {part}" for part in outcome.protocol.description()), ""]
    lines += [f"Written by `python -m experiments table1`. {origin}", ""]
    lines += _notes(
        "Rows", [f"{row_title(outcome, row)} (`{row}`): {_settings(row)}" for row in outcome.rows]
    )
    lines += _compared(outcome)
    lines += _ranks(outcome)
    objectives = objective_table(outcome)
    if objectives.body:
        lines += ["## The rows that minimise an objective", "", *_written(objectives)]
        lines += [
            "The gap is certified: how far the objective can be above the optimum over the row's "
            "set, as a share of the objective.",
            "",
        ]
    lines += ["## Seconds", "", *_written(seconds_table(outcome))]
    total = sum(task.get("seconds", 0.0) for block in outcome.blocks for task in block.flat)
    lines += [
        f"The tasks took {total / 60:.1f} minutes in all, each on one thread; seconds are of the "
        "machine, and of what else ran on it.",
        "",
    ]
    return "\n".join(lines)


def task_notes(outcome: Outcome) -> list[str]:
    """Return a sentence for each task that failed, a few of them for each row and data set."""
    notes = []
    for block in outcome.blocks:
        notes += [
            f"{block.row} on {block.dataset}, seed {task['seed']}, fold {task['fold']}: "
            f"{task['status']}: {task['message']}"
            for task in block.failed[:_MOST_NOTES]
        ]
        if len(block.failed) > _MOST_NOTES:
            notes.append(
                f"{block.row} on {block.dataset}: {len(block.failed)} of {len(block.flat)} in all"
            )
    return notes


def _warnings(outcome: Outcome) -> list[str]:
    """Return a sentence for each row and data set whose tasks warned."""
    notes = []
    for block in outcome.blocks:
        kinds: Counter[str] = Counter()
        for task in block.flat:
            kinds.update(task.get("warned", {}))
        if kinds:
            told = ", ".join(f"{count} × {kind}" for kind, count in sorted(kinds.items()))
            notes.append(f"{block.row} on {block.dataset}: {told}")
    return notes


def _settings(row: str) -> str:
    beyond = "" if ROWS[row].by_default else "; an extra row, run on fewer seeds"
    return f"{ROWS[row].settings}{beyond}."


def _compared(outcome: Outcome) -> Iterator[str]:
    """Yield the comparisons of all rows with the paper's method, or else with the first row."""
    if len(outcome.rows) < 2:
        return
    reference = _REFERENCE if _REFERENCE in outcome.rows else outcome.rows[0]
    yield f"## Compared with {row_title(outcome, reference)}"
    yield ""
    for classifier in CLASSIFIERS:
        yield from _written(paired_table(outcome, reference, classifier))
    yield (
        f"Error of the row less that of `{reference}`, by "
        f"{AGGREGATIONS[HEADLINE]}, with the two-sided p of the t-test "
        "corrected for resampling (Nadeau and Bengio 2003): t = d̄ / √((1/n + n_test/n_train) s²) "
        "over the n differences d of all seeds and folds, n - 1 degrees of freedom. With two folds "
        "n_test/n_train is 1, which makes the test cautious. *: p < 0.05, not corrected for the "
        "number of comparisons."
    )
    yield ""


def _ranks(outcome: Outcome) -> Iterator[str]:
    """Yield the mean ranks."""
    table, without = mean_rank_table(outcome)
    if len(table.body) < 2:
        return
    yield "## Mean ranks"
    yield ""
    yield from _written(table)
    left = f" Left out, since numbers are missing: {', '.join(without)}." if without else ""
    yield (
        f"Over {', '.join(outcome.datasets)}; 1 is the smallest error, equal ones share "
        f"their ranks.{left}"
    )
    yield ""


def _written(table: Table) -> Iterator[str]:
    """Yield a table line by line, and an empty line."""
    heads = [*map(_plain, table.head)]
    yield from markdown_table(heads, ([*map(_plain, cells)] for cells in table.body), heads[:1])
    yield ""


def _notes(title: str, notes: Sequence[str]) -> Iterator[str]:
    """Yield notes under a title; nothing without any."""
    if notes:
        yield f"## {title}"
        yield ""
        for note in notes:
            yield f"* {_plain(note)}"
        yield ""


def _plain(text: str) -> str:
    r"""Return a text in one line that does not end a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
