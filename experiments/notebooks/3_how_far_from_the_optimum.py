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
# # 3. How far from the optimum?
#
# **What you will learn**
#
# * to compute, from nothing but a gradient, a lower bound that *proves* how far a metric is from the optimum;
# * why graph metrics are sums of very simple matrices ("factor width two"), with the proof;
# * why minimising a linear function over graph metrics therefore has a closed form, with the proof;
# * that semidefinite programming, second-order cones, projected gradients and the package's own method
#   reach the same optimum, and at what cost;
# * why the alternation of notebook 2 stops where it stops;
# * how one convex problem finds the best *signed* graph for all colours of the features.

# %% [markdown]
# You need notebook 1, derivatives of functions of matrices, and convexity.

# %%
import time

import cvxpy as cp
import numpy as np
from half_disc import draw_half_disc, metric_at, point_of
from matplotlib import pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

plt.rcParams["figure.dpi"] = 80
np.set_printoptions(precision=4, suppress=True)

iris = load("iris")
rho, C = 1e-3, 4.0
problem = gda.MetricProblem(
    gda.GLR(scale_features(iris.features), iris.signal("setosa")),
    gda.GraphMetrics(trace_bound=C, min_eigenvalue=rho),
)
K = problem.n_features

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The certificate, from nothing
#
# A run has ended and returns a metric. Is it good? Comparing it with other runs does not answer that, because
# all of them can be bad. But the objective $Q$ is convex, and a convex function lies above its tangents:
#
# $$ Q(V) \ \ge\ Q(M) + \langle G, V - M \rangle, \qquad G = \nabla Q(M), $$
#
# for all $V$. Take the minimum over all metrics $V$ of the set on both sides. On the left it is the optimum
# $Q^\ast$, which we do not know. On the right it is the minimum of a *linear* function, which may be easier:
#
# $$ Q^\ast \ \ge\ Q(M) - \underbrace{\Big( \langle G, M \rangle - \min_V \langle G, V \rangle \Big)}_{\text{gap}} . $$

# %% [markdown]
# The gap is a proof of quality: no metric of the set is better than $M$ by more than the gap. Which linear
# function, over which set? Symmetric matrices with $V_{ij} \le 0$, $V \succeq \rho I$ and $\operatorname{tr} V \le C$.
# That is a semidefinite program, so we ask CVXPY.


# %%
def least_by_sdp(G):
    """Return the minimum of ⟨G, V⟩ over graph metrics, by a semidefinite program."""
    V = cp.Variable((len(G), len(G)), symmetric=True)
    constraints = [
        V - cp.diag(cp.diag(V)) <= 0,
        V >> rho * np.eye(len(G)),
        cp.trace(V) <= C,
    ]
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(G, V))), constraints).solve("CLARABEL")


result = gda.solve(problem, "alternating", solver="analytic")
M = result.metric
G = problem.objective.gradient(M)
gap = np.vdot(G, M) - least_by_sdp(G)
print(f"objective           {problem.objective.value(M):.2f}")
print(f"gap                 {gap:.2f}")
print(f"the optimum is at least {problem.objective.value(M) - gap:.2f}")

# %% [markdown]
# So the alternation's metric may be above the optimum by no more than this gap. `gda.certify` does the same,
# for a metric from any source:

# %%
certificate = gda.certify(problem, M)
print(f"lower bound {certificate.lower_bound:.2f} ({certificate.bound})")

# %% [markdown]
# Its bound is better than ours by more than half. The objective here is a sum of exponentials, and even its *logarithm*
# is convex. The tangent of the logarithm gives $Q^\ast \ge Q(M) \exp(-\text{gap} / Q(M))$, and
# $e^{-x} \ge 1 - x$. (The bound is also lowered by all that round-off may have added to it, which is too little
# to be seen here.)
#
# **Exercise 1.** Compute this exponential bound from the gap above, and compare.
#
# <details><summary>Hint</summary>
#
# The tangent of $\log Q$ has the slope $G / Q(M)$.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 1
value = problem.objective.value(M)
exponential = value * np.exp(-gap / value)
assert exponential >= value - gap
assert np.isclose(exponential, certificate.lower_bound, rtol=1e-5)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Factor width two
#
# The semidefinite program above is not needed. The reason is a theorem on matrices $N$ whose off-diagonal
# entries are not positive: **$N$ is positive semidefinite if and only if it is a sum of matrices $u u^\top$ where
# $u = a e_i - b e_j$ with $a, b \ge 0$** has at most two non-zero entries. Such a sum is said to have *factor width
# two*.

