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
# # 1. Gershgorin discs and alignment
#
# **What you will learn**
#
# * how Gershgorin discs bound the smallest eigenvalue of a matrix, and how loose that bound can be;
# * what a vector $v > 0$ does to the discs, and which $v$ makes the bound exact;
# * why this turns a semidefinite constraint into linear inequalities;
# * where the text of the paper errs, with numbers that you can check;
# * what the discs of a real metric do while it is learned.

# %% [markdown]
# You need linear algebra: eigenvalues, and what positive definite means. Exercises are at the end of each
# part. Their solutions are in folded cells, which assert that they are right.
#
# The method was published by C. Yang, G. Cheung and W. Hu, *Graph metric learning via Gershgorin disc alignment*
# (ICASSP 2020), called *the paper* here. All proofs are on the page "Theory" of the documentation.

# %%
import numpy as np
from half_disc import draw_half_disc
from matplotlib import pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

plt.rcParams["figure.dpi"] = 80
np.set_printoptions(precision=4, suppress=True)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The discs of a small matrix
#
# This is the example of the paper. Its off-diagonal entries are not positive, so that it is the matrix of a
# graph: $-M_{ij}$ is the weight of the edge between $i$ and $j$.

# %%
M = np.array(
    [
        [2.0, -2.0, -1.0],
        [-2.0, 5.0, -2.0],
        [-1.0, -2.0, 4.0],
    ]
)
print("eigenvalues:", np.linalg.eigvalsh(M))

# %% [markdown] slideshow={"slide_type": "slide"}
# Row $i$ has a **disc** in the complex plane. Its centre is the diagonal entry $M_{ii}$, and its radius is the
# sum of the magnitudes of the other entries of the row, $\sum_{j \ne i} |M_{ij}|$. **Gershgorin's theorem**
# says that each eigenvalue lies in at least one disc. The eigenvalues of a symmetric matrix are real, so the
# smallest of them is not smaller than the smallest **left-end**, which is centre minus radius.

# %%
centres, radii = gda.linalg.discs(M)
print("centres:  ", centres)
print("radii:    ", radii)
print("left-ends:", gda.linalg.left_ends(M))

# %% [markdown]
# The smallest left-end is −1, but the smallest eigenvalue is 0.1078. So the matrix is positive definite, and
# its discs cannot show it. Here they are, on the left as they are, with the eigenvalues as crosses. On the
# right is what this notebook is about: the same eigenvalues, and other discs.

# %% slideshow={"slide_type": "slide"}
panels = gda.plotting.discs(M, circles=True, names=["feature 1", "feature 2", "feature 3"])

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What $v$ does
#
# Take a vector $v$ with positive entries, and let $D$ be the diagonal matrix with the entries $1/v_i$. The
# matrix $D M D^{-1}$ has the same eigenvalues as $M$ (it is a similarity transform), and the same diagonal.
# But its off-diagonal entries are $M_{ij}\, v_j / v_i$, so that its discs have other radii. For a matrix whose
# off-diagonal entries are not positive, the left-ends are
#
# $$ M_{ii} - \sum_{j \ne i} |M_{ij}| \frac{v_j}{v_i} = \frac{(M v)_i}{v_i}. $$

# %% [markdown]
# Let us check this for some $v$.

# %%
v = np.array([1.0, 0.8, 0.5])
D = np.diag(1 / v)
similar = D @ M @ np.linalg.inv(D)
print("eigenvalues:", np.sort(np.linalg.eigvals(similar).real))
print("left-ends by the discs:    ", gda.linalg.left_ends(M, v))
print("left-ends by (M v)_i / v_i:", M @ v / v)

# %% [markdown]
# *Every* $v > 0$ gives a lower bound of $\lambda_{\min}$: its smallest left-end. Which $v$ gives the best one?
# The scale of $v$ does not matter, so we set $v_1 = 1$ and look at the bound over $v_2$ and $v_3$.

# %% slideshow={"slide_type": "slide"}
v2, v3 = np.meshgrid(np.linspace(0.2, 1.6, 141), np.linspace(0.2, 1.6, 141))
V = np.stack([np.ones_like(v2), v2, v3])
bounds = (np.tensordot(M, V, axes=1) / V).min(axis=0)

