"""A set of sequences of linear programs, and the command that makes such sets."""
