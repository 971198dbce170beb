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
# # 6. The half disc: two features, where everything can be seen
#
# **What you will learn**
#
# * what the set of graph metrics of two features looks like, and what its extreme points are;
# * what a triangle of aligned discs leaves out of it, and why a run changes its triangle;
# * what a projection costs that a linear program does not, written out by hand;
# * the paths that six methods take through the same set, to the same point or not.

# %% [markdown]
# You need notebook 1 (what $v$ is). Everything here is computed; nothing is a sketch.

# %%
import cvxpy as cp
import numpy as np
from half_disc import corners_of, draw_half_disc, metric_at, point_of
from matplotlib import pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

plt.rcParams["figure.dpi"] = 80
np.set_printoptions(precision=4, suppress=True)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The set
#
# A metric of two features has three entries. The objective of these notebooks falls when the metric grows, so its
# optimum spends the whole trace bound, $M_{11} + M_{22} = C$. Two numbers remain: half the difference of the
# diagonal entries, $p = (M_{11} - M_{22}) / 2$, and the weight of the edge, $w = -M_{12} \ge 0$. The eigenvalues are
#
# $$ \lambda = \frac C2 \pm \sqrt{p^2 + w^2} , $$
#
# so that $\lambda_{\min} \ge \rho$ says $p^2 + w^2 \le (C/2 - \rho)^2$: a **half disc**.

# %%
C, rho = 2.0, 0.1
radius = C / 2 - rho
graphs = gda.GraphMetrics(trace_bound=C, min_eigenvalue=rho)

rng = np.random.default_rng(0)
for p, w in rng.uniform((-1, 0), (1, 1), (1000, 2)):
    in_the_set = np.linalg.eigvalsh(metric_at(p, w, C))[0] >= rho
    assert in_the_set == (np.hypot(p, w) <= radius)