aligned = gda.linalg.align(M)
best = aligned.v / aligned.v[0]

figure, ax = plt.subplots(figsize=(5.6, 4.4), layout="constrained")
levels = [-100, -6, -4, -3, -2, -1, -0.5, 0, 0.2]
shades = plt.get_cmap("Blues")(np.linspace(0, 0.8, len(levels) - 1))
areas = ax.contourf(v2, v3, bounds, levels, colors=shades)
figure.colorbar(areas, ticks=levels[1:-1])
ax.plot(*best[1:], "*", color="#D55E00", markersize=14, label="first eigenvector of $M$")
ax.plot(1, 1, "o", color="black", label="$v = (1, 1, 1)$: the discs as they are")
ax.set(
    xlabel="$v_2$", ylabel="$v_3$", title="smallest left-end, a lower bound of $\\lambda_{\\min}$"
)
_ = ax.legend(loc="upper right")

# %% [markdown] slideshow={"slide_type": "slide"}
# The bound has one peak, and on it stands the eigenvector of the smallest eigenvalue, the **first
# eigenvector**. There all three left-ends are equal, and the bound is exact. This is no accident:
# $M v = \lambda_{\min} v$ says that $(M v)_i / v_i = \lambda_{\min}$ in every row. What needs a proof is only
# that the first eigenvector can be chosen with positive entries, if the graph is connected (this is the
# theorem of Perron and Frobenius).

# %%
print("v =        ", aligned.v)
print("left-ends: ", aligned.left_ends)
print("λ_min =     ", np.linalg.eigvalsh(M)[0].round(4))

# %% [markdown] slideshow={"slide_type": "slide"}
# ### Why this is worth something
#
# The constraint $\lambda_{\min}(M) \ge \rho$ is a semidefinite constraint. But once $v$ is *fixed*, "all left-ends
# are at least $\rho$" is $M v \ge \rho v$: one **linear** inequality for each row. Every matrix that satisfies
# them is allowed. And if $v$ is the first eigenvector of the current matrix, the current matrix satisfies
# them as well.

# %% [markdown]
# For two features we can draw it. With trace $C = 2$, a matrix is given by half the difference of its
# diagonal entries, $p$, and by the weight of its edge, $w$. The matrices with $\lambda_{\min} \ge \rho$ are a half disc (grey), and
# those with $M v \ge \rho v$ a triangle in it (blue), another one for each $v$.

# %% slideshow={"slide_type": "slide"}
rho, C = 0.1, 2.0
figure, axes = plt.subplots(1, 3, figsize=(13, 3), layout="constrained", sharey=True)
for ax, ratio in zip(axes, (0.4, 1.0, 2.5), strict=True):
    draw_half_disc(ax, C / 2 - rho, [ratio])
    ax.set_title(f"$M v \\geq \\rho v$ for $v_2 / v_1$ = {ratio:g}")

