"""What the comparison of learners says."""

from __future__ import annotations

from learners.comparison import below_no_learning, comparison
from learners.fits import LIMIT
from learners.picture import picture
from learners.rows import DEFAULTS, NO_LEARNING, OURS
from learners.scores import Score
from learners.tables import preface, rank_table, table
from tests.experiments.learners.cases import found, scored

WORSE = scored(100, 100, 100, 100)
BETTER = scored(0, 0, 0, 0)


def test_a_default_that_is_worse_than_no_learning_is_named() -> None:
    plain = NO_LEARNING["z-scores"]
    assert below_no_learning(found(), plain) == {}
    assert below_no_learning(found(default=WORSE), plain) == {DEFAULTS[0]: 50.0}
    # One sample of four is no more than the standard error of the difference.
    assert below_no_learning(found(default=scored(0, 100, 100, 100)), plain) == {}
    assert below_no_learning(found(default=Score("stopped")), plain) == {}
    # Rows with another objective are not defaults.
    assert below_no_learning(found(late=WORSE), plain) == {}


def places(**changed: Score) -> str:
    """Return what the comparison of one data set says."""
    return "\n".join(comparison({"one": found(**changed)}))


def test_ours_beside_the_best() -> None:
    assert "| the best |" in places(default=BETTER)
    assert "| within one standard error |" in places()  # all alike
    assert "| within one standard error |" in places(lda=scored(0, 0, 0, 100))
    far = places(lda=BETTER)
    assert "| not the best |" in far
    assert "within one standard error of it, on 0 of 1 data sets." in far
    nothing = {name: Score("stopped") for name in found()}
    assert "| without a number |" in "\n".join(comparison({"one": nothing}))


def test_ours_beside_no_learning() -> None:
    text = "\n".join(comparison({"one": found(default=WORSE), "two": found()}))
    assert f"| one | {DEFAULTS[0]} +50.00 |" in text
    assert "| two | none | none |" in text
    assert "are worse than no learning, z-scores on: one." in text
    assert "are worse than no learning, z-scores on: no data set." in places()


def test_times_beside_others() -> None:
    late = Score("stopped", is_late=True)

    def told(ours: Score, lmnn: Score) -> str:
        """Return how many times as long LMNN takes."""
        lines = places(default=ours, lmnn=lmnn).partition("How many times")[2].splitlines()
        return lines[-1].split(" | ")[1]

    def taking(seconds: float) -> Score:
        return scored(0, 0, 0, 0, seconds=seconds)

    assert told(taking(2.0), taking(8.0)) == "4×"
    assert told(taking(2.0), taking(1.0)) == "0.5×"
    assert told(taking(2.0), late) == f"at least {LIMIT / 2:.0f}×"
    assert told(Score("failed: x"), taking(1.0)) == "no comparison"
    assert told(taking(1.0), Score("failed: x")) == "no comparison"


def test_tables_and_picture() -> None:
    late = Score("stopped", is_late=True)
    scores = {"iris": found(default=BETTER, late=late, lda=Score("failed: a | b"))}
    text = "\n".join(table("iris", scores["iris"]))
    assert "## iris: 150 samples, 4 features, 3 classes" in text
    assert f"| {DEFAULTS[0]} | 1 | 1 | **0.00 ± 0.00** |  |" in text
    assert f"|  | {LIMIT:g} |" not in text
    assert f"| > {LIMIT:g} |  |  | stopped |" in text
    assert "failed: a / b" in text
    ranks = list(rank_table(scores))
    assert ranks[6].startswith(f"| {DEFAULTS[0]} | 1.0 | 1 |")
    figure = picture(scores)
    assert figure.axes[0].get_title() == "iris"
    shown = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert set(OURS) <= set(shown)
    assert all(len(line) <= 100 for line in preface(None)[2].splitlines())
