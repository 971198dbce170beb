"""What commands refuse before any work: in one sentence, with the value, and nothing is written."""

from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

import gdaopt as gda
from gdaopt.cli.app import app
from gdaopt.cli.output import IN_USE
from gdaopt.studies import study_directory
from gdaopt.studies.study_directory import sole_writer
from tests.cli.cases import ANALYTIC, content, run, undrawn

BOTH = [  # of the problem: gdaopt learn and gdaopt compare
    (("irsi",), "unknown data set (and no file of this name): 'irsi'; did you mean"),
    (("absent.csv",), "cannot read absent.csv"),
    (("absent.svm.gz",), "absent.svm.gz cannot be read: "),
    (("file.libsvm",), "file.libsvm cannot be read: "),
    *(
        ((source, f"--{option}", value), f"--{option} {value} goes with a table, which {source}")
        for source in ("iris", "seeds", "absent.svmlight")
        for option, value in {
            **dict.fromkeys(("label", "drop", "keep", "impute", "missing", "table"), "mean"),
            **dict.fromkeys(("decimal", "thousands"), ","),
            "encoding": "utf-8",
            "skip-rows": "2",
        }.items()
    ),
    (("absent.csv", "--decimal", ";"), "decimal must be a point or a comma, got ';'"),
    (
        ("marks.csv",),
        "'1,234' in row 1, which may be two numbers. What helps: pass --decimal \".\" if",
    ),
    *(
        ((name, "--data-dir", "x"), f" goes with page_blocks, pb300, seeds, not with {name}; leave")
        for name in ("iris", "leaves.csv", "absent.svm")
    ),
    (("seeds", "--data-dir", "absent"), "data_dir 'absent' has none of seeds_dataset.txt, "),
    (("iris", "--positive", "sitosa"), "unknown class 'sitosa'; did you mean 'setosa'?"),
    (("iris", "--metrics", "grpah"), "unknown kind of metrics 'grpah'; did you mean 'graph'?"),
    (("iris", "--scale", "zscor"), "unknown scale 'zscor'; did you mean 'zscore'?"),
    (("iris", "--trace-bound", "aut"), "unknown trace bound (or a number): 'aut'; did you"),
    (("iris", "--trace-bound", "nan"), "trace_bound must be finite, got nan"),
    (("iris", "--trace-bound", 1, "--min-eigenvalue", 1), "raise trace_bound or lower min"),
    (("iris", "--min-eigenvalue", -1), "min_eigenvalue must be at least 0, got -1.0"),
    (("iris", "--tolerance", -1), "tolerance must be at least 0, got -1.0"),
    (("iris", "--time-limit", 0), "time_limit must be above 0, got 0.0"),
    *((("iris", "--out", out), f"cannot write to {out}: ") for out in ("file", "file/deep/er")),
    (("iris", "--edges", "absent.csv"), "cannot read the edges of"),
    (("iris", "--edges", "unknown.csv"), "did you mean 'petal length (cm)'"),
    (("iris", "--edges", "three.csv"), "line 1 of three.csv has 3 names, not 2"),
    (("iris", "--edges", "loop.csv"), "with itself"),
    (("iris", "--edges", "file", "--metrics", "diagonal"), "edges go with the sets graph, signed"),
]
FILES = {
    "file": "",
    "marks.csv": "a\tkind\n1,234\tx\n900\ty\n",
    "unknown.csv": "petal length,petal width (cm)\n",
    "three.csv": "a,b,c\n",
    "loop.csv": "petal width (cm),petal width (cm)\n",
}
LEARN = [
    (("iris", "--method", "joint", "--solver", "HIGSH"), "unknown solver 'HIGSH'; did you mean"),
    (("iris", "--method", "sdp", "--solver", "glpkk"), "with that cone: CLARABEL"),
    (("iris", "--method", "alternate"), "unknown method 'alternate'; did you mean 'altern"),
    (("iris", "--method", "joint", "--edge-floor", 9), "edge_floor 9 leaves no budget"),
    (("iris", "--edge-floor", 1), "'certified': 'edge_floor'"),
    (("iris", "--metrics", "diagonal", *ANALYTIC), "method 'alternating' needs a set of GraphM"),
    (
        ("iris", "--method", "certified", "--solver", "HIGHS"),
        "leave the solver out, or choose a method that solves a program",
    ),
    (("iris", "--method", "frank-wolfe", "--solver", "HIGHS"), "solver"),
    (
        ("wine", "--positive", "class_1", "--scale", "none", "--trace-bound", 1300),
        "multiply the features by about",
    ),
    (("iris", "--search", "--trace-bound", 3), "leave --trace-bound out, or --search"),
    (("iris", "--search", "--one-against-rest"), "leave --one-against-rest out, or --search"),
    (("iris", "--metrics", "signed"), "pass --one-against-rest, or --metrics sdd"),
    (("iris", "--objective", "mclm"), "unknown objective 'mclm'; did you mean 'mcml'?"),
    (("iris", "--max-samples", "few"), "--max-samples must be a whole number or all, got 'few'"),
    (("iris", "--out", "."), "no study.json of gdaopt; pass --force to replace an earlier run"),
]
COMPARE = [
    (("iris", "--methods", "certifed"), "unknown method 'certifed'; did you mean 'cert"),
    (("iris", "--methods", ""), "no methods are given; name at least one"),
    (("iris", "--methods", "joint,:variant=away"), "method ':variant=away' has no name; write"),
    (("iris", "--methods", "frank-wolfe:away"), "'away' of method 'frank-wolfe:away' does not"),
    (("iris", "--methods", "joint:tolerance="), "'tolerance=' of method 'joint:tolerance=' does"),
    (("iris", "--methods", "joint:tolerance=1:tolerance=2"), "gives option 'tolerance' twice"),
    (("iris", "--methods", "frank-wolfe:varient=away"), "did you mean 'variant'?"),
    (("iris", "--methods", "frank-wolfe:variant=awya"), "did you mean 'away'?"),
    (("iris", "--methods", "joint:solver_opts=3"), "'solver_opts' of method 'joint:solver"),
    (("iris", "--methods", "joint:tolerance=x"), "tolerance must be a number, got 'x'"),
    (("iris", "--methods", "certified:edge_floor=1"), "'certified': 'edge_floor'"),
    (("iris", "--solvers", "HIGSH"), "unknown solver 'HIGSH'; did you mean 'HIGHS'?"),
    (("iris", "--solvers", "HIGHS,HIGSH"), "unknown solver 'HIGSH'; did you mean 'HIGHS'?"),
    (
        ("iris", "--methods", "certified", "--solvers", "HIGHS"),
        "solver 'HIGHS': none of the methods takes a solver; add one that does",
    ),
    (("iris", "--trace-every", -1), "trace_every must be at least 0, got -1"),
    (
        ("iris", "--metrics", "definite", "--methods", "certified,alternating"),
        "method 'alternating' needs a set of GraphMetrics",
    ),
    (
        ("iris", "--metrics", "sdd", "--methods", "joint:edge_floor=0.01,certified"),
        "edge_floor is for GraphMetrics, and the set is SDDMetrics",
    ),
    (("iris", "--jobs", 0), "jobs must be at least 1, got 0"),
    (("iris", "--out", "."), "already holds files, but no study.json"),
]
BENCH = [
    (("--data", "whine"), "unknown data set"),
    (("--data", ","), "no data are given"),
    (("--data", "random", "--sizes", 3), "--sizes must be at least 5, got 3"),
    (("--sizes", "a"), "--sizes must be numbers separated by commas, got 'a'"),
    (("--tolerances", "1e-6;1e-4"), "--tolerances must be numbers separated by commas"),
    (("--solvers", "highs,highs py"), "unknown solver"),
]
EXPORT = [
    (("--program", 99), "holds 6 programs, 0 to 5"),
    (("--format", "lp"), "unknown format 'lp'"),
]


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        *((name, *case) for name in ("learn", "compare") for case in BOTH),
        *(("learn", *case) for case in LEARN),
        *(("compare", *case) for case in COMPARE),
        *(("bench", *case) for case in BENCH),
        *(("export", *case) for case in EXPORT),
    ],
)
def test_nothing_is_written(
    command: str,
    arguments: tuple[object, ...],
    message: str,
    recorded: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    if command == "bench":
        arguments = ("--data", "iris", "--solvers", "highspy", *arguments)
    elif command == "export":
        arguments = (recorded, *arguments)
    error = run(command, *arguments, code=2)
    assert error.startswith("error: ")
    assert message in error
    assert content(tmp_path) == {name: text.encode() for name, text in FILES.items()}


@pytest.mark.parametrize("more", [("learn",), ("learn", "--force"), ("compare",), ("plot",)])
def test_another_command_that_is_running(
    more: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_directory, "_PATIENCE", 0.01)
    out, (command, *options) = tmp_path / "out", more
    problem = gda.MetricProblem(gda.GLR(np.eye(3)[:, :2], [1, -1, -1]), gda.GraphMetrics(2.0))
    gda.solve(problem).save(tmp_path / "saved")
    source = tmp_path / "saved.npz" if command == "plot" else "iris"
    with sole_writer(out), undrawn():
        before = content(out)
        error = run(command, source, *options, "--out", out, code=IN_USE)
        assert content(out) == before
        assert error.startswith("error: process ")
        assert f" is writing to {out}; wait until it has ended, or choose another --out" in error
    assert content(out) == {}


@pytest.mark.parametrize("command", ["learn", "apply", "compare", "plot", "bench", "export"])
def test_help_names_every_option(command: str) -> None:
    output = run(command, "--help")
    declared = get_command(app).commands[command].params  # type: ignore[attr-defined]
    options = {name for parameter in declared for name in parameter.opts if name[0] == "-"}
    assert {"--out"} < options <= set(output.replace(",", " ").split())
    if command in ("learn", "compare"):
        for name in (*gda.datasets.BUILTIN, "UCI"):
            assert name in output
