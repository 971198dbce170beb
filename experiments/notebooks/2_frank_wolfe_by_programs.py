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
# # 2. Frank–Wolfe, linear program by linear program, in CVXPY
#
# **What you will learn**
#
# * how one step of Frank–Wolfe becomes a linear program, and what its costs are;
# * to read the actual `cvxpy.Problem` of a step, and to solve it by any solver;
# * what `is_dpp` says, and why it makes the second program of a run cheaper than the first;
# * what the duals of the constraints mean, and to check that meaning;
# * to add a constraint of your own to every linear program of a run;
# * to write the loop yourself, first around `gda.iterate`, then from nothing.

# %% [markdown]
# You need the first notebook (what $v$ is), and to have seen a linear program before.

# %%
import time

import cvxpy as cp
import numpy as np
from matplotlib import pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features
from gdaopt.programs.base import observed

plt.rcParams["figure.dpi"] = 80
np.set_printoptions(precision=4, suppress=True)

iris = load("iris")
X = scale_features(iris.features)  # z-scores, divided by √(2K)
z = iris.signal("versicolor")  # +1 for this class, −1 for the others
rho, C = 1e-3, 4.0
problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=C, min_eigenvalue=rho))
K = problem.n_features

# %% [markdown] slideshow={"slide_type": "slide"}
# ## From a step to a linear program
#
# We minimise a convex function $Q(M)$ over the graph metrics: symmetric matrices with $M_{ij} \le 0$ for
# $i \ne j$, $\lambda_{\min}(M) \ge \rho$ and $\operatorname{tr} M \le C$. **Frank–Wolfe** replaces $Q$ by its
# tangent at the current metric, minimises the tangent over the set, and moves towards the minimiser:
#
# 1. $G = \nabla Q(M)$;
# 2. $V = \arg\min \langle G, V \rangle$ over the set, where $\langle G, V \rangle = \sum_{ij} G_{ij} V_{ij}$;
# 3. $M \leftarrow (1 - \gamma) M + \gamma V$ with a step $0 \le \gamma \le 1$.

# %% [markdown]
# Point 2 is a semidefinite program. With the vector $v$ of notebook 1, the semidefinite constraint is replaced
# by $V v \ge \rho v$, which is linear. So point 2 becomes a linear program. Let us write it down. Its variables
# are the $K$ diagonal entries and one weight $y_{ij} = -M_{ij} \ge 0$ for each edge.

# %%
start = problem.feasible_set.start(K)  # C/K on the diagonal, and a path of edges
G = problem.objective.gradient(start)
edges = problem.feasible_set.family.edges_of(K)

cost = np.concatenate([np.diag(G), -2 * G[edges]])
print("gradient:\n", G)
print("cost:", cost)

# %% [markdown]
# Why $-2 G_{ij}$? An edge stands in $M$ twice, in $M_{ij}$ and in $M_{ji}$, and it stands there with the
# opposite sign. So one unit more of $y_{ij}$ changes $\langle G, M \rangle$ by $-2 G_{ij}$. The functions
# `entries_of` and `matrix_of` go from a matrix to this vector and back.

# %%
entries = gda.linalg.entries_of(start)
assert np.isclose(cost @ entries, np.vdot(G, start))
print("entries:", entries)
print("back:\n", gda.linalg.matrix_of(entries, K))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The program on paper
#
# `gda.programs.at` writes the program of a step at a metric down, in the matrix $M$ itself: $G$ and $v$ are its
# parameters, and it is yours to print, to change and to solve by any solver.

