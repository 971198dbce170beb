# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 4. Your own objective, your own constraints, your own data
#
# **What you will learn**
#
# * to get from a CSV file, as people have them, to a graph of its features, and to read that graph;
# * what the trace bound does, as a path of pictures and of errors;
# * to minimise an objective of your own: first as a CVXPY expression, then as a NumPy function;
# * to allow only some edges, and what a constraint on the metric costs.

# %% [markdown]
# You need to have used scikit-learn or NumPy. What happens inside the methods is in the other notebooks.

# %%
import tempfile
from itertools import pairwise
from pathlib import Path

import cvxpy as cp
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from gdaopt.datasets import load, read_table, scale_features

plt.rcParams["figure.dpi"] = 80
np.set_printoptions(precision=4, suppress=True)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## From a CSV file to a graph of features
#
# A real file has more than numbers. We write one that looks like an export of a spreadsheet in Europe: with
# semicolons, decimal commas, an id, and cells that are empty. (The data are the wines of scikit-learn. Replace
# this cell by the path of your own file.)

# %%
wine = load("wine")
rng = np.random.default_rng(0)
lines = ["number;" + ";".join(wine.feature_names) + ";cultivar"]
for number, (row, label) in enumerate(zip(wine.features, wine.labels, strict=True), start=1):
    cells = [f"{value:g}".replace(".", ",") for value in row]
    if rng.random() < 0.1:
        cells[rng.integers(len(cells))] = ""  # a value that nobody measured
    lines.append(f"{number};" + ";".join(cells) + f";{label}")

folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "wines.csv"
_ = file.write_text("\n".join(lines) + "\n", encoding="utf-8")
print("\n".join(line[:90] for line in lines[:3]))

# %% [markdown]
# `read_table` finds separators and decimal commas by itself. It leaves out the column that
# numbers the rows. It does not guess what it should not guess: an empty cell is an error until you say what to do.

# %%
try:
    read_table(file)
except gda.errors.InvalidInputError as error:
    print(str(error).replace(folder.name, "…"))

data = read_table(file, impute="median")
print(f"\n{len(data.labels)} samples, {len(data.feature_names)} features, classes {data.classes}")

# %% [markdown]
# Features have different units, so they have to be scaled before distances mean anything. In a scikit-learn
# pipeline this is `StandardScaler`. Then `GraphMetricLearner` learns one metric for all classes,
# here by the objective of the other notebooks (by default it is `gda.MCML`).

# %%
learner = gda.GraphMetricLearner("glr")
model = make_pipeline(StandardScaler(), learner, KNeighborsClassifier(5))
model.fit(data.features, data.labels)

folds = StratifiedKFold(5, shuffle=True, random_state=0)
plain = make_pipeline(StandardScaler(), KNeighborsClassifier(5))
for name, one in (("scaled features alone", plain), ("with the metric", model)):
    score = cross_val_score(one, data.features, data.labels, cv=folds).mean()
    print(f"{name:22} {100 * (1 - score):.1f} % errors of 5 nearest neighbours")

# %% [markdown]
# The difference is four samples of 178. That is no result yet: the page "Results" of the documentation compares
# many methods over many splits. But the metric has another use: it can be read.
#
# ### Reading the graph
#
# A graph metric says how distances are made. With edge weights $w_{ij} = -M_{ij} \ge 0$ and self-loops
# $s_i = \sum_j M_{ij}$ the squared length of a difference $d$ of two samples is
#
# $$ d^\top M d = \sum_{i < j} w_{ij} (d_i - d_j)^2 + \sum_i s_i d_i^2 . $$
#
# So an *edge* says: it counts when two features change in different ways, and it counts little when they change
# together. (The heaviest edges below join features that are correlated negatively.) A *self-loop* says that the feature counts by itself.

# %% slideshow={"slide_type": "slide"}
table = pd.DataFrame(StandardScaler().fit_transform(data.features), columns=data.feature_names)
learner.fit(table, data.labels)
figure, ax = plt.subplots(figsize=(8.5, 6), layout="constrained")
_ = gda.plotting.graph(learner.metric_, data.feature_names, ax=ax)

