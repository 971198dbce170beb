"""The master problem of fully corrective Frank–Wolfe: the best weights of the active set.

A metric is kept as a base and weighted atoms (`ActiveSet`). Whenever atoms join,
`solve_master_problem` finds the best weights of them all ("Algorithm: fully corrective
Frank–Wolfe"); where every unit vector is an atom, `refined` also moves the atoms themselves
("Algorithm: Burer–Monteiro refinement").
"""
