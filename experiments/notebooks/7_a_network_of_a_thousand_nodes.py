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
# # 7. A network of a thousand nodes
#
# **What you will learn**
#
# * why the theorem of aligned discs is about signs, and not about metrics;
# * how a matrix inequality becomes a second-order cone for each edge, and when that loses nothing;
# * how to write a model of a thousand nodes that never makes an n×n matrix;
# * how one vector proves an optimum from both sides.

# %% [markdown]
# You need notebook 1 (what $v$ is). The proofs are on the page *Matrix inequalities with balanced signs*.

# %%
import cvxpy as cp
import numpy as np
from matplotlib import pyplot as plt
from scipy.sparse import csr_array
from scipy.sparse.linalg import eigsh

import gdaopt as gda

plt.rcParams["figure.dpi"] = 80
np.set_printoptions(precision=4, suppress=True)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A small network
#
# A network has links with weights $w_e \ge 0$, and each node $i$ is tied to the ground by $g_i \ge 0$. Its grounded Laplacian is
#
# $$ F(w) = \sum_{e = (i, j)} w_e (e_i - e_j)(e_i - e_j)^\top + \operatorname{diag}(g) . $$
#
# The larger its smallest eigenvalue, the faster the network forgets a disturbance. Which weights are best, if all of them
# together may cost no more than a budget? In CVXPY this is a matrix inequality.


# %%
def grid(side):
    """Return the links of a square grid."""
    nodes = np.arange(side**2).reshape(side, side)
    across = np.column_stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()])
    return np.concatenate([across, np.column_stack([nodes[:-1].ravel(), nodes[1:].ravel()])])


