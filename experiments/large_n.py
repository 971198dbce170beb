"""Measure learning from many samples: gradients, time, memory and gap of ``"certified"``.

Run ``python experiments/large_n.py`` from the top of a checkout (ten minutes on two quiet cores).
It prints the table and writes ``figures/large_n.md``. Each case runs in a process of its own. Times
are CPU times as multiples of one evaluation of value and gradient, so that a machine that is busy
changes little; the seconds are those of the clock. ``--only N`` measures one N and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gdaopt as gda
from gdaopt.io import write_text
from gdaopt.objectives.distances.pair_loss import PairLoss
from gdaopt.objectives.many_pairs import stratified
from gdaopt.processes import peak_memory
from gdaopt.scaling import auto_trace_bound
from gdaopt.validation import FloatArray

OUT = Path(__file__).parent.parent / "figures" / "large_n.md"
TOLERANCE = 1e-4
SHARE = 1e-3  # ρ as a share of C/K
MOST_EVALUATIONS = 25.0
MOST_OVERHEAD = 2.0
BLOCK = 2**16  # pairs of the bare evaluation: a block stays in cache


@dataclass(frozen=True)
class Case:
    """A problem, and how many of its samples to learn from."""

    objective: str
    n_samples: int
    n_features: int
    n_classes: int
    sample: int | None = None
    most_seconds: float | None = None
    most_memory: float | None = None


CASES = (
    *(Case("GLR", n, 30, 2) for n in (1000, 2000, 5000, 10_000, 20_000)),
    Case("GLR", 10_000, 30, 3),
    Case("GLR", 20_000, 50, 10, most_seconds=60.0),
    *(Case("MCML", n, 30, 3) for n in (1000, 5000, 10_000)),
    Case("GLR", 65_000, 20, 2, sample=16_000, most_seconds=60.0, most_memory=2e9),
)


def data(case: Case) -> tuple[FloatArray, Any]:
    """Return z-scores and classes: clouds apart in five features, one of which has a copy."""
    rng = np.random.default_rng(case.n_samples)
    y = np.sort(rng.integers(0, case.n_classes, case.n_samples))
    X = rng.standard_normal((case.n_samples, case.n_features))
    X[:, :5] += rng.standard_normal((case.n_classes, 5))[y]
    X[:, 5] = X[:, 0] + rng.standard_normal(case.n_samples) / 2
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def objective(case: Case, X: FloatArray, y: Any, weights: FloatArray | None = None) -> Any:
    """Return the objective of samples."""
    if case.objective == "MCML":
        return gda.MCML(X, y, sample_weight=weights)
    signal = np.eye(case.n_classes)[y] if case.n_classes > 2 else 2.0 * y - 1
    return gda.GLR(X, signal, sample_weight=weights)


def bare(X: FloatArray, y: Any, M: FloatArray) -> float:
    """Return the CPU seconds of the products of matrices, and of one exp a pair, of GLR."""
    total = 0.0
    for a in range(int(y.max()) + 1):
        first, second = X[y == a], X[y > a]
        if not len(second):
            continue
        columns = np.ascontiguousarray(second.T)
        step = max(1, BLOCK // len(second))
        product = np.empty((step, len(second)))
        weighted = np.empty((step, X.shape[1]))
        start = time.process_time()
        for row in range(0, len(first) - step + 1, step):
            np.matmul(first[row : row + step] @ M, columns, out=product)
            np.multiply(product, -0.01, out=product)
            np.exp(product, out=product)
            np.matmul(product, second, out=weighted)
        total += time.process_time() - start
    return total


def cpu(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return the CPU and the wall seconds of a call, and what it returns."""
    wall, start = time.perf_counter(), time.process_time()
    found = call()
    return time.process_time() - start, time.perf_counter() - wall, found


