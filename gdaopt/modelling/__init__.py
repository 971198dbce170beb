"""Problems written in CVXPY's language, in the terms of this package. Importing it loads CVXPY."""

from gdaopt.modelling.model import Model, ModelReader, read_model
from gdaopt.modelling.terms import ObjectiveReader, SquaredDistance

__all__ = ["Model", "ModelReader", "ObjectiveReader", "SquaredDistance", "read_model"]