# %% [markdown]
# *Proof.* Each $u u^\top$ is positive semidefinite, and so is their sum. For the other direction we use a vector
# $v > 0$ with $N v \ge 0$. There is one: the first eigenvector of each connected part of the graph (notebook 1).
# With it,
#
# $$ N = \sum_{i < j} |N_{ij}|\, b_{ij} b_{ij}^\top + \sum_i \frac{(N v)_i}{v_i} e_i e_i^\top, \qquad
# b_{ij} = \sqrt{v_j / v_i}\; e_i - \sqrt{v_i / v_j}\; e_j . $$
#
# Look at the entries. Off the diagonal, only $b_{ij} b_{ij}^\top$ has an entry at $(i, j)$, which is $-1$, so that
# both sides agree. On the diagonal the right-hand side has
# $\sum_{j \ne i} |N_{ij}| v_j / v_i + (N v)_i / v_i$, and by $(N v)_i = N_{ii} v_i - \sum_{j \ne i} |N_{ij}| v_j$ this is
# $N_{ii}$. No coefficient is negative. ∎
#
# Let us try it on a random matrix, first by hand, and then by `gda.linalg.decomposition`.

# %%
rng = np.random.default_rng(0)
N = -np.abs(rng.standard_normal((5, 5)))
N = N + N.T
N += (0.5 - np.linalg.eigvalsh(N)[0]) * np.eye(5)  # smallest eigenvalue 0.5

v = gda.linalg.align(N).v
total = np.diag(N @ v / v)
for i in range(5):
    for j in range(i):
        b = np.zeros(5)
        b[i], b[j] = np.sqrt(v[j] / v[i]), -np.sqrt(v[i] / v[j])
        total += -N[i, j] * np.outer(b, b)
print("largest difference by hand:      ", np.abs(total - N).max().round(9))

atoms, weights = gda.linalg.decomposition(N, v)
difference = atoms.added_to(np.zeros((5, 5)), weights) - N
print("largest difference by the package:", np.abs(difference).max().round(9))
print(f"{len(weights)} terms, the smallest weight is {weights.min():.3f}")

# %% [markdown]
# **Exercise 2.** The signs matter. The matrix of ones, $\mathbf 1 \mathbf 1^\top$ for $K = 3$, is positive
# semidefinite, but its off-diagonal entries are positive. Show by a small CVXPY problem that it is no sum of
# matrices $u u^\top$ with two non-zero entries. (Such a sum is a sum of positive semidefinite $2 \times 2$
# blocks. Minimise the distance.)
#
# <details><summary>Hint</summary>
#
# Three variables of shape (2, 2) with `PSD=True`; a matrix `E` of zeros and ones puts each into its rows and columns.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 2: three 2 × 2 blocks, each put into its rows and columns
blocks = [cp.Variable((2, 2), PSD=True) for _ in range(3)]
placed = 0
for block, pair in zip(blocks, ([0, 1], [0, 2], [1, 2]), strict=True):
    E = np.eye(3)[:, pair]
    placed = placed + E @ block @ E.T
distance = cp.Problem(cp.Minimize(cp.norm(placed - np.ones((3, 3)), "fro"))).solve("CLARABEL")
assert distance > 0.5
# The same matrix with its off-diagonal signs changed is not positive semidefinite: nothing to decompose.
assert np.linalg.eigvalsh(2 * np.eye(3) - np.ones((3, 3)))[0] < 0

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The oracle in closed form
#
# A graph metric is $V = \rho I + N$ with $N$ as above and $\operatorname{tr} N \le \tau = C - K \rho$. Written as a sum of
# $w_k u_k u_k^\top$ with unit vectors $u_k$, the weights add up to the trace of $N$. So a linear function of $V$ is
#
# $$ \langle G, V \rangle = \rho \operatorname{tr} G + \sum_k w_k\, u_k^\top G u_k, \qquad w_k \ge 0, \quad \sum_k w_k \le \tau . $$

# %% [markdown]
# The best choice is to spend all of $\tau$ on the vector $u$ with the least **price** $u^\top G u$, or
# nothing, if no price is negative. For $u = a e_i - b e_j$ with $a^2 + b^2 = 1$ the price is
# $a^2 G_{ii} + b^2 G_{jj} - 2ab\, G_{ij}$. If $G_{ij} > 0$, its least value is the smaller eigenvalue of the $2 \times 2$
# block of $G$. If not, a single feature is at least as good. ∎

