"""The logic of experiments and commands."""