# %%
print("heaviest edges:")
for first, second, weight in learner.graph_.named_edges()[:4]:
    i, j = data.feature_names.index(first), data.feature_names.index(second)
    correlation = np.corrcoef(data.features[:, [i, j]].T)[0, 1]
    print(f"  {first} – {second}: weight {weight:.3f}, correlation {correlation:+.2f}")

# %% [markdown]
# Squares stand for negative self-loops. There is nothing wrong with them: the metric is positive definite all the
# same, because edges add what the loop takes away.
#
# **Exercise 1.** Check the formula above for the learned metric and two samples of your choice.
#
# <details><summary>Hint</summary>
#
# `gda.linalg.edge_weights` and `gda.linalg.self_loops` return $w$ and $s$.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 1
M = learner.metric_
d = table.to_numpy()[0] - table.to_numpy()[100]
weights, loops = gda.linalg.edge_weights(M), gda.linalg.self_loops(M)
by_edges = sum(weights[i, j] * (d[i] - d[j]) ** 2 for i in range(len(M)) for j in range(i))
assert np.isclose(by_edges + loops @ d**2, d @ M @ d)
assert np.linalg.eigvalsh(M)[0] > 0

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What the trace bound does
#
# The trace bound $C$ is the one number that you have to choose. It is the total weight that the features may
# have. With little of it, only the best few features get any; with more, other features join. Let us follow the optimum
# along a path of bounds, for one class of wine against the rest. (A learner has the rule
# `trace_bound="auto"`, which follows the scale of the features.)

# %%
X = scale_features(wine.features)  # z-scores, divided by √(2K)
z = wine.signal("class_1")
K = X.shape[1]
glr = gda.GLR(X, z)
bounds = np.geomspace(K / 20, 20 * K, 25)
path = [
    gda.solve(gda.MetricProblem(glr, gda.GraphMetrics(C, min_eigenvalue=1e-6)), "certified").metric
    for C in bounds
]
diagonals = np.array([np.diag(M) for M in path])
edges = [int((gda.linalg.edge_weights(M) > 1e-3 * np.trace(M) / K).sum() / 2) for M in path]

# %% slideshow={"slide_type": "slide"}
# A learner takes z-scores as they are. `scale_features` has divided them by √(2K), and so all squared distances
# by 2K: the same metric in units of z-scores is M / (2K), and its trace bound is C / (2K).
cv_bounds = np.geomspace(K / 20, 20 * K, 7)
errors = []
for C in cv_bounds:
    model = make_pipeline(
        StandardScaler(),
        gda.GraphMetricLearner("glr", trace_bound=C / (2 * K)),
        KNeighborsClassifier(5),
    )
    errors.append(100 * (1 - cross_val_score(model, wine.features, z, cv=folds).mean()))
print("samples that are misclassified:", np.round(np.array(errors) / 100 * len(z)).astype(int))

