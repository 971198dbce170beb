"""The comparison of solvers: the programs of a run are recorded, solved again, and judged.

The command ``gdaopt bench`` makes a study of it, or writes a set of sequences for others; ``gdaopt
export`` writes single programs.
"""

from gdaopt.bench.recorded import RecordedProgram, load_programs, recording
from gdaopt.bench.replayed import replay
from gdaopt.bench.sequences import Sequence

__all__ = [
    "RecordedProgram",
    "Sequence",
    "load_programs",
    "recording",
    "replay",
]
