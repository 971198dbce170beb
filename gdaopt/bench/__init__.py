"""The comparison of solvers: the programs of a run are recorded, solved again, and judged.

The command ``gdaopt bench`` makes a study of it; ``gdaopt export`` writes single programs for other
software.
"""

from gdaopt.bench.recorded import RecordedProgram, load_programs, recording
from gdaopt.bench.replayed import replay
from gdaopt.bench.sequences import ProgramSequence

__all__ = [
    "ProgramSequence",
    "RecordedProgram",
    "load_programs",
    "recording",
    "replay",
]