figure, axes = plt.subplots(3, 1, figsize=(8, 8), sharex=True, layout="constrained")
order = np.argsort(-diagonals[len(bounds) // 2])
colours = ("#0072B2", "#E69F00", "#000000", "#56B4E9", "#D55E00", "#009E73")
for rank, feature in enumerate(order):
    known = rank < len(colours)
    axes[0].plot(
        bounds,
        diagonals[:, feature] / bounds,
        color=colours[rank] if known else "#CCCCCC",
        label=wine.feature_names[feature] if known else None,
        zorder=3 if known else 1,
    )
axes[0].set_ylabel("share of the trace, $M_{ii} / C$")
axes[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
axes[1].plot(bounds, edges, "o-", color="#0072B2", markersize=4)
axes[1].set_ylabel("edges")
axes[2].plot(cv_bounds, errors, "s-", color="#D55E00", markersize=5)
axes[2].set(xscale="log", xlabel="trace bound $C$ (the dotted line is $C = K$)", ylim=(0, None))
axes[2].set_ylabel("errors, % (5-fold)")
for ax in axes:
    ax.axvline(K, color="#777777", linestyle=":")
    ax.grid(alpha=0.3)

# %% [markdown]
# From left to right features join, and edges come with them. The errors fall as long as the metric lacks features
# that it needs, and rise a little at the very right, where samples see hardly more than their nearest neighbours. The
# four largest bounds span a factor of 20, and their errors differ by a few samples of 178 only (the numbers are above):
# there is no reason to tune $C$ to the last percent.
# `gda.MetricLearnerCV` follows such a path by itself, and chooses a bound by cross-validation.
#
# **Exercise 2.** The objective decreases along the path. Why must it? Assert it for the metrics above.
#
# <details><summary>Hint</summary>
#
# Compare the two *sets* of metrics.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 2: a larger bound allows all metrics that a smaller one allows, and more.
values = [glr.value(M) for M in path]
assert all(later <= earlier * (1 + 1e-6) for earlier, later in pairwise(values))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Your own objective, as a CVXPY expression
#
# Suppose you want pairs of one class to be nearer than 1 and pairs of two classes to be farther, and you want the
# logistic loss of that. Distances are linear in $M$: with the rows $d_p$ of an array `D`, one for each pair, they
# are the diagonal of $D M D^\top$. So the loss is convex, and CVXPY can prove it.

# %%
iris = load("iris")
X_iris = scale_features(iris.features)
first, second = rng.integers(len(X_iris), size=(2, 300))
keep = first != second
pairs = np.column_stack([first[keep], second[keep]])
D = X_iris[pairs[:, 0]] - X_iris[pairs[:, 1]]
sign = np.where(iris.labels[pairs[:, 0]] == iris.labels[pairs[:, 1]], 1.0, -1.0)


def loss(M):
    """Return the mean logistic loss of the pairs, as a CVXPY expression of the metric."""
    distances = cp.sum(cp.multiply(D @ M, D), axis=1)
    return cp.sum(cp.logistic(cp.multiply(sign, distances - 1))) / len(D)


objective = gda.CvxpyObjective(loss, n_features=4)
graphs = gda.GraphMetrics(trace_bound=40.0)
by_expression = gda.solve(gda.MetricProblem(objective, graphs), "certified", tolerance=1e-7)
print(by_expression.status, round(by_expression.objective, 5))
print(by_expression.metric)

# %% [markdown]
# No derivative was written: the package takes the expression apart. All methods work, the certificate as well,
# and the conic methods get the expression as it stands.
#
# ## Your own objective, as a NumPy function
#
# A function that returns the value and the gradient is an objective, too. It may be faster, and it may be
# what CVXPY cannot express (JAX and PyTorch work alike, see `gda.FunctionObjective`). Nobody checks that it is
# convex, so look at what `gda.check_objective` tries: derivatives against differences, and convexity along lines.


# %%
def loss_and_gradient(M):
    """Return value and gradient of the same loss."""
    margins = sign * (np.einsum("pi,ij,pj->p", D, M, D) - 1)
    slopes = sign / (1 + np.exp(-margins)) / len(D)
    return np.logaddexp(0, margins).mean(), (D * slopes[:, None]).T @ D


function = gda.FunctionObjective(loss_and_gradient, n_features=4)
gda.check_objective(function)
by_function = gda.solve(gda.MetricProblem(function, graphs), "certified", tolerance=1e-7)
print(by_function.status, round(by_function.objective, 5))

# %% [markdown]
# What if the gradient is wrong? A wrong gradient is the most common bug in an objective, and a certificate is as
# right as the gradient. So runs compare the gradients of your own objectives with differences of values, at the
# start and at the end, and refuse a wrong one. The check looks everywhere:

# %%
wrong = gda.FunctionObjective(lambda M: (loss_and_gradient(M)[0], np.eye(4)), n_features=4)
try:
    gda.check_objective(wrong)
except gda.errors.GdaoptError as error:
    print(type(error).__name__ + ":", str(error).split(";")[0][:60], "…")

# %% [markdown]
# **Exercise 3.** The package has this loss: `gda.LogisticPairs(X, y, bias=1.0, pairs=pairs)`. Does it reach the
# same optimum? Then add `0.01 * gda.Ridge(4)` to your own objective. What happens to the trace?
#
# <details><summary>Hint</summary>
#
# A ridge makes large entries dear. What does a smaller metric have for a trace?
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 3
built_in = gda.MetricProblem(gda.LogisticPairs(X_iris, iris.labels, bias=1.0, pairs=pairs), graphs)
found = gda.solve(built_in, "certified", tolerance=1e-7)
assert np.isclose(found.objective, by_expression.objective, rtol=1e-5)
assert np.isclose(by_function.objective, by_expression.objective, rtol=1e-5)
with_ridge = gda.MetricProblem(function + 0.01 * gda.Ridge(4), graphs)
smaller = gda.solve(with_ridge, "certified").metric
assert np.trace(smaller) < np.trace(by_function.metric)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Only some edges, and constraints
#
# Often it is known which features can have to do with each other: neighbouring pixels, joints of one limb,
# genes of one pathway. A *mask* allows these edges only. The optimum is exact as before, and everything is
# cheaper, because forbidden edges are never looked at. Here only features whose correlation is above 0.5 in
# size may be connected.

# %% slideshow={"slide_type": "slide"}
correlations = np.abs(np.corrcoef(wine.features.T))
allowed = [(i, j) for i in range(K) for j in range(i) if correlations[i, j] > 0.5]
free = gda.MetricProblem(glr, gda.GraphMetrics(float(K)))
masked = gda.MetricProblem(glr, gda.GraphMetrics(float(K), edges=allowed))
all_edges, some_edges = gda.solve(free, "certified"), gda.solve(masked, "certified")
print(f"all {K * (K - 1) // 2} edges allowed: objective {all_edges.objective:.0f}")
print(f"only {len(allowed)} edges allowed: objective {some_edges.objective:.0f}")

figure, axes = plt.subplots(1, 2, figsize=(13, 5.4), layout="constrained")
for ax, run, title in zip(
    axes, (all_edges, some_edges), ("all edges", "a mask of edges"), strict=True
):
    _ = gda.plotting.graph(run, wine.feature_names, ax=ax)
    ax.set_title(title, y=-0.08)  # below, away from the names

# %% [markdown]
# Linear constraints are written in CVXPY. The whole problem can be: an objective called with a CVXPY variable is an
# expression, and a set is a list of constraints. Say that three features are expensive to measure, and that together they
# may have a tenth of the trace at most. What does that cost? The *dual value* of the constraint says it: it is the *rate* at
# which the least objective falls when the bound rises. The least objective is a convex function of the bound, so that it lies
# above its tangent: a finite step gains at most the rate times the step.

# %% slideshow={"slide_type": "slide"}
expensive = list(order[:3])
metric = cp.Variable((K, K), symmetric=True)
budget = cp.Parameter(value=K / 10)
limit = sum(metric[i, i] for i in expensive) <= budget
limited = cp.Problem(cp.Minimize(glr(metric)), [*gda.GraphMetrics(float(K)).of(metric), limit])
limited.solve(method="gdaopt")
price = limit.dual_value
print("expensive features:", ", ".join(wine.feature_names[i] for i in expensive))
print(f"their share of the trace before: {np.diag(all_edges.metric)[expensive].sum() / K:.2f}")
print(f"their share of the trace now:    {np.diag(metric.value)[expensive].sum() / K:.2f}")
print(f"objective {all_edges.objective:.0f} before, {limited.value:.0f} now")
print(f"the objective falls at the rate of {price:.0f} for a unit more of their trace")

bounds, least = np.append(np.linspace(K / 20, K / 10 + 1, 15), K / 10), []
for bound in bounds:  # the last one is the one from before
    budget.value = bound
    limited.solve(method="gdaopt")
    least.append(limited.value)
bounds, least, here = bounds[:-1], least[:-1], least[-1]
tangent = here - price * (bounds - K / 10)
gain = here - least[-1]
print(f"a whole unit more gains {gain:.0f}")
assert gain < price

_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(bounds, least, "o-", label="least objective")
ax.plot(bounds, tangent, "--", label="tangent at a tenth of the trace: minus the dual value")
ax.set(xlabel="bound of the three features' trace", ylabel="objective")
_ = ax.legend()

# %% [markdown]
# The budget is a CVXPY parameter, so the same problem can be solved for another one. If the dual value is right, a
# small change of the budget changes the objective by as much as it says:

# %%
before = limited.value
budget.value = K / 10 + 0.001
limited.solve(method="gdaopt")
print(f"measured: {(before - limited.value) / 0.001:.0f}; the dual value said {price:.0f}")

# %% [markdown]
# **Exercise 4.** Set the budget back to $K/10$, and add a second constraint: no edge between the two features with the
# largest correlation. Is the objective larger? Show the metric's entry with and without the constraint.
#
# <details><summary>Hint</summary>
#
# `np.argmax` of the correlations without their diagonal finds the pair.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 4: the objective is the same, because the optimum has no such edge anyway. Edges join features that
# change in different ways, and these two change together.
a, b = np.unravel_index(np.argmax(correlations - np.eye(K)), (K, K))
budget.value = K / 10
limited.solve(method="gdaopt")
assert abs(metric.value[a, b]) <= 1e-6
both = cp.Problem(limited.objective, [*limited.constraints, metric[int(a), int(b)] == 0])
both.solve(method="gdaopt")
assert abs(metric.value[a, b]) <= 1e-6
assert np.isclose(both.value, before, rtol=1e-6)
assert gda.MetricProblem.from_cvxpy(both).violations(metric.value) == ()

# %% [markdown]
# **Exercise 5.** A forbidden edge, $M_{ab} = 0$, is a constraint at the boundary of the set: no metric has $M_{ab} > 0$. Forbid
# the heaviest edge of the optimum without constraints, and look at `result.multipliers`. Show by `gda.certify` that the
# multiplier minus 1000 proves nearly the same bound, and that half of it proves a far worse one. By how much does the objective
# fall when the edge may have the weight 0.001? Which of all the valid multipliers is the one that the package returns?
#
# <details><summary>Hint</summary>
#
# `gda.certify(problem, metric, multipliers)` takes multipliers of your own.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 5: all multipliers up to some negative number are valid, and the package returns that number, the
# smallest in size. It is the rate at which the objective changes with the entry, to the one side that is possible.
a, b = (int(i) for i in np.unravel_index(np.argmin(all_edges.metric), (K, K)))


def with_entry(value):
    """Solve the problem with a fixed entry of the metric."""
    fixed = gda.MetricProblem(
        glr, gda.GraphMetrics(float(K)), constraints=lambda M: [M[a, b] == value]
    )
    return fixed, gda.solve(fixed, "certified", tolerance=1e-9)


fixed, without = with_entry(0.0)
(multiplier,) = without.multipliers
gaps = {
    name: gda.certify(fixed, without.metric, [value]).relative_gap
    for name, value in {"less 1000": multiplier - 1000, "half": multiplier / 2}.items()
}
fall = (without.objective - with_entry(-0.001)[1].objective) / 0.001
print(f"multiplier {multiplier:.0f}; the objective falls by {fall:.0f} for each unit of weight")
assert gaps["less 1000"] < 1e-8
assert gaps["half"] > 1e-3
assert np.isclose(fall, -multiplier, rtol=0.02)

# %%
folder.cleanup()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What to remember
#
# * The graph can be read: edges count what changes in different ways, self-loops count a feature by itself.
# * The trace bound says how many features and edges share the work; find its decade, not its digits.
# * An objective is a CVXPY expression, or a function with a gradient. Check the gradient.
# * A mask makes things cheaper; a constraint has a price, and its multiplier says which. If several
#   multipliers are valid, the smallest one is the rate.
