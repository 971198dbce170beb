"""The master problem of fully corrective Frank–Wolfe: the best weights of the active set."""
