"""The study of solvers: recorded sequences of programs, and whole runs, by any solver."""