def measure(case: Case) -> dict[str, Any]:
    """Return what the tables say of a case; in a process of its own."""
    X, y = data(case)
    whole = objective(case, X, y)
    problem_of = whole
    if case.sample is not None:
        chosen, counts = stratified(y, case.sample)
        problem_of = objective(case, X[chosen], y[chosen], counts)
    size = case.n_features
    if case.objective == "MCML":
        C = problem_of.auto_trace_bound()
    else:
        C = auto_trace_bound(problem_of, gda.GraphMetrics(1.0))
    feasible_set = gda.GraphMetrics(C, SHARE * C / size)
    M = np.eye(size) * C / size

    def evaluated(of: Any) -> None:
        point = of.at(M)
        _ = point.value, point.gradient()

    one = min(cpu(lambda: evaluated(problem_of))[0] for _ in range(3))
    counted = [0]
    owner: Any = PairLoss if case.objective == "MCML" else gda.GLR
    original = owner.swept

    def swept(self: Any, metric: FloatArray) -> Any:
        counted[0] += len(self.pairs.features) == len(problem_of.pairs.features)
        return original(self, metric)

    owner.swept = swept
    problem = gda.MetricProblem(problem_of, feasible_set)
    seconds, wall, result = cpu(lambda: gda.solve(problem, "certified", tolerance=TOLERANCE))
    owner.swept = original
    found = {
        "pairs": problem_of.pairs.n_pairs,
        "gradients": counted[0] or None,
        "units": seconds / one,
        "one": one,
        "wall": wall,
        "gap": result.relative_gap,
        "status": result.status,
        "rounds": result.iterations,
    }
    if case.objective == "GLR":
        X, y = problem_of.pairs.features, problem_of.pairs.strata
        found["overhead"] = one / min(bare(X, y, M) for _ in range(2))
    if case.sample is not None:
        found["whole_seconds"] = cpu(lambda: evaluated(whole))[1]
    return {**found, "peak": peak_memory()}


def row(case: Case, found: dict[str, Any]) -> str:
    """Return a row of the table."""

    def judged(text: str, value: float, most: float | None) -> str:
        return text if most is None or value <= most else f"**{text}**"

    seconds = found["wall"] + found.get("whole_seconds", 0.0)
    most = MOST_EVALUATIONS if found["pairs"] > 2**22 else None
    overhead = found.get("overhead")
    name = case.objective if case.sample is None else f"{case.objective}, {case.sample} of them"
    cells = [
        name,
        str(case.n_samples),
        str(case.n_features),
        str(case.n_classes),
        f"{found['pairs'] / 1e6:.1f}",
        "" if found["gradients"] is None else str(found["gradients"]),
        judged(f"{found['units']:.1f}", found["units"], most),
        "" if overhead is None else judged(f"{overhead:.2f}", overhead, most and MOST_OVERHEAD),
        judged(f"{seconds:.1f}", seconds, case.most_seconds),
        judged(f"{found['peak'] / 1e6:.0f}", found["peak"], case.most_memory),
        f"{found['gap']:.1e}",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=int)
    parser.add_argument("--case")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(Case(**json.loads(options.case)))))
        return
    lines = [
        "# Learning from many samples",
        "",
        f'`"certified"` to a relative gap of {TOLERANCE:g} over graph metrics, trace bound "auto".',
        "*gradients*: evaluations of value and gradient over all samples.",
        "*time / evaluation*: CPU time of the whole run as a multiple of one of these, those of",
        f"samples included; at most {MOST_EVALUATIONS:g} are asked for from 4 million pairs on.",
        "*evaluation / bare*: one evaluation as a multiple of its products of matrices and one exp",
        f"a pair; at most {MOST_OVERHEAD:g}, also from there on. Bold: missed. The last row",
        "learns from a sample, and its seconds include one evaluation over all 65 000 samples.",
        "",
        f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}, "
        f"gdaopt {gda.__version__}.",
        "",
        "| objective | N | K | classes | pairs, millions | gradients | time / evaluation "
        "| evaluation / bare | seconds | peak, MB | gap |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    print("\n".join(lines), flush=True)
    for case in CASES:
        if options.only not in (None, case.n_samples):
            continue
        command = [sys.executable, __file__, "--case", json.dumps(asdict(case))]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        lines.append(row(case, json.loads(output)))
        print(lines[-1], flush=True)
    if options.only is None:
        write_text(OUT, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
