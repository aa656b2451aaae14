"""`parcast init`: every file it writes is read and predicted, and says what is not known."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, laws
from parcast.mpi.find import available_cores
from parcast.prediction.predict import predict
from parcast.templates import command, machine
from parcast.templates.document import keys_of
from parcast.templates.machine import PRESETS
from tests.slurm import MEMORY

NO_LAW_OF_THE_MACHINE = '[[phase]]\nlaw = "amdahl"\nt1 = "80 s"\nserial = 0.05\n'


@pytest.fixture
def init(parcast, tmp_path, monkeypatch):
    """Run `parcast init` in a new folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *args, stdin=b"": parcast("init", *args, stdin=stdin)


@pytest.fixture
def on_a_terminal(monkeypatch):
    """Let it ask."""
    monkeypatch.setattr(command, "is_a_terminal", lambda _: True)


def placeholders(prediction):
    """Names that the first warning says to replace."""
    found = re.search(r"Values marked \? are placeholders: (.*)\. Replace", prediction.warnings[0])
    return set(re.split(", | and ", found[1])) if found else set()


@pytest.mark.parametrize("law", laws())
def test_a_program_of_each_law_is_predicted_as_written(init, law):
    assert init("machine", "--preset", "slurm-node").status == 0
    said = init("program", "--law", law)
    assert said.status == 0, said.err
    found = predict("program.toml", "machine.toml", p=1, n=100)
    assert found.time[0] > 0
    named = said.err.partition("?: ")[2].strip().rstrip(".").split(", ")
    own = [*Program(**read("program.toml")).placeholders()]
    assert [x.replace(" 1", "") for x in own] == [*filter(None, named)]
    expected = {*(x.removeprefix("phase 1.") for x in own), "compute.rate"}
    assert placeholders(found) & expected


def text_of(path):
    return Path(path).read_text(encoding="utf-8")


def read(path):
    return tomllib.loads(text_of(path))


@pytest.mark.usefixtures("plugin")
def test_a_law_of_a_plugin_has_its_keys(init, parcast):
    name = next(x for x, kind in laws().items() if not kind.__module__.startswith("parcast."))
    assert init("program", "--law", name).status == 0
    assert init("machine", "--preset", "cloud").status == 0
    assert parcast("predict", "program.toml", "machine.toml", "-p", "1", "-n", "8").status == 0


@pytest.mark.parametrize("preset", command.PRESETS)
def test_a_preset_has_no_figure_that_is_taken_for_measured(init, file, preset):
    assert set(command.PRESETS) == set(PRESETS)
    assert init("machine", "--preset", preset).status == 0
    made = Machine(**read("machine.toml"))
    program = file(NO_LAW_OF_THE_MACHINE, "app.toml")
    found = predict(program, "machine.toml", p=[1, 64])
    assert placeholders(found) >= {"compute.rate", "network.bandwidth", "storage.bandwidth"}
    certain = {name: x.text for name, x in made.amounts() if not x.is_placeholder}
    assert certain in ({}, {"price.processor_hour": "1"})  # an hour is an hour


@pytest.mark.parametrize("kind", [("machine", "--from-here"), ("program", "--law", "spmd")])
def test_every_key_stands_there_once_with_its_meaning(init, kind):
    assert init(*kind, "-o", "x.toml").status == 0
    lines = text_of("x.toml").splitlines()
    whole = Machine if kind[0] == "machine" else laws()["spmd"]
    for key in keys_of(whole):
        keys = [i for i, x in enumerate(lines) if re.match(rf"(# )?{key.place[-1]} = ", x)]
        assert keys, key.name
    text = " ".join(x.removeprefix("# ") for x in lines)
    for key in keys_of(whole):
        assert key.field.description in text


def test_a_key_without_comment_mark_is_valid(init):
    init("machine", "--from-here")
    text = text_of("machine.toml")
    every = re.sub(r"^# (\w+ = (?!\.\.\.))", r"\1", text, flags=re.M)
    once = re.sub(r"^(contention|node_hour) =.*\n", "", every, flags=re.M)  # one of two
    made = Machine(**tomllib.loads(once))
    certain = [name for name, x in made.amounts() if not x.is_placeholder]
    assert certain in ([], ["storage.cache"])
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(text.replace("# servers", "servers"))


def test_this_machine_is_what_the_system_tells(init, file):
    said = init("machine", "--from-here", "--name", 'mine "?')
    assert "It has no placeholders." in said.err
    assert "Still to be given, where a program needs them: compute.rate, network.b" in said.err
    made = Machine(**read("machine.toml"))
    cores = len(available_cores())
    assert (made.name, made.processors, made.node.processors) == ('mine "?', cores, cores)
    text = text_of("machine.toml")
    assert '# rate = "1 Gflop/s ?"  # parcast calibrate measures it' in text
    assert '# contention = "1% ?"\n' in text
    program = file(NO_LAW_OF_THE_MACHINE, "app.toml")
    assert placeholders(predict(program, "machine.toml", p=1)) == set()