# %% [markdown]
# That is the whole oracle: the best of $K$ features and $K(K-1)/2$ pairs. No eigenvalues of large matrices, no
# linear program, no semidefinite program.
#
# In other words: every graph metric is a mixture of $\rho I$ and of the metrics $\rho I + \tau u u^\top$, and these are the
# **extreme points** of the set, the points that are not in the middle of two others. A linear function has its least value at
# one of them. For $K = 2$ and the whole trace, they are the arc of a half disc (notebook 6 stays with this picture):

# %% slideshow={"slide_type": "slide"}
radius = C / 2 - rho
arc = np.linspace(0, np.pi, 181)
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
draw_half_disc(ax, radius)
ax.plot(radius * np.cos(arc), radius * np.sin(arc), color="#0072B2", lw=3, label="extreme points")
two = radius * np.array([[np.cos(2.4), np.sin(2.4)], [np.cos(0.9), np.sin(0.9)]])
mixture = 0.4 * two[0] + 0.6 * two[1]
ax.plot(*two.T, "o--", color="#D55E00", label="two atoms, with weights 0.4 τ and 0.6 τ")
ax.plot(*mixture, "s", color="black", label="a metric inside: their mixture")
_ = ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=1, frameon=False)


# %%
def least_by_formula(G):
    """Return the minimum of ⟨G, V⟩ over graph metrics, in closed form."""
    size, diagonal = len(G), np.diag(G)
    prices = list(diagonal)
    for i in range(size):
        for j in range(i):
            if G[i, j] > 0:
                half = (G[i, i] - G[j, j]) / 2
                prices.append((G[i, i] + G[j, j]) / 2 - np.hypot(half, G[i, j]))
    return rho * diagonal.sum() + (C - size * rho) * min(0.0, min(prices))


for size in (3, 6, 10):
    random = rng.standard_normal((size, size))
    random = random + random.T - 2 * np.eye(size)
    begin = time.perf_counter()
    by_sdp = least_by_sdp(random)
    between = time.perf_counter()
    by_formula = least_by_formula(random)
    end = time.perf_counter()
    print(
        f"K = {size:2}: {by_sdp:9.4f} by CVXPY, {by_formula:9.4f} by the formula; "
        f"{1e3 * (between - begin):.0f} ms and {1e3 * (end - between):.2f} ms"
    )

# %% [markdown]
# In the package it is `problem.feasible_set.minimize_linear(G).value`. With it a certificate costs one gradient and
# $O(K^2)$ operations, so every run of every method records one in each step.
#
# **Exercise 3.** Write `certified_gap(problem, M)`: the gap of a metric by your own formula. Check it at the
# metric of the alternation, whose gap is above, and at the identity matrix. Is the lower bound that follows from it above
# or below that of `gda.certify`, and why?
#
# <details><summary>Hint</summary>
#
# $\langle G, M \rangle$ is `np.vdot(G, M)`, and `least_by_formula` is there already. The `gap` of `gda.certify` is the one of
# its own bound, the exponential one.
#
# </details>


# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 3: its bound is below that of `gda.certify`, which is exponential (exercise 1).
def certified_gap(problem, M):
    G = problem.objective.gradient(M)
    return np.vdot(G, M) - least_by_formula(G)


assert np.isclose(certified_gap(problem, result.metric), gap, rtol=1e-4)
for metric in (result.metric, np.eye(K)):
    linear = problem.objective.value(metric) - certified_gap(problem, metric)
    assert linear <= gda.certify(problem, metric).lower_bound + 1e-6
    assert linear <= gda.solve(problem, "certified").objective

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same optimum, by four ways
#
# Now that we can judge, let us compare. All of these methods solve the same problem:
#
# * `"sdp"` hands everything to a conic solver, with a semidefinite constraint and an exponential cone for each
#   pair of samples;
# * `"socp"` does the same, but uses factor width two: the semidefinite constraint of a graph metric is exactly one
#   second-order cone for each pair of features;
# * `"projected-gradient"` moves along the gradient and projects back onto the set, by eigen-decompositions;
# * `"certified"` is the package's own: it keeps the best vectors $u$ of the closed form, and finds the weights
#   of all of them together by Newton's method.

# %% [markdown]
# Conic solvers need a cone for each pair of samples, so we take every fifth sample of iris.

