"""Problems written in CVXPY's language, in the terms of this package. Importing it loads CVXPY."""

from gdaopt.modelling.model import Model, read_model
from gdaopt.modelling.terms import SquaredDistance, distance_of, objective_of

__all__ = ["Model", "SquaredDistance", "distance_of", "objective_of", "read_model"]
