"""`parcast.project` for programs of regions: the base ratio, its interval, and what it refuses."""

import json

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.laws.allowances import OWN
from parcast.projection.program import project
from parcast.projection.project import UNREPEATED_RATIO, moved_half_width

LOOP = {"name": "sweep", "kind": "loop", "iterations": "n", "iteration": "2 Mflop +- 20%"}
SETUP = {"name": "setup", "kind": "replicated", "iteration": "5 ms"}
SUM = {"name": "sum", "kind": "allreduce", "calls": 10, "volume": "8 B"}
SAVE = {"name": "save", "kind": "write", "volume": "1 kB * n"}
PROGRAM = Program(name="heat", phase=[{"law": "regions", "cycles": 3, "region": [LOOP, SUM]}])
WITH_ALL = Program(phase=[{"law": "regions", "region": [LOOP, SETUP, SUM, SAVE]}])
BASE = Machine(name="old", compute={"rate": "1 Gflop/s +- 30%"})  # it has no network
NETWORK = {"latency": "1 ms", "bandwidth": "100 MB/s"}
STORAGE = {"bandwidth": "10 MB/s", "latency": "2 ms", "servers": 2}
TARGET = Machine(name="new", network=NETWORK, storage=STORAGE)
P = np.array([1.0, 2.0, 4.0, 16.0])
N = 1000.0


def run_of(program, kappa, *, p=1.0, n=N):
    """A run on the target, whose loops take kappa times those of the base."""
    rate = {"compute.rate": 1e9 / kappa, "setup.iteration*": kappa}
    time = program.times(TARGET, {"p": np.array([p]), "n": n, "d": 2.0} | rate).time
    return {"p": [p], "n": [n], "time": time}


@pytest.mark.parametrize("program", [PROGRAM, WITH_ALL])
@pytest.mark.parametrize("at", [1.0, 4.0])
def test_one_run_scales_the_loops_and_the_rest_is_priced_on_the_target(program, at):
    known = run_of(program, 0.4, p=at)
    told = project(program, TARGET, P, base=BASE, known=known)
    true = program.times(
        TARGET, {"p": P, "n": N, "d": 2.0, "compute.rate": 2.5e9, "setup.iteration*": 0.4}
    )
    assert told.ratio == pytest.approx(0.4)
    assert told.time == pytest.approx(true.time)
    assert told.scaled == pytest.approx(true.compute)
    assert told.communication == pytest.approx(np.broadcast_to(true.communication, P.shape))
    assert told.io == pytest.approx(np.broadcast_to(true.io, P.shape))
    assert told.ratio_from == f"one run at p = {at:g}, n = 1000 on new"


def test_times_measured_on_the_base_are_scaled_by_the_published_ratio():
    # Times on one processor in the table of In et al.: T3E 17.04 s, SP 110.5 s.
    loop = {"kind": "loop", "iterations": 1105, "iteration": "0.1 s"}
    program = Program(phase=[{"law": "regions", "region": [loop]}])
    sp, t3e = Machine(name="SP"), Machine(name="T3E")
    told = project(program, t3e, [1, 2, 4, 8], base=sp, known={"p": [1], "time": [17.04]})
    assert told.ratio == pytest.approx(17.04 / 110.5)
    measured = np.array([17.04, 9.002, 4.544, 2.459])
    assert np.all((told.lower <= measured) & (measured <= told.upper))
    assert told.time == pytest.approx(measured, rel=0.14)  # loops alone: nothing is sent


def test_what_loops_have_in_common_with_the_run_is_not_uncertain():
    told = project(PROGRAM, TARGET, P, base=BASE, known=run_of(PROGRAM, 0.4))
    # One loop: its +- and that of the base's rate are the same at p = 1 and here.
    assert told.widths["+- of the descriptions"] == pytest.approx(0.0, abs=1e-12)
    assert told.widths["ratio"][0] == pytest.approx(UNREPEATED_RATIO)
    moves = told.widths["ratio moves with p"] * told.time / told.scaled  # of the loops
    assert moves == pytest.approx(moved_half_width(np.log(P), 0.4))
    wrong = told.widths["error of what is computed for the target"]
    assert wrong == pytest.approx(OWN * told.communication / told.time)
    together = np.sqrt(sum(width**2 for width in told.widths.values()))
    assert np.log(told.upper / told.time) == pytest.approx(together)
    later = project(PROGRAM, TARGET, [4], base=BASE, known=run_of(PROGRAM, 0.4, p=16.0))
    sent = told.communication[-1] / told.scaled[-1]  # what the ratio of that run rests on
    ratio = later.widths["ratio"] * later.time / later.scaled
    assert ratio == pytest.approx(np.hypot(UNREPEATED_RATIO, OWN * sent))
    slow = Machine(name="new", network=NETWORK | {"latency": "50 ms +- 50%"})
    told = project(PROGRAM, slow, [16], base=BASE, known=run_of(PROGRAM, 0.4))
    sent = told.communication[0] / told.time[0]
    assert told.widths["+- of the descriptions"][0] == pytest.approx(sent * np.log(1.5), rel=0.3)