# %% [markdown]
# Above the axis, each triangle touches the arc in one point: where $v$ is the first eigenvector. A method that
# solves a linear program over a triangle, moves, and takes a new $v$, can therefore never leave the half
# disc, and needs no projection. That is the idea of the paper; notebook 2 runs it.
#
# **Exercise 1.** Multiply $v$ by 10. What happens to the left-ends? Then take $v = M^{-1} \mathbf 1$, the
# solution of $M v = \mathbf 1$. Its left-ends need no eigenvector to be computed; what do they prove?
#
# <details><summary>Hint</summary>
#
# Write $(M v)_i / v_i$ with $10 v$ in place of $v$. For the second $v$: what is $(M v)_i$?
#
# </details>
#
# **Exercise 2.** Put a second, separate block with another smallest eigenvalue into the matrix. Then the graph is not connected. Is there
# still a $v > 0$ for which all left-ends are *equal*? Which bound does `gda.linalg.align` reach?
#
# <details><summary>Hint</summary>
#
# Within one block, equal left-ends say $M v = \lambda v$ there. Can both blocks have the same $\lambda$?
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 1: the scale of v does not matter. For v = M⁻¹ 1 the left-ends are 1 / v_i > 0,
# so that they prove that M is positive definite, by solving one linear system.
assert np.allclose(gda.linalg.left_ends(M, 10 * v), gda.linalg.left_ends(M, v))
solution = np.linalg.solve(M, np.ones(3))
assert (solution > 0).all()
assert np.allclose(gda.linalg.left_ends(M, solution), 1 / solution)
assert 0 < gda.linalg.left_ends(M, solution).min() <= np.linalg.eigvalsh(M)[0]

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 2: with v > 0 the left-ends of a block are all equal only if v is a first
# eigenvector of that block, and then they are the block's own smallest eigenvalue. The two blocks have
# different ones, so that no v makes all left-ends equal. `gda.linalg.align` still reaches the smaller of the two,
# which is λ_min of the whole matrix; the other left-ends are larger.
two = np.zeros((5, 5))
two[:3, :3] = M
two[3:, 3:] = [[3.0, -1.0], [-1.0, 3.0]]
found = gda.linalg.align(two)
assert gda.linalg.n_components(two, 0.0) == 2
assert np.isclose(np.linalg.eigh(two)[1][:, 0], 0).sum() == 2  # zeros in the first eigenvector
assert np.isclose(found.left_ends.min(), np.linalg.eigvalsh(two)[0])
assert found.spread > 1

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Where the text of the paper errs
#
# The method is right. Four places of the text are not, and it is useful to have seen them before one
# implements it.

# %% [markdown]
# **Scalars are reciprocals.** The paper scales $M$ to $S M S^{-1}$ with $S = \operatorname{diag}(s)$, and prints
# the scalars $0.7511, 0.4886, 0.4440$ for the example above. These numbers are the first eigenvector $v$. The
# scalars that align the discs are the reciprocals, $s = 1/v$. With $s = v$ the bound gets worse instead of better:

# %%
printed = np.array([0.7511, 0.4886, 0.4440])
print("first eigenvector: ", aligned.v / np.linalg.norm(aligned.v))
print("left-ends, s = 1/v:", gda.linalg.left_ends(M, printed))
print("left-ends, s = v:  ", gda.linalg.left_ends(M, 1 / printed))

# %% [markdown]
# **One kept edge does not keep a graph connected.** The first eigenvector makes all left-ends *equal*, and the bound exact,
# for connected graphs only. Otherwise it may have zeros, by which no disc can be scaled (exercise 2). So the paper keeps one edge of each column at
# least $\varepsilon$: the largest one. But an edge that is not the largest
# of its column can be the only bridge between two parts of the graph. On the iris data this happens in the first
# round. The package keeps the edges of a maximum spanning tree instead (`connectivity="tree"`, the default).

# %%
iris = load("iris")
X = scale_features(iris.features)
problem = gda.MetricProblem(
    gda.GLR(X, iris.signal("setosa")),
    gda.GraphMetrics(trace_bound=4.0, min_eigenvalue=1e-3),
)
for rule in ("zeta", "tree"):
    result = gda.solve(
        problem, "alternating", solver="analytic", edge_floor=0.05, connectivity=rule
    )
    print(f"{rule}: the run ends as {result.status!r}, objective {result.objective:.0f}")

# %% [markdown]
# **The path start has a bound.** The paper starts with $C/K$ on the diagonal and edges of weight $\varepsilon_0$ on
# a path through all features. This start is allowed only for
# $\varepsilon_0 \le (C/K - \rho) / (2 \cos(\pi / (K+1)))$, which the paper does not say.
#
# **Positive is not enough.** The proof of the paper's Lemma 2 ends with $\lambda_{\min}(M) > 0$ where
# $\lambda_{\min}(M) \ge \rho$ is needed. The argument of this notebook gives it.
#
# **Exercise 3.** Take $K = 5$, $C = 5$ and $\rho = 0.1$. Build the path start with its largest allowed edge weight
# by NumPy alone, and check its smallest eigenvalue. Then make the weight 1 % larger.
#
# <details><summary>Hint</summary>
#
# The adjacency matrix of a path of $K$ nodes has the eigenvalues $2 \cos(k \pi / (K+1))$, $k = 1, \dots, K$.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 3
K = 5
largest = (1 - 0.1) / (2 * np.cos(np.pi / (K + 1)))
path = np.eye(K, k=1) + np.eye(K, k=-1)
assert np.isclose(np.linalg.eigvalsh(np.eye(K) - largest * path)[0], 0.1)
assert np.linalg.eigvalsh(np.eye(K) - 1.01 * largest * path)[0] < 0.1
assert np.isclose(gda.GraphMetrics(5.0, 0.1).largest_edge_weight(K), largest)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A real metric, step by step
#
# Now we watch the discs while a metric for the iris data is learned. The data have four features; the metric
# shall tell the class *setosa* from the two others. The trace bound is $C = 4$, and no eigenvalue may be
# smaller than $\rho = 0.001$. `gda.iterate` yields the state of the run after each step.

