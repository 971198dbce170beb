"""Linear constraints of the user's own: their rows, and column generation over a set with rows.

`rows` reads them from CVXPY, once. `presolve` decides what they mean together, and finds a metric
that keeps them all or proves that there is none. A linear program over the set with rows
(`column_generation`) has the multipliers that make a certificate tight ("Proposition: certificate
with linear constraints"). `model` reads a whole problem in CVXPY's language.
"""