print(f"radius C/2 − ρ = {radius}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Extreme points
#
# An **extreme point** of a convex set is a point that is not in the middle of two other points. The extreme points of the
# half disc are the points of the arc, with its two ends: no other point of the flat side, and no point inside.

# %% [markdown]
# A point of the arc has the eigenvalue $\rho$. Without $\rho I$ it is a matrix of rank one: $M = \rho I + \tau\, u u^\top$ with
# $\tau = C - 2\rho$ and a unit vector $u = (a, -b)$, $a, b \ge 0$. (The whole set, with all traces up to $C$, has one
# extreme point more: $\rho I$.) This is what an *atom* is in this package, and with $K$ features it is the same: the extreme
# points are $\rho I$ and $\rho I + \tau u u^\top$, where $u$ has *two* entries at most that are not 0.

# %%
for angle in np.linspace(0, np.pi / 2, 5):
    u = np.array([np.cos(angle), -np.sin(angle)])
    M = rho * np.eye(2) + (C - 2 * rho) * np.outer(u, u)
    p, w = point_of(M)
    print(
        f"u = ({u[0]:6.3f}, {u[1]:6.3f})   p = {p:6.3f}   w = {w:5.3f}   radius {np.hypot(p, w):.3f}"
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# A linear function has its least value over a convex set at an extreme point. So *minimise a linear function over the
# set* means *find the best atom*: over the arc, a formula.

# %% [markdown]
# **Exercise 1.** Let the costs be such that the whole trace is spent: $G_{11}$ or $G_{22}$ is negative. The best point
# of the arc for the costs $\langle G, M \rangle$ is where $-(G_{11} - G_{22},\, -2 G_{12})$ points to, if
# that is above the flat side. Which point is the best otherwise? Write it as a formula, and compare it with the `vertex` of
# `graphs.minimize_linear(G)`.
#
# <details><summary>Hint</summary>
#
# Write $\langle G, M \rangle$ in $p$ and $w$: it is a constant plus a linear function of the two.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 1: ⟨G, M⟩ is (G_11 + G_22) C/2 + (G_11 - G_22) p - 2 G_12 w. Where the edge should be negative, w
# is 0 and p goes to the side that is cheaper.
for _ in range(100):
    G = rng.standard_normal((2, 2))
    G = (G + G.T) / 2 - 2 * np.eye(2)
    assert np.diag(G).min() < 0  # the whole trace is spent
    down = -np.array([G[0, 0] - G[1, 1], -2 * G[0, 1]])
    if down[1] < 0:
        down = np.array([np.sign(down[0]), 0.0])
    p, w = radius * down / np.linalg.norm(down)
    assert np.allclose(metric_at(p, w, C), graphs.minimize_linear(G).vertex)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A problem
#
# The flowers of iris by two features, sepal width and petal length: *setosa* against the rest.

# %%
iris = load("iris")
chosen = [1, 2]
X = scale_features(iris.features[:, chosen])
problem = gda.MetricProblem(gda.GLR(X, iris.signal("setosa")), graphs)
optimum = gda.solve(problem, "certified", tolerance=1e-9)
print(f"optimum {optimum.objective:.3f} at p = {point_of(optimum.metric)[0]:.3f}, ", end="")
print(f"w = {point_of(optimum.metric)[1]:.3f}, trace {np.trace(optimum.metric):.3f}")


# %% slideshow={"slide_type": "slide"}
def draw_set(ax, ratios=(), rho=rho, C=C):
    """Draw the half disc with the levels of the objective, and the triangles of v with these ratios."""

    def height(p, w):
        return problem.objective.log_value(metric_at(p, w, C))

    draw_half_disc(ax, C / 2 - rho, ratios, height)


figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
draw_set(ax, [1.0])
_ = ax.plot(*point_of(optimum.metric), "*", color="#D55E00", markersize=14)

# %% [markdown] slideshow={"slide_type": "slide"}
# The grey lines are levels of the objective, and the star is the optimum: on the arc, with an edge. The blue triangle is
# what $v = (1, 1)$ allows, $M v \ge \rho v$: the ends of the flat side, and the one point of the arc whose first eigenvector is
# $v$. The optimum is outside of it. *No* step within this triangle reaches the star.

# %% [markdown]
# In a live notebook the next cell moves the triangle: change $v_2 / v_1$ until it touches the star. Without `ipywidgets`
# (`pip install ipywidgets`) it draws three positions instead.


# %% tags=["skip-execution"]
def picture(ratio, rho, C):
    """Draw the set for these numbers."""
    draw_set(plt.subplots(figsize=(7, 4), layout="constrained")[1], [ratio], rho, C)


try:
    from ipywidgets import FloatSlider, interact
except ImportError:
    for ratio in (0.4, 1.0, 2.5):
        picture(ratio, rho, C)
else:
    _ = interact(
        picture,
        ratio=FloatSlider(min=0.3, max=3.0, step=0.05, value=1.0),
        rho=FloatSlider(min=0.0, max=0.5, step=0.05, value=rho),
        C=FloatSlider(min=1.5, max=4.0, step=0.25, value=C),
    )

# %% slideshow={"slide_type": "slide"}
figure, axes = plt.subplots(1, 3, figsize=(13, 3), layout="constrained", sharey=True)
for ax, ratio in zip(axes, (0.4, 1.0, 2.5), strict=True):
    draw_set(ax, [ratio])
    ax.plot(*point_of(optimum.metric), "*", color="#D55E00", markersize=12)
    ax.set_title(f"$v_2 / v_1$ = {ratio:g}")

# %% [markdown]
# **Exercise 2.** For which $v$ does the triangle touch the star? Compute it from the optimal metric, and check that the least
# value of $\langle G, \cdot \rangle$ over that triangle is that over the whole half disc, for the gradient $G$ at the optimum.
#
# <details><summary>Hint</summary>
#
# At the optimum $\lambda_{\min} = \rho$. Which $v$ has all of its left-ends there?
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 2: for the first eigenvector of the optimal metric.
v = gda.linalg.align(optimum.metric).v
assert np.allclose(optimum.metric @ v, rho * v)
G = problem.objective.gradient(optimum.metric)
over_triangle = gda.programs.at(problem, optimum.metric).solve("CLARABEL")
assert np.isclose(over_triangle, graphs.minimize_linear(G).value, rtol=1e-6)
p, w = point_of(optimum.metric)
assert np.isclose(np.hypot(p, w), radius)
ratio = v[1] / v[0]
assert np.allclose([p, w], corners_of(ratio, radius)[2], atol=1e-6)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What a projection is
#
# A projected gradient step goes down the gradient and leaves the set; then it takes the nearest point of the set. For this
# small set the projection is a convex problem of its own, which CVXPY can solve.

# %%
start = problem.central_metric()
G = problem.objective.gradient(start)
outside = start - 1e-4 * G
print(
    "after the step: eigenvalues", np.linalg.eigvalsh(outside), "trace", np.trace(outside).round(4)
)

M = cp.Variable((2, 2), symmetric=True)
nearest = cp.Problem(cp.Minimize(cp.norm(M - outside, "fro")), graphs.of(M))
nearest.solve(solver="CLARABEL")
print("projected:", np.linalg.eigvalsh(M.value), "trace", np.trace(M.value).round(4))

# %% [markdown]
# Here only the trace is too large. The projection on "the trace is at most $C$" alone subtracts a multiple of $I$. Its result
# keeps the other two conditions, so that it is the projection on the whole set. A point that breaks *two* conditions is
# another matter. Each condition has a projection in closed form; take one after the other.


# %%
def raise_eigenvalues(matrix):
    """Return the nearest matrix whose eigenvalues are at least ρ."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, rho)) @ vectors.T


def cut_trace(matrix):
    """Return the nearest matrix whose trace is at most C."""
    return matrix - max(np.trace(matrix) - C, 0.0) / 2 * np.eye(2)


assert np.allclose(cut_trace(outside), M.value, atol=1e-6)

far = np.array([[2.6, -0.9], [-0.9, -0.1]])  # trace 2.5, and an eigenvalue below 0
first_raised = cut_trace(raise_eigenvalues(far))
first_cut = raise_eigenvalues(cut_trace(far))
for name, matrix in (
    ("eigenvalues, then trace", first_raised),
    ("trace, then eigenvalues", first_cut),
):
    smallest = np.linalg.eigvalsh(matrix)[0]
    print(f"{name}: smallest eigenvalue {smallest:.3f} (ρ = {rho}), trace {np.trace(matrix):.3f}")
assert np.linalg.eigvalsh(first_raised)[0] < 0
assert np.trace(first_cut) > C + 0.1

# %% [markdown] slideshow={"slide_type": "slide"}
# The second projection breaks what the first one has mended: both results are outside of the set. What many programs do in
# place of the projection is to *clip*: compute the eigenvalues, raise those that are too small to $\rho$, set the
# entries of the wrong sign to 0, and *scale* the trace back. That ends in the set. But to scale is not to project on the
# trace condition, and the result is not the nearest point.


# %%
def clipped(matrix):
    """Return the matrix with eigenvalues raised to ρ, no positive off-diagonal, and trace at most C."""
    raised = raise_eigenvalues(matrix)
    raised[0, 1] = raised[1, 0] = min(raised[0, 1], 0.0)
    beyond = raised - rho * np.eye(2)
    return rho * np.eye(2) + beyond * min(1.0, (C - 2 * rho) / np.trace(beyond))


def descend(bring_back, steps=400):
    """Return the metrics of steps down the gradient, each brought back into the set."""
    metrics = [start]
    for _ in range(steps):
        moved = metrics[-1] - 1e-4 * problem.objective.gradient(metrics[-1])
        metrics.append(bring_back(moved))
    return metrics


print("distance of the projection:", np.linalg.norm(M.value - outside).round(4))
print("distance of the clipped one:", np.linalg.norm(clipped(outside) - outside).round(4))
assert problem.violations(graphs.made_feasible(clipped(outside))) == ()

# %% [markdown]
# **Exercise 3.** Descend by clipping: 400 steps of 1e-4 times the gradient, from `start`, each brought back into the set by
# `clipped`. The function `descend` above does that. Where does it end: at the optimum, or above it? Do the same with
# projections. By how much does each end above the optimum?
#
# <details><summary>Hint</summary>
#
# `graphs.projected(matrix).nearest` is the projection.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 3: projections lead to the optimum, clipping does not.
maps = {"clipping": clipped, "projections": lambda matrix: graphs.projected(matrix).nearest}
ends = {
    name: problem.objective.value(descend(bring_back)[-1]) / optimum.objective - 1
    for name, bring_back in maps.items()
}
print({name: f"{100 * max(above, 0):.1f} % above" for name, above in ends.items()})
assert ends["clipping"] > 10 * ends["projections"]

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Six paths
#
# The same problem by six methods, all from the start (the middle of the flat side). A point is a metric after a step.

# %% slideshow={"slide_type": "slide"}
METHODS = {
    "conic solver (sdp)": ("sdp", {}),
    "projected gradients": ("projected-gradient", {}),
    "clipping": (None, {}),
    "alternating": ("alternating", {"solver": "analytic"}),
    "joint": ("joint", {"solver": "analytic"}),
    "certified": ("certified", {}),
}
figure, axes = plt.subplots(2, 3, figsize=(13, 6), layout="constrained", sharex=True, sharey=True)
above = {}
for (name, (method, options)), ax in zip(METHODS.items(), axes.flat, strict=True):
    if method is None:
        metrics = descend(clipped)
    else:
        steps = gda.iterate(problem, method, initial=start, **options)
        metrics = [state.metric for state in steps]
    above[name] = max(problem.objective.value(metrics[-1]) / optimum.objective - 1, 0.0)
    draw_set(ax)
    ax.plot(*np.transpose([point_of(M) for M in metrics]), "o-", color="#0072B2", ms=3, lw=1)
    ax.plot(*point_of(optimum.metric), "*", color="#D55E00", markersize=12)
    ax.set_title(f"{name}: {100 * above[name]:.2f} % above, steps: {len(metrics) - 1}")
    ax.label_outer()

# %% [markdown] slideshow={"slide_type": "slide"}
# * A *conic solver* answers at once: there is no path, and no step of it is a metric that one could use.
# * *Projected gradients* walk through the half disc to the arc, and along it to the star.
# * *Clipping* stops where clipping undoes the step, inside of the half disc: no projection would stop there.
# * The *alternation* moves the diagonal (level in the picture) and the edge (upright) in turn, under a new $v$ each time. Near the
#   arc neither of the two has room, and it creeps.
# * *Joint* steps go towards a corner of the triangle. They stop where the best corner is the point itself.
# * *Certified* adds atoms, which are points of the arc, and finds the best mixture of them.

# %% [markdown]
# **Exercise 4.** Take the last metric of the joint run. Solve the linear program under its own first eigenvector, and compare
# what it gains with what the exact oracle gains from there. Which points of the arc does the program know, and which the oracle?
#
# <details><summary>Hint</summary>
#
# The gain is $\langle G, M \rangle$ less the least value, by `gda.programs.at(problem, last)` and by `graphs.minimize_linear(G)`.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 4: the triangle has the point itself and the two ends of the flat side for corners. The program sees
# next to nothing to gain there; the oracle knows the whole arc, and sees the way to the star.
steps = list(gda.iterate(problem, "joint", solver="analytic", initial=start))
last = steps[-1].metric
G = problem.objective.gradient(last)
here = np.vdot(G, last)
by_program = here - gda.programs.at(problem, last).solve("CLARABEL")
by_oracle = here - graphs.minimize_linear(G).value
print(f"gain by the program {by_program:.2f}, by the oracle {by_oracle:.2f}")
assert by_oracle > 0
assert by_program < 0.1 * by_oracle

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What to remember
#
# * The extreme points of the set are $\rho I$ and the arc, and each point of the arc is an atom of rank one beside $\rho I$.
# * The discs under a fixed $v$ are a triangle in the half disc: linear, safe, and smaller.
# * A projection is the nearest point under all conditions at once. Projections on one condition after the other may leave the
#   set, and clipping is another map, which leads elsewhere.
# * The best vertex of the whole set is a formula, and so is the proof that a point is optimal.