# %%
states = list(gda.iterate(problem, "alternating", solver="analytic", max_iterations=30))
print(f"{len(states)} states, objective {states[0].objective:.1f} to {states[-1].objective:.1f}")


# %% [markdown]
# Each picture shows one state under the $v$ of its step. The dashed line is $\lambda_{\min}$. A step moves the
# diagonal, or one column; it may spread the left-ends, but it cannot move one of them below $\rho$, because
# this is what its linear program forbids.


# %% slideshow={"slide_type": "slide"}
def draw(step, ax=None):
    """Draw the discs of a state under the scaling of its step."""
    state = states[step]
    if ax is None:
        ax = plt.subplots(figsize=(6, 2.6), layout="constrained")[1]
    gda.plotting.discs(state.metric, state.v, names=iris.feature_names, ax=(None, ax))
    ax.set_xlim(-0.2, 5.2)
    moved = "start" if step == 0 else state.phase
    if state.block is not None and state.phase == "column":
        moved = f"column {state.block + 1}"
    ax.set_title(f"step {step}: {moved}, objective {state.objective:.0f}")


figure, axes = plt.subplots(3, 2, figsize=(11, 7.5), layout="constrained")
for step, ax in zip((0, 1, 3, 5, 7, len(states) - 1), axes.flat, strict=True):
    draw(step, ax)

# %% [markdown]
# In a live notebook the next cell draws the same with a slider, if you have `ipywidgets`
# (`pip install ipywidgets`), and otherwise the last step alone. Pages that only show this notebook have the strip above.

# %% tags=["skip-execution"]
try:
    from ipywidgets import IntSlider, interact
except ImportError:
    draw(len(states) - 1)
else:
    _ = interact(lambda step: draw(step), step=IntSlider(min=0, max=len(states) - 1))

# %% [markdown]
# `gda.plotting.left_ends` shows all steps at once: the band is between the smallest and the largest left-end.
# Each step is drawn with the left-ends *after* it, under the $v$ before it. So the band does not close where the discs
# are aligned anew: each step has moved them apart again. It closes at the end only, where steps become tiny and all left-ends are
# at $\rho$. It never goes below $\rho$.

# %% slideshow={"slide_type": "slide"}
result = gda.solve(problem, "alternating", solver="analytic", max_iterations=30)
figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
ax = gda.plotting.left_ends(result, ax=ax)

ends = result.trace.left_ends
assert (np.ptp(ends[1:11], axis=1) > 5e-4).all()  # steps spread what was aligned
assert np.allclose(ends[-1], 1e-3, atol=1e-6)

# %% [markdown]
# **Exercise 4.** Assert, for every state, that no left-end under the $v$ of its step is below $\rho$, up to
# round-off, and that $\lambda_{\min}$ is never below the smallest left-end.
#
# <details><summary>Hint</summary>
#
# `state.v` is the scaling of the step, and `gda.linalg.left_ends(metric, v)` has the left-ends under it.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 4
for state in states:
    smallest = gda.linalg.left_ends(state.metric, state.v).min()
    assert smallest >= 1e-3 - 1e-10
    assert np.linalg.eigvalsh(state.metric)[0] >= smallest - 1e-10

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What to remember
#
# * Each $v > 0$ gives a lower bound of $\lambda_{\min}$, and the first eigenvector gives $\lambda_{\min}$ itself.
# * For a fixed $v$ the bound is linear in the matrix: semidefinite becomes linear, on a smaller set.
# * How much smaller that set is, and what one loses by it, is the subject of notebook 3.