def test_without_a_run_the_rates_tell_the_ratio_and_their_uncertainty():
    fast = TARGET.model_copy(update={"compute": type(BASE.compute)(rate="4 Gflop/s +- 10%")})
    told = project(PROGRAM, fast, [1], base=BASE, n=N)
    assert told.ratio == pytest.approx(0.25)
    assert told.time[0] == pytest.approx(3 * 1000 * 2e6 / 4e9)
    # Operations: the base's rate cancels; those of the loop and of the target remain.
    both = np.hypot(np.log(1.2), np.log(1.1))
    assert told.widths["+- of the descriptions"][0] == pytest.approx(both, rel=0.05)
    assert "No run on new: the ratio 0.25 is that of compute.rate of both machines" in " ".join(
        told.warnings
    )


def test_of_several_runs_the_smallest_count_and_the_nearest_size_is_taken():
    runs = [run_of(PROGRAM, k, n=n) for k, n in ((0.5, 500.0), (0.4, 1500.0))]
    known = {key: np.concatenate([run[key] for run in runs]) for key in ("p", "n", "time")}
    later = run_of(PROGRAM, 3.0, p=8.0)
    known = {key: np.concatenate([known[key], later[key]]) for key in known}
    told = project(PROGRAM, TARGET, [4], base=BASE, known=known, n=2000)
    assert told.ratio == pytest.approx(0.4)
    assert told.axes == {"n": 2000}
    assert told.warnings[-1].startswith("The ratio is known at p = 1, n = 1500 and assumed to be")
    with pytest.raises(ParameterError, match=r"known must be of one n, got 500\.0, 1500\.0"):
        project(PROGRAM, TARGET, [4], base=BASE, known=known)


SPMD = Program(phase=[{"law": "spmd", "compute": {"parallel": "8 s"}}])
COUNTED = Program(phase=[{"law": "counted", "count": [{"p": 1, "compute": "8 s"}]}])


@pytest.mark.parametrize(
    ("program", "options", "says"),
    [
        (PROGRAM, {"n": None}, "n must be given, as formulas of the program use it. Give the"),
        (PROGRAM, {"n": 0}, "n must be above 0, got 0. Give the problem size."),
        (PROGRAM, {"donors": {"p": [1], "time": [1.0]}}, "donors must be left out for a program "),
        (PROGRAM, {"p": 1.5}, "p must be whole numbers of at least 1, got 1.5."),
        (PROGRAM, {}, "compute.rate must be given in the description of new: the ratio of the"),
        (
            PROGRAM,
            {"known": {"p": [4], "time": [0.01]}},
            "known must take longer than its communication, got 0.01 s at p = 4, n = 1000",
        ),
        (
            Program(phase=[{"law": "regions", "region": [SUM]}]),
            {"known": {"p": [1], "time": [1.0]}},
            "program must have loops that take time on old, got 0 s at p = 1, n = 1000.",
        ),
        (COUNTED, {}, "base must be left out for a program described by counts. Leave base out."),
        (SPMD, {}, 'program must have one phase of law "counted", or phases of law "regions",'),
        (COUNTED, {"base": None}, "n must be left out for a program described by counts."),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(program, options, says):
    asked = {"base": BASE, "n": N, "p": [2]} | options
    with pytest.raises(ParameterError) as refusal:
        project(program, TARGET, asked.pop("p"), **asked)
    assert str(refusal.value).startswith(says)


PROGRAM_FILE = """\
name = "heat"
[[phase]]
law = "regions"
region = [
    { kind = "loop", iterations = "n", iteration = "2 ms" },
    { kind = "allreduce", volume = "8 B" },
]
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Files of a question, in the folder that is worked in."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "program.toml": PROGRAM_FILE,
        "base.toml": 'name = "old"\n[compute]\nrate = "1 Gflop/s"\n',
        "new.toml": 'name = "new"\nprocessors = 8\n[network]\nlatency = "1 ms"\n'
        'bandwidth = "100 MB/s"\n',
        "run.csv": "p,n,time_s\n1,1000,1.5\n",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.usefixtures("files")
def test_the_command_tells_the_files_by_their_content(parcast):
    said = parcast(
        *("project", "program.toml", "--base", "base.toml", "--target", "new.toml", "run.csv")
    )
    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines()[0] == "heat on new, from old, n = 1000"
    rows = [line.split()[0] for line in said.out.splitlines()[4:8]]
    assert rows == ["1", "2", "4", "8"]  # up to the processors of the machine
    base = ("--base", "base.toml", "-p", "4", "--json")
    answers = {
        parcast("project", *args, *base).out
        for args in (
            ("program.toml", "new.toml", "run.csv"),
            ("run.csv", "new.toml", "program.toml"),
            ("program.toml", "--target", "new.toml", "--known", "run.csv"),
        )
    }
    assert len(answers) == 1
    [row] = json.loads(answers.pop())["rows"]
    assert row["time_s"] == pytest.approx(1.5 / 4 + 2 * 2 * (1e-3 + 8e-8))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("program.toml", "--base", "base.toml"), 2, "needs one machine file; program.toml is a"),
        (("program.toml", "program.toml", "new.toml"), 2, "are both programs"),
        (
            ("program.toml", "new.toml", "run.csv", "--base", "base.toml", "-n", "1,2"),
            2,
            "-n must be one value here, got 1,2. Run project once for each.",
        ),
        (("program.toml", "new.toml", "no.csv", "--base", "base.toml"), 3, "must exist"),
    ],
)
def test_what_the_command_cannot_answer_is_refused(parcast, args, status, says):
    said = parcast("project", *args)
    assert (said.status, said.out) == (status, "")
    assert says in said.err
