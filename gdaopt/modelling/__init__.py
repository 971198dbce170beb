"""Problems written in CVXPY's language, in the terms of this package."""
