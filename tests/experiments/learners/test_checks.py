"""What the comparison says of its checks."""

from __future__ import annotations

from learners.checks import below_no_learning, checks, faster, is_near_best, within
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


def test_near_the_best() -> None:
    assert is_near_best(found())
    assert is_near_best(found(default=BETTER))
    assert not is_near_best(found(lda=BETTER))
    assert is_near_best(found(lda=scored(0, 0, 0, 100)))
    assert is_near_best({name: Score("stopped") for name in found()}) is None


def test_what_is_missed_is_printed_as_missed() -> None:
    scores = {"one": found(default=WORSE, lda=BETTER), "two": found()}
    text = "\n".join(checks(scores))
    assert f"| one | missed: {DEFAULTS[0]} +50.00 |" in text
    assert "than no learning, z-scores" in text
    assert "is below no learning, z-scores: missed on one." in text
    assert "missed: ours is not the best" in text
    assert "three quarters of the data sets: missed, on 1 of 2." in text
    held = "\n".join(checks({"two": found()}))
    assert "is below no learning, z-scores: holds on all." in held
    assert "missed" not in held.partition("How many times")[0]


def test_times_beside_others() -> None:
    ours = scored(0, 0, seconds=2.0)
    assert faster(ours, scored(0, 0, seconds=8.0)) == "4×"
    assert faster(ours, scored(0, 0, seconds=1.0)) == "0.5×, missed"
    assert faster(ours, Score("stopped", is_late=True)) == f"at least {LIMIT / 2:.0f}×"
    for pair in ((Score("failed: x"), ours), (ours, Score("failed: x")), (ours, None)):
        assert faster(*pair) == "no comparison"
    assert within(3.3, 3.2, "%", ".2f") == "missed, 3.30 %"


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