# %%
few = gda.MetricProblem(
    gda.GLR(scale_features(iris.features)[::5], iris.signal("versicolor")[::5]),
    gda.GraphMetrics(trace_bound=C, min_eigenvalue=rho),
)
runs = {}
print("method                objective  certified gap   time")
for method in ("sdp", "socp", "projected-gradient", "certified"):
    begin = time.perf_counter()
    run = gda.solve(few, method, tolerance=1e-7)
    seconds = time.perf_counter() - begin
    runs[method] = run
    shown = "below 1e-6" if run.relative_gap <= 1e-6 else "above 1e-6"
    print(f"{method:18} {run.objective:12.3f}     {shown}   {1e3 * seconds:.0f} ms")
metrics = [run.metric for run in runs.values()]
print(
    "largest difference of two metrics:",
    max(np.abs(M - metrics[-1]).max() for M in metrics).round(3),
)

# %% [markdown]
# The times are of one run on the machine that made this page, and the conic methods still had to load their
# solver. The difference grows with the data: the conic programs grow with the number of *pairs* of samples, the
# cost of a projection grows with $K^3$, and the closed form costs no more than the gradient. The page "Results" of
# the documentation has the measured times on whole data sets.
#
# ## Why the alternation stops where it stops
#
# The alternation is not in that list. It stopped at a metric with a gap; is that metric optimal and only its
# certificate weak, or is it not optimal? For two features we can see it. With $\operatorname{tr} M = C = 2$ all
# metrics are a half disc (notebook 1): $p = (M_{11} - M_{22})/2$ is one axis and the weight $w$ of the edge the
# other. We take two features of iris, start the alternation in several places, and draw its steps.

# %% slideshow={"slide_type": "slide"}
two = gda.MetricProblem(
    gda.GLR(scale_features(iris.features[:, [1, 2]]), iris.signal("setosa")),
    gda.GraphMetrics(trace_bound=2.0, min_eigenvalue=0.05),
)

optimum = gda.solve(two, "certified", tolerance=1e-9)

figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
draw_half_disc(ax, 1 - 0.05, height=lambda p, w: two.objective.log_value(metric_at(p, w, 2.0)))
ends = []
for (p, w), colour in zip(
    ((-0.5, 0.3), (0.0, 0.3), (0.5, 0.3)), ("#0072B2", "#009E73", "#D55E00"), strict=True
):
    start = metric_at(p, w, 2.0)
    path = [
        state.metric for state in gda.iterate(two, "alternating", solver="analytic", initial=start)
    ]
    ax.plot(
        *np.transpose([point_of(M) for M in path]),
        "o-",
        color=colour,
        markersize=4,
        label=f"ends {100 * (two.objective.value(path[-1]) / optimum.objective - 1):.0f} % above the optimum",
    )
    ends.append(path[-1])
ax.plot(*point_of(optimum.metric), "*", color="black", markersize=15, label="optimum")
_ = ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)

# %% [markdown]
# The grey lines are level lines of the objective. Steps go horizontally (a step of the diagonal) or vertically
# (a step of the edge). Each run ends somewhere else on the arc, where $\lambda_{\min} = \rho$, and only one point of
# the arc is optimal. The reason is the shape of the set:
#
# * On the arc all left-ends are $\rho$. A smaller diagonal entry would push its own left-end below $\rho$, and the
#   trace allows no larger one. So the diagonal is stuck.
# * The edge cannot grow for the same reason. It can shrink, but that is uphill.
# * To walk *along* the arc, diagonal and edge have to move together, and no block of the alternation does that.
#
# It is not a matter of shorter steps or of another order of the blocks. The programs themselves say so:

# %%
stuck = ends[-1]
aligned = gda.linalg.align(stuck)
slack = np.maximum(aligned.left_ends - 0.05, 0)
diagonal = gda.programs.Knapsack.diagonal(stuck, slack, 2.0)
others = np.array([1])
column = gda.programs.Knapsack.column(stuck, aligned.v, slack, 0, others, np.zeros(1))
print("left-ends:          ", aligned.left_ends)
print("diagonal:           ", np.diag(stuck))
print("its lower bounds:   ", diagonal.floor)
print("budget that is left:", round(diagonal.spare, 6))
print("edge and its bound: ", -stuck[0, 1].round(4), column.upper)
print(f"certified gap:       {100 * gda.certify(two, stuck).relative_gap:.0f} % of the objective")

