"""The comparison as a picture: errors above seconds, a column of panels for each data set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.learners.rows import NO_LEARNING, OURS
from experiments.learners.scores import NEIGHBORS, Scores, best_of
from gdaopt.plotting.canvas import MUTED, SHADE, ink

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = 4  # of data sets; more stand below


def picture(scores: Scores) -> Figure:
    """Return the figure: for each data set the errors, and the seconds of a fit beside them."""
    from matplotlib.figure import Figure

    names = list(next(iter(scores.values())))
    n_lines = -(-len(scores) // _COLUMNS)
    figure = Figure(
        figsize=(4.2 * _COLUMNS, 0.6 + 0.46 * len(names) * n_lines), layout="constrained"
    )
    axes = figure.subplots(2 * n_lines, _COLUMNS, sharey=True, squeeze=False)
    for number, (data, by_learner) in enumerate(scores.items()):
        line, column = divmod(number, _COLUMNS)
        above, below = axes[2 * line, column], axes[2 * line + 1, column]
        best = best_of(by_learner, by_learner)
        if best is not None and (least := by_learner[best].error) is not None:
            spread = by_learner[best].spread
            above.axvspan(least - spread, least + spread, color=ink(SHADE), lw=0)
        for height, name in enumerate(names):
            look, one = looks(name), by_learner[name]
            if one.error is not None:
                above.errorbar(one.error, height, xerr=one.spread, capsize=3, **look)
            else:
                for ax in (above, below):
                    words, place = one.remark.partition(":")[0], ax.get_yaxis_transform()
                    ax.text(0.5, height, words, transform=place, ha="center", va="center")
            if one.seconds is not None:
                below.plot(one.seconds, height, **look)
        above.set_title(data.replace("_", " "))
        above.set_xlabel(f"{NEIGHBORS}-NN error, %")
        above.set_xlim(left=0)
        below.set_xlabel("seconds of a fit")
        below.set_xscale("log")
        for ax in (above, below):
            ax.grid(axis="x", alpha=0.3)
    for ax in axes.flat[2 * _COLUMNS * (n_lines - 1) :]:
        ax.set_visible(bool(ax.get_xlabel()))
    for ax in axes[:, 0]:
        ax.set_yticks(range(len(names)), names, fontsize="small")
    axes[0, 0].invert_yaxis()  # all share it
    figure.suptitle("Grey: within one standard error of the least error", fontsize="medium")
    return figure


def looks(name: str) -> dict[str, Any]:
    """Return how a learner is drawn: by whose it is."""
    if name in NO_LEARNING.values():
        return {"marker": "X", "color": ink(MUTED)}
    if name in OURS:
        return {"marker": "o", "color": "C0"}
    is_sklearn = name.startswith("scikit-learn")
    return {"marker": "s" if is_sklearn else "^", "color": f"C{1 if is_sklearn else 2}"}
