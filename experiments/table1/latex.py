"""The study as a LaTeX table, without packages."""

from experiments.table1.outcome import Outcome, Score
from experiments.table1.protocol import AGGREGATIONS, CLASSIFIERS
from experiments.table1.tables import row_title
from gdaopt.support.text import latex as latex_text


def latex(outcome: Outcome) -> str:
    """Return a table for each aggregation, the headline first: ours, and below it the paper's.

    The protocol stands in comments above.
    """
    lines = [f"% {part}" for part in outcome.protocol.description()]
    lines += [f"% not run: {' '.join(note.split())}" for note in outcome.left_out]
    for aggregation in AGGREGATIONS:
        lines += ["", *_table(outcome, aggregation)]
    return "\n".join([*lines, ""])


def _table(outcome: Outcome, aggregation: str) -> list[str]:
    """Return the lines of one table."""
    n_classifiers = len(CLASSIFIERS)
    columns = "r" * (n_classifiers * len(outcome.datasets))
    names = " & ".join(
        rf"\multicolumn{{{n_classifiers}}}{{c}}{{{latex_text(name)}}}" for name in outcome.datasets
    )
    below = " & ".join(CLASSIFIERS[name] for _ in outcome.datasets for name in CLASSIFIERS)
    body = []
    for row in outcome.rows:
        scores = [
            outcome.score(dataset, row, classifier, aggregation)
            for dataset in outcome.datasets
            for classifier in CLASSIFIERS
        ]
        title = latex_text(row_title(outcome, row))
        body.append(rf"{title} & {' & '.join(map(_error, scores))} \\")
        if any(score is not None and score.published is not None for score in scores):
            body.append(rf"\quad published & {' & '.join(map(_published, scores))} \\")
    return [
        r"\begin{table}",
        rf"\caption{{Classification errors in \%, by {AGGREGATIONS[aggregation]}: mean $\pm$ "
        rf"standard error over {outcome.n_seeds} seeds.}}",
        r"\centering",
        rf"\begin{{tabular}}{{l{columns}}}",
        r"\hline",
        rf" & {names} \\",
        rf" & {below} \\",
        r"\hline",
        *body,
        r"\hline",
        r"\end{tabular}",
        r"\end{table}",
    ]


def _error(score: Score | None) -> str:
    if score is None:
        return "--"
    if score.error is None:
        return "failed"
    if score.standard_error is None:
        return f"{score.error:.2f}"
    return rf"{score.error:.2f} $\pm$ {score.standard_error:.2f}"


def _published(score: Score | None) -> str:
    return "" if score is None or score.published is None else f"({score.published:.2f})"
