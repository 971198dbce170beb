"""Metric learners of the literature, to compare with."""