# %% [markdown]
# The bounds of the diagonal are the diagonal itself, and the upper bound of the edge is the edge itself. And the
# certificate tells the truth: this metric is far from optimal.
#
# What helps is another $v$. The first eigenvector belongs to the *metric*; `gda.linalg.dual_alignment(G)` belongs
# to the *gradient*, and under it a linear program finds the best vertex of the whole set. The method `"joint"`
# with `align="gradient"` follows it.
#
# **Exercise 4.** Run `"joint"` with `align="gradient"` from the point where the alternation is stuck. How near to
# the optimum does it get? And `"certified"`, from the same point?
#
# <details><summary>Hint</summary>
#
# Both methods take the point where the alternation is stuck as `initial=`.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 4
joint = gda.solve(two, "joint", solver="analytic", align="gradient", initial=stuck)
assert joint.objective <= 1.01 * optimum.objective
certified = gda.solve(two, "certified", initial=stuck)
assert np.isclose(certified.objective, optimum.objective, rtol=1e-6)
assert two.objective.value(stuck) > 1.2 * optimum.objective

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Edges of both signs
#
# An edge of positive weight makes the distance small where its two features differ by the same amount. Two features that
# measure the same with *opposite* signs would need an edge of negative weight. *Signed*
# graphs have negative edges, too: $M_{ij} > 0$. A signed graph is *balanced* if each feature can have one of two
# colours, such that positive edges join features of the same colour, and negative edges features of different ones. For given
# colours, nothing new is needed: change the sign of the features of one colour, and the metric is a graph metric.
# But which of the $2^K$ colourings is the best?

# %% [markdown]
# In the proof of factor width two the sign of an entry only decided the sign in its vector, $a e_i - b e_j$ or
# $a e_i + b e_j$. So allow both: the sums of all these vectors are the *scaled diagonally dominant* matrices, and they
# form the convex hull of the metrics of all colourings. The closed form needs $|G_{ij}|$ in place of $G_{ij}$, and
# nothing else. If the optimum over the hull happens to be balanced, it is the best of all colourings, with a proof.

# %%
X, z = scale_features(iris.features), iris.signal("versicolor")
versicolor = gda.GLR(X, z)
sets = {
    "one colour": gda.GraphMetrics(C, rho),
    "by the signal": gda.SignedGraphMetrics.for_signal(X, z, trace_bound=C, min_eigenvalue=rho),
    "all colours": gda.SDDMetrics(C, rho),
}
objectives = {}
for name, feasible_set in sets.items():
    result = gda.solve(gda.MetricProblem(versicolor, feasible_set), tolerance=1e-8)
    objectives[name] = result.objective
    print(f"{name:14} {objectives[name]:9.2f}")
signed = gda.MetricProblem(versicolor, sets["all colours"])
best = gda.solve(signed, "balanced")
print(f"best balanced  {best.objective:9.2f}, nodes: {best.trace[-1].round}")
print("colours:", best.colors * best.colors[0])

# %% [markdown]
# The colours that look natural, by the correlation of each feature with the signal, can be worse than none. Where the
# optimum over the hull is not balanced, `"balanced"` decides the colours of single features one way and the other, and
# bounds each half by the hull of the colourings that are left (branch and bound).
#
# **Exercise 5.** Four features have eight colourings that differ. Solve all of them by `gda.SignedGraphMetrics`. Is
# the best of them the one above?
#
# <details><summary>Hint</summary>
#
# The colours $\sigma$ and $-\sigma$ are the same, so that the first colour can be fixed.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 5
values = [
    gda.solve(gda.MetricProblem(versicolor, gda.SignedGraphMetrics([1, a, b, c], C, rho))).objective
    for a in (1, -1)
    for b in (1, -1)
    for c in (1, -1)
]
assert np.isclose(min(values), best.objective, rtol=1e-5)
assert objectives["by the signal"] > objectives["one colour"]  # natural, and worse than none
same_colour = np.outer(best.colors, best.colors)  # 1 for two features of one colour, else -1
assert (same_colour * best.metric)[~np.eye(4, dtype=bool)].max() <= 1e-9
assert best.metric[same_colour < 0].max() > 1e-3  # opposite signs, and joined

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What to remember
#
# * A tangent of a convex function, minimised over the set, is a certificate for any metric from any method.
# * Over graph metrics that minimum has a closed form, because their signs give them factor width two.
# * All exact methods end at the same optimum; they differ in what they need.
# * With vectors of both signs the same closed form bounds all colourings of signed graphs at once.
# * The alternation can stop at metrics that are not optimal. How far, its certificate says.