edges, n = grid(4), 16
ground = np.random.default_rng(0).random(n)
differences = np.eye(n)[edges[:, 0]] - np.eye(n)[edges[:, 1]]
w, least = cp.Variable(len(edges), nonneg=True), cp.Variable()
F = differences.T @ cp.diag(w) @ differences + np.diag(ground) - least * np.eye(n)
problem = cp.Problem(cp.Maximize(least), [F >> 0, cp.sum(w) <= len(edges)])
by_sdp = problem.solve(solver="CLARABEL")
print(f"largest smallest eigenvalue: {by_sdp:.4f}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Signs
#
# The off-diagonals of $F$ are $-w_e \le 0$: we know all signs before we know the weights. That is all that the theorem of
# aligned discs needs. $F \succeq 0$ exactly if some $v > 0$ has $F v \ge 0$.

# %%
print(gda.lmi.structure(problem))

# %% [markdown]
# **Exercise 1.** The same holds if some entries are positive, but *each cycle has an even number* of them. Take a triangle
# with the diagonal $t$ and off-diagonals $\pm 1$. For which signs is the inequality exact? Check all eight by `structure`, and
# say what the least $t$ is.
#
# <details><summary>Hint</summary>
#
# $D F D$ with $D = \operatorname{diag}(\pm 1)$ has the same eigenvalues. Which signs can $D$ turn to $-1$?
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 1: with an even number of positive entries; the least t is 2 then, and 1 in the other cases.
for signs in np.ndindex(2, 2, 2):
    a, b, c = (2.0 * sign - 1 for sign in signs)
    t = cp.Variable()
    matrix = np.array([[0, a, b], [a, 0, c], [b, c, 0]]) + t * np.eye(3)
    triangle = cp.Problem(cp.Minimize(t), [matrix >> 0])
    is_even = sum(signs) % 2 == 0
    assert gda.lmi.structure(triangle).is_exact == is_even
    assert np.isclose(triangle.solve(solver="CLARABEL"), 2.0 if is_even else 1.0, atol=1e-5)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A cone for each edge
#
# Share each diagonal entry among the links at its node. Link $e = (i, j)$ gets $p_e$ of $F_{ii}$ and $q_e$ of $F_{jj}$. If
# each $2 \times 2$ block is positive semidefinite, $p_e q_e \ge F_e^2$, and no node gives away more than it has, then $F$ is a
# sum of such blocks. For balanced signs the converse holds: nothing is lost. `method="discs"` does that.

# %%
by_cones = problem.solve(method="discs")
print(f"by cones {by_cones:.4f}, by the semidefinite program {by_sdp:.4f}")
assert np.isclose(by_cones, by_sdp, atol=1e-6)

# %% [markdown]
# **Exercise 2.** Write the cones yourself, for the same network: variables $p$ and $q$ of the links, a second-order cone for
# each link, and a row for each node.
#
# <details><summary>Hint</summary>
#
# $p q \ge f^2$ with $p, q \ge 0$ says that the vector $(p - q,\, 2 f)$ is no longer than $p + q$: `cp.SOC`.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 2: the optimum is the same.
p, q = cp.Variable(len(edges)), cp.Variable(len(edges))
first, second = np.eye(n)[:, edges[:, 0]], np.eye(n)[:, edges[:, 1]]
diagonal = (first + second) @ w + ground - least
constraints = [
    cp.SOC(p + q, cp.vstack([p - q, -2 * w]), axis=0),
    first @ p + second @ q <= diagonal,
    cp.sum(w) <= len(edges),
]
own = cp.Problem(cp.Maximize(least), constraints)
assert np.isclose(own.solve(solver="CLARABEL"), by_sdp, atol=1e-6)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A thousand nodes
#
# `F >> 0` has $n^2$ rows in CVXPY: a million for a thousand nodes. `gda.lmi.sdd` takes the diagonal and the links alone.

# %%
side = 32
edges, n = grid(side), side**2
ground = np.random.default_rng(0).random(n)
numbers = np.tile(np.arange(len(edges)), 2)
sums = csr_array((np.ones(2 * len(edges)), (edges.T.ravel(), numbers)), shape=(n, len(edges)))
w, least = cp.Variable(len(edges), nonneg=True), cp.Variable()
cones = gda.lmi.sdd(sums @ w + ground - least, edges, -w)
large = cp.Problem(cp.Maximize(least), [*cones, cp.sum(w) <= len(edges)])
large.solve(solver="CLARABEL")
print(f"{n} nodes, {len(edges)} links: largest smallest eigenvalue {least.value:.4f}")

# %% slideshow={"slide_type": "slide"}
figure, ax = plt.subplots(figsize=(7, 7), layout="constrained")
for (i, j), weight in zip(edges, w.value, strict=True):
    ax.plot([i % side, j % side], [i // side, j // side], color="0.3", lw=2 * max(weight, 0.0))
ax.scatter(np.arange(n) % side, np.arange(n) // side, s=30 * ground, color="#0072B2", zorder=2)
ax.set_aspect("equal")
ax.set_axis_off()

# %% [markdown]
# Links are as wide as their weights, nodes as large as their ties to the ground. Most links get something. Those that
# join a weakly tied node to a well tied one get the most: more than three times as much as links of two nodes that are tied alike.

# %%
unlike = np.abs(ground[edges[:, 0]] - ground[edges[:, 1]])
joining, alike = w.value[unlike > 0.75].mean(), w.value[unlike < 0.25].mean()
print(f"mean weight of links between unlike nodes {joining:.2f}, between like ones {alike:.2f}")
assert joining > 3 * alike

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One vector proves it
#
# Let $v$ be the first eigenvector of the Laplacian that was found. Its left-ends are all $\lambda_{\min}$, so that they
# prove what these weights reach: the optimum is not *below* it. And for any $d \ne 0$ the optimum is not *above*
# $\max_w d^\top F(w)\, d / d^\top d$, over all $w \ge 0$ that keep the budget. This is a linear program whose optimum can be
# read off.

# %% [markdown]
# **Exercise 3.** Bound the optimum from above by the multipliers $\mu$ of the nodes' rows, which are
# `cones[-1].dual_value`: take $d = \sqrt \mu$. Bound it from below by an eigenvalue. How far apart are the two?
#
# <details><summary>Hint</summary>
#
# $d^\top F(w)\, d = \sum_e w_e (d_i - d_j)^2 + \sum_i g_i d_i^2$ for these weights. Where does all of the budget go?
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 3: the budget goes to links with the largest (d_i - d_j)². At the optimum all links that have weight are
# such links.
d = np.sqrt(np.maximum(cones[-1].dual_value, 0.0))
squares = (d[edges[:, 0]] - d[edges[:, 1]]) ** 2
assert np.allclose(squares[w.value > 0.01], squares.max(), rtol=1e-3)
most = len(edges) * squares.max()
above = (most + ground @ d**2) / (d @ d)
weights = np.maximum(w.value, 0.0)
weights *= min(1.0, len(edges) / weights.sum())
rows, columns = np.r_[edges.T.ravel(), np.arange(n)], np.r_[edges[:, ::-1].T.ravel(), np.arange(n)]
entries = np.r_[-weights, -weights, sums @ weights + ground]
laplacian = csr_array((entries, (rows, columns))).tocsc()
below = eigsh(laplacian, 1, sigma=0, v0=np.ones(n))[0][0]
print(f"gap below 1e-5: {above - below < 1e-5}")
assert -1e-9 <= above - below < 1e-5

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What to remember
#
# * The theorem is about signs: each entry in a cycle has one, and every cycle has an even number of positive ones.
# * Then a matrix inequality is a second-order cone for each edge, and a model of a thousand nodes has thousands of rows.
# * One vector bounds the optimum from both sides.
# * Max-cut, theta functions and sums of squares seldom have such signs: take a semidefinite solver for those.