# %%
on_paper = gda.programs.at(problem, start)
print(on_paper)
for solver in ("CLARABEL", "SCIPY"):
    print(f"{solver:9} {on_paper.solve(solver):.3f}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The program that the package solves
#
# A run solves hundreds of these, so it does not write each on paper.
# `gda.programs` has this program, and two smaller ones, in the diagonal alone and in one column
# alone. The paper's method, `"alternating"`, takes turns between the small ones; the method `"joint"` moves all
# entries. A *polytope* has the data, and a *program* has the solver and the CVXPY problem.

# %%
v = gda.linalg.align(start).v
polytope = gda.programs.JointPolytope(
    v, rho, C, edges, floor=np.zeros(len(edges[0])), current=gda.linalg.entries_of(start)
)
program = gda.programs.Program("HIGHS")
backend = gda.backends.cvxpy.CvxpyBackend("HIGHS", {})
compiled = backend.compiled(polytope.arrays(cost)).problem
print(compiled)

# %% [markdown]
# This is the `cvxpy.Problem` itself, not a description of it. The names in it are parameters, and their
# values are set before each solve. All programs are written in this one form: x between bounds, and rows, which
# are `sums` of `coefficients`, a parameter, times the entries of x that are their `factors`. The first row is the
# trace bound. The others are $M v \ge \rho v$, divided by $-v_i$, so that their coefficients are the ratios
# $v_j / v_i$. The program is solved in units in which its numbers are about 1, because the tolerances of solvers
# are absolute.

# %%
solution = program.solve(cost, polytope)
vertex = gda.linalg.matrix_of(solution.point, K)
print(f"{solution.solver} says {solution.status}, least value {solution.value:.4f}")
print("vertex:\n", vertex)
print("its eigenvalues:", np.linalg.eigvalsh(vertex))

# %% [markdown]
# The vertex is a metric: its smallest eigenvalue is $\rho$. And it is a simple one: two features and the edge
# between them, or one feature alone. One vertex more is $\rho I$ itself, the best one if no feature is worth its trace. That
# is so for every cost (the polytope is a simplex), and it means that
# this program has a *closed form*, a search for the best of some numbers. The package has it as the solver
# `"analytic"`. Every other solver has to find the same value, and can be taken in its place:

# %%
for solver in ("HIGHS", "CLARABEL", "SCIPY", "highspy", "analytic"):
    other = gda.programs.Program(solver).solve(cost, polytope)
    print(f"{solver:9} {other.value:.3f}")

dear = np.concatenate([np.ones(K), np.zeros(len(edges[0]))])  # each feature costs 1, no edge gains
no_feature = gda.linalg.matrix_of(program.solve(dear, polytope).point, K)
assert np.allclose(no_feature, rho * np.eye(K))

# %% [markdown]
# `"highspy"` is HiGHS without CVXPY in between. Your installation has more solvers: `gda.solvers()` tries all
# that CVXPY knows, and says which work.
#
# ### `is_dpp`: compile once, solve often
#
# CVXPY translates a problem into the arrays that a solver takes. That takes milliseconds, and a run solves
# hundreds of programs that differ in their numbers only. If the numbers are parameters, and the parameters
# enter by the rules that CVXPY calls *disciplined parametrised programming* (DPP), the translation is done
# once and reused.

# %%
print("is_dpp:", compiled.is_dpp())
fresh = gda.programs.Program("HIGHS")
for call in ("first", "second"):
    begin = time.perf_counter()
    fresh.solve(cost * (1.0 if call == "first" else 1.1), polytope)
    print(f"{call} solve: {1e3 * (time.perf_counter() - begin):.1f} ms")

# %% [markdown] slideshow={"slide_type": "slide"}
# ### Duals: at which rate does a larger trace bound pay?
#
# A linear program comes with a *dual value* for each constraint: the rate at which the least value falls
# when the constraint is loosened. `solution.duals` has them by the names that the constraints have on paper, where
# `floors` stands for the signs, in the units of the cost. We check the dual of `budget` by solving the program again with $C + 0.1$.

# %%
for name, dual in solution.duals.items():
    print(f"{name:7}", dual.round(2))

more = gda.programs.JointPolytope(v, rho, C + 0.1, edges, floor=np.zeros(len(edges[0])))
fall = (solution.value - program.solve(cost, more).value) / 0.1
print(f"\nmeasured: the value falls by {fall:.4f} for each unit of C")
print(f"dual:     {solution.duals['budget']:.4f}")

# %% [markdown]
# So the dual of the budget says how steep the objective is along the best direction. The duals of `rows` say
# what it would be worth to lower $\rho$ for one row alone. The dual of a row that is not tight is zero.
#
# **Exercise 1.** Write the program yourself: a symmetric CVXPY variable, $M_{ij} \le 0$, $M v \ge \rho v$,
# $\operatorname{tr} M \le C$, and the cost $\langle G, M \rangle$. Compare its value with the one above.
#
# <details><summary>Hint</summary>
#
# $\langle G, M \rangle$ is `cp.sum(cp.multiply(G, M))`, and the off-diagonals of `M` are `M - cp.diag(cp.diag(M))`.
#
# </details>
#
# **Exercise 2.** What is the value of the *semidefinite* program, over all graph metrics? It is
# `problem.feasible_set.minimize_linear(G).value`. Why can it not be larger than the value of the linear program?
#
# <details><summary>Hint</summary>
#
# Which of the two sets contains the other one?
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 1
M = cp.Variable((K, K), symmetric=True)
own = cp.Problem(
    cp.Minimize(cp.sum(cp.multiply(G, M))),
    [M - cp.diag(cp.diag(M)) <= 0, M @ v >= rho * v, cp.trace(M) <= C],
)
own.solve("HIGHS")
assert np.isclose(own.value, solution.value, rtol=1e-6)

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 2: the polytope of v lies in the set of graph metrics, so that a minimum over the
# set cannot be above a minimum over the polytope.
exact = problem.feasible_set.minimize_linear(G)
assert exact.value <= solution.value + 1e-9 * abs(solution.value)
assert np.isclose(np.vdot(G, exact.vertex), exact.value)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A run, step by step
#
# `gda.iterate` yields the state after each step. The loop around it is yours: look at anything, stop
# whenever you like. Here we watch the smallest and the largest left-end under the $v$ of the step, and
# $\lambda_{\min}$.

# %%
print("step  moved      objective  gap of step  left-ends           λ_min")
for state in gda.iterate(problem, "alternating", solver="HIGHS"):
    if state.iteration % 6 == 1:
        ends = gda.linalg.left_ends(state.metric, state.v)
        smallest = np.linalg.eigvalsh(state.metric)[0]
        print(
            f"{state.iteration:4}  {state.phase:9}  {state.objective:9.2f}  {state.block_gap:11.2f}"
            f"  {ends.min():.4f} to {ends.max():.4f}    {smallest:.4f}"
        )

# %% [markdown]
# The objective falls, and neither a left-end nor $\lambda_{\min}$ falls below $\rho = 0.001$. In the end
# $\lambda_{\min}$ is at $\rho$: there is no room left. A `break` in the loop would end the run at any step.
#
# `gda.solve` runs the same loop to its end, and keeps a row for each step in `result.trace`.

# %%
result = gda.solve(problem, "alternating", solver="HIGHS")
print(f"{result.status}: {result.message.split(':')[0]}")
print(result.trace.to_pandas()[["iteration", "phase", "objective", "lambda_min"]].tail(4).round(3))

# %% slideshow={"slide_type": "slide"}
figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
_ = gda.plotting.convergence({"alternating": result}, ax=axes[0], x="iterations", y="objective")
_ = gda.plotting.left_ends(result, ax=axes[1])

# %% [markdown]
# The dashed line on the left is a lower bound of the optimum, which notebook 3 explains. The run stops above
# the optimum, because no step of one block improves the objective; a step of all entries would.
#
# ## A constraint of your own in every linear program
#
# Suppose that features 0 and 1 must not be connected, and that these two features together may have at most a
# quarter of the trace. Constraints are written in CVXPY, and go with the problem.
# Every program of the run gets them.

# %%
constrained = gda.MetricProblem(
    problem.objective,
    problem.feasible_set,
    constraints=lambda M: [M[0, 1] == 0, M[0, 0] + M[1, 1] <= C / 4],
)
programs = []
with observed(lambda cost, polytope, _metric, _vertex: programs.append((cost, polytope))):
    limited = gda.solve(constrained, "joint", solver="HIGHS", max_iterations=30)
print("M_01 =", abs(limited.metric[0, 1].round(8)))
print("M_00 + M_11 =", (limited.metric[0, 0] + limited.metric[1, 1]).round(4))
print(f"objective {limited.objective:.2f}; without the constraints", end=" ")
print(f"{gda.solve(problem, 'joint', solver='HIGHS', max_iterations=30).objective:.2f}")

# %% [markdown]
# The function that looked on has kept all linear programs of the run. Here is the first one, as it was given to
# CVXPY, with the two constraints as its last rows.

# %%
(first_cost, first_polytope), program = programs[0], gda.programs.Program("HIGHS")
print(backend.compiled(first_polytope.arrays(first_cost)).problem)

# %%
answer = program.solve(first_cost, first_polytope)
for name, dual in answer.duals.items():
    print(f"{name}: {np.round(dual, 3)}")

# %% [markdown]
# **Exercise 3.** Which of your two constraints costs anything? Answer by the duals of the optimum: solve
# `constrained` with the method `"certified"`, and look at `result.multipliers`. Check the answer by solving it
# again with the bound of the second constraint raised by 0.01.
#
# <details><summary>Hint</summary>
#
# A multiplier of 0 means that nothing changes when the bound moves.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 3: a multiplier is the rate at which the least objective falls when the bound rises. The
# budget's is positive: the budget costs something. The forbidden edge has the multiplier 0: the optimum would not have this edge
# anyway, and without the first constraint the least objective is the same.
optimum = gda.solve(constrained, "certified", tolerance=1e-9)
forbidden, budget = optimum.multipliers
assert abs(forbidden) <= 1e-6 * budget


def least_objective(constraints):
    """Return the optimum with other constraints."""
    changed = gda.MetricProblem(problem.objective, problem.feasible_set, constraints=constraints)
    return gda.solve(changed, "certified", tolerance=1e-9).objective


raised = least_objective(lambda M: [M[0, 1] == 0, M[0, 0] + M[1, 1] <= C / 4 + 0.01])
assert abs((optimum.objective - raised) / 0.01 - budget) <= 0.05 * budget
alone = least_objective(lambda M: [M[0, 0] + M[1, 1] <= C / 4])
assert abs(optimum.objective - alone) <= 1e-8 * alone

# %% [markdown]
# Careful with multipliers of *equalities* at the edge of the set: many prove the bound. An edge that the optimum does not
# want has multiplier 0, and a whole interval of other multipliers is as valid. The package returns the smallest one, which is the rate of change
# to the side that the set allows (notebook 4, exercise 5).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Frank–Wolfe from nothing
#
# To end with, the whole method in a few lines of your own: gradient, first eigenvector, linear program,
# line search. Only the program comes from the package.


# %%
def frank_wolfe(problem, steps):
    """Return the metrics of a Frank–Wolfe run whose linear programs follow the first eigenvector."""
    glr, metrics = problem.objective, [problem.feasible_set.start(problem.n_features)]
    program = gda.programs.Program("HIGHS")
    for _ in range(steps):
        M = metrics[-1]
        G = glr.gradient(M)
        v = gda.linalg.align(M).v
        cost = np.concatenate([np.diag(G), -2 * G[edges]])
        current = gda.linalg.entries_of(M)
        polytope = gda.programs.JointPolytope(v, rho, C, edges, np.zeros(len(edges[0])), current)
        towards = gda.linalg.matrix_of(program.solve(cost, polytope).point, K)
        sizes = np.linspace(0, 1, 101)
        values = [glr.value(M + size * (towards - M)) for size in sizes]
        metrics.append(M + sizes[np.argmin(values)] * (towards - M))
    return metrics


metrics = frank_wolfe(problem, 25)
values = [problem.objective.value(M) for M in metrics]
best = gda.solve(problem, "certified").objective
print(f"start {values[0]:.2f}, after 25 steps {values[-1]:.2f}, optimum {best:.2f}")

# %% slideshow={"slide_type": "slide"}
figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.semilogy([value / best - 1 for value in values], "o-", color="#0072B2", markersize=4)
ax.set(xlabel="step", ylabel="objective above the optimum, as a share")
ax.grid(alpha=0.3)

# %% [markdown]
# **Exercise 4.** All metrics of your run are graph metrics, although nothing was projected. Assert it.
#
# <details><summary>Hint</summary>
#
# `M in problem.feasible_set` checks all conditions at once.
#
# </details>
#
# **Exercise 5.** Replace the first eigenvector by `gda.linalg.dual_alignment(G)`, a vector that is made for the
# gradient and not for the metric. Under it the current metric may be outside of the polytope, and yet all
# iterates stay in the set. Why? And where does the run end, after 200 steps? What ends it?
#
# <details><summary>Hint</summary>
#
# Two facts suffice: each vertex is in the set, and the set is convex. For the end, look at the sizes of the steps.
#
# </details>

# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 4
for M in metrics:
    assert M in problem.feasible_set
    assert np.linalg.eigvalsh(M)[0] >= rho - 1e-9


# %% tags=["hide-cell"] jupyter={"source_hidden": true}
# Solution of exercise 5: every vertex is in the set, whatever v is; the set is convex, and so a step from a
# member towards a vertex ends in the set. Under this v the program finds the best vertex of the whole set
# ("Proposition: dual alignment" on the page "Theory"), so that only the line search can end the run above the optimum.
# Its grid does: the run stops where the smallest size, 1/100, is too long. With smaller sizes it goes on.
def by_the_gradient(problem, steps, sizes):
    glr, M = problem.objective, problem.feasible_set.start(K)
    for _ in range(steps):
        G = glr.gradient(M)
        v = gda.linalg.dual_alignment(G)
        cost = np.concatenate([np.diag(G), -2 * G[edges]])
        polytope = gda.programs.JointPolytope(v, rho, C, edges, np.zeros(len(edges[0])))
        towards = gda.linalg.matrix_of(polytope.minimize(cost), K)
        assert np.isclose(np.vdot(G, towards), problem.feasible_set.minimize_linear(G).value)
        M = M + sizes[np.argmin([glr.value(M + s * (towards - M)) for s in sizes])] * (towards - M)
        assert M in problem.feasible_set
    return M


by_grid = by_the_gradient(problem, 200, np.linspace(0, 1, 101))
by_small_sizes = by_the_gradient(problem, 200, np.append(0, np.geomspace(1e-4, 1, 100)))
assert np.array_equal(by_grid, by_the_gradient(problem, 201, np.linspace(0, 1, 101)))
assert problem.objective.value(by_grid) > 1.001 * best
assert problem.objective.value(by_small_sizes) < 1.001 * best

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What to remember
#
# * A step is a linear program in $K$ diagonal entries and the edge weights, with costs $G_{ii}$ and $-2 G_{ij}$.
# * The program is an ordinary `cvxpy.Problem`: print it, solve it by another solver, read its duals.
# * Parameters that enter by the DPP rules make the second solve cheap.
# * Whatever $v$ is, a step towards a vertex stays in the set.