def test_a_real_slurm_is_described(slurm, init, monkeypatch):
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    said = init("machine", "--from-slurm")
    assert said.status == 0, said.err
    made = Machine(**read("machine.toml"))
    cores = made.node.processors
    assert made.name == "test, partition test"
    assert made.processors == 2 * cores > 0
    text = " ".join(text_of("machine.toml").replace("\n#", "").split())
    assert f"2 nodes of {cores} core{'s' * (cores > 1)} and {MEMORY * 2**20 / 1e9:.1f} GB" in text
    assert "Longest job of the partition: 1:00:00" in text
    said = init("machine", "--from-slurm", "--partition", "tset", "-o", "-")
    assert said.status == 2
    assert "--partition must be test, got tset" in said.err


NODES = """\
a1|slow*|idle|2|8|2|64000|(null)|1-00:00:00
a2|slow*|down*|2|8|2|64000|(null)|1-00:00:00
g1|gpu|mixed|1|4|1|32000|gpu:4|infinite
g2|gpu|mixed|1|8|1|32000|gpu:4|infinite
not a node
"""


@pytest.fixture
def sinfo(file, monkeypatch):
    """Let sinfo list some nodes."""

    def listing(text):
        file("#!/bin/sh\ncat <<'END'\n" + text + "END\n", "bin/sinfo").chmod(0o755)
        folder = file("#!/bin/sh\nexit 1\n", "bin/scontrol")
        folder.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder.parent}:/usr/bin:/bin")

    return listing


def test_nodes_that_are_down_are_left_out_and_unequal_ones_are_named(init, sinfo):
    sinfo(NODES)
    init("machine", "--from-slurm", "-o", "slow.toml")
    made = Machine(**read("slow.toml"))
    assert (made.name, made.processors, made.node.processors) == ("slow", 16, 16)
    text = text_of("slow.toml")
    assert "Left out, as they are down or drained: a2." in text
    assert "Hardware threads are not counted" in text
    init("machine", "--from-slurm", "--partition", "gpu", "-o", "gpu.toml")
    made = Machine(**read("gpu.toml"))
    assert (made.processors, made.node.processors) == (12, None)
    text = text_of("gpu.toml")
    assert "gpu:4" in text
    assert "The nodes differ" in text


@pytest.mark.parametrize(
    ("listed", "status", "says"),
    [
        ("", 2, "--partition must have nodes, got none"),
        (NODES.replace("*|", "|"), 2, "--partition must be slow or gpu, got none"),
        (NODES.replace("|idle|", "|drained|"), 4, "All 2 nodes of the partition slow are down"),
    ],
)
def test_a_slurm_that_does_not_tell_is_refused(init, sinfo, listed, status, says):
    sinfo(listed)
    said = init("machine", "--from-slurm")
    assert said.status == status
    assert says in said.err


def test_without_slurm_it_says_so(init, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert shutil.which("sinfo") is None
    said = init("machine", "--from-slurm")
    assert said.status == 4
    assert "there is no Slurm on this machine" in said.err


@pytest.mark.usefixtures("on_a_terminal")
def test_no_file_is_overwritten_unless_asked(init):
    init("program", "--law", "amdahl")
    before = text_of("program.toml")
    assert init("program", "--law", "spmd", stdin="n\n").status == 2
    assert text_of("program.toml") == before
    assert init("program", "--law", "spmd", stdin="y\n").status == 0
    assert text_of("program.toml") != before
    assert init("program", "--law", "amdahl", "--force").status == 0
    assert text_of("program.toml") == before


@pytest.mark.usefixtures("on_a_terminal")
def test_it_asks_on_a_terminal_until_an_answer_is_valid(init):
    said = init("program", stdin="amdahl\n80\n80 s +- 5%\n\n")
    assert said.status == 0, said.err
    assert "phase.t1 must be a time" in said.err
    [phase] = read("program.toml")["phase"]
    assert phase == {"law": "amdahl", "t1": "80 s +- 5%", "serial": "1% ?"}
    said = init("machine", stdin="workstation\n3 Gflop/s\n\n\n\n")
    assert said.status == 0, said.err
    made = Machine(**read("machine.toml"))
    assert made.compute.rate.text == "3 Gflop/s"
    assert made.network.latency.is_placeholder


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (
            ("machine",),
            "A kind of machine must be given, one of:\n  --preset slurm-node   A node of",
        ),
        (("machine", "--from-here", "--from-slurm"), "Give one of --preset,"),
        (("machine", "--from-here", "--partition", "x"), "--partition goes with --from-slurm."),
        (("machine", "--preset", "laptop"), "--preset must be slurm-node, workstation or cloud"),
        (("machine", "--from-here", "-o", "no/x.toml"), "must be in a folder that exists"),
        (
            ("program",),
            "--law must be given, one of:\n  spmd         A phase of an SPMD program.\n",
        ),
        (("program", "--law", "amdal"), "--law must be the name of a law, got 'amdal'."),
    ],
)
def test_wrong_use_is_refused(init, args, says):
    said = init(*args)
    assert said.status == 2
    assert says in said.err


def test_the_presets_are_those_of_the_help_and_have_keys_of_machines():
    assert tuple(machine.PRESETS) == tuple(command.PRESETS)
    known = {key.name for key in keys_of(Machine)}
    assert {x.key for figures in PRESETS.values() for x in figures} <= known
