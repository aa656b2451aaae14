"""Advice is followed: what a message tells to type is typed, and ends otherwise than before."""

import gzip
import json
import re
import shlex
import subprocess

import pytest

from parcast.advice import SIMULATE, Command
from parcast.cli import failures
from tests.conftest import Said

OSU = "# OSU MPI Latency Test v7.2\n# Size          Latency (us)\n" + "".join(
    f"{2**i:<16}{1.5 + 2**i / 1e4:>16.2f}\n" for i in range(0, 21)
)
HYPERFINE = json.dumps({"results": [{"command": "./solve", "times": [2.0, 2.1]}]})
TIMES = [(1, 100), (2, 52), (4, 28), (8, 16)]
METRICS = "\n".join(
    json.dumps({"params": {"ranks": p}, "metric": metric, "value": t})
    for p, t in TIMES
    for metric in ("wall_time", "cpu_time")
)


def table(header, rows=TIMES, *, extra=""):
    """Write a table, each row with the same further cells."""
    return header + "\n" + "".join(f"{p},{t}{extra}\n" for p, t in rows)


MODELS = table("machine,p,time_s", [(f"A,{p}", t) for p, t in TIMES]) + "".join(
    f"B,{p},{2 * t}\n" for p, t in TIMES
)


def typed(verb, content, *options, **choices):
    """What a user types of a file of this content, and what stands for what the user decides."""
    return verb, content, choices, options


CASES = {
    "a benchmark of a machine": typed("forecast", OSU),
    "a benchmark of a machine, for match": typed("match", OSU),
    "no column p": typed("forecast", table("my nodes [1],time_s"), NAME="my nodes [1]"),
    "a word for p": typed("forecast", table("nodes,time_s"), NAME="nodes"),
    "no column of times": typed(
        "forecast", table("p,how long ($x) [s]"), NAME="how long ($x) [s]"
    ),
    "a time without a unit": typed("forecast", table("p,time")),
    "a column that parcast computes": typed("forecast", table("p,time_s,speedup", extra=",1")),
    "a name with a blank": typed("forecast", table("p,time_s,job id", extra=",7")),
    "a name with a comma": typed("forecast", table('p,time_s,"Speedup, all"', extra=",7")),
    "no p in a format": typed("forecast", HYPERFINE, COUNT="4"),
    "no p in an import": typed("import", HYPERFINE, COUNT="4"),
    "a metric that is not there": typed("import", METRICS, "--metric", "x", NAME="wall_time"),
    "a size in a format": typed(
        "forecast",
        HYPERFINE.replace('"times"', '"parameters": {"my size": 4}, "times"'),
        COUNT="4",
    ),
    "a size in an import": typed(
        "import", HYPERFINE.replace('"times"', '"parameters": {"my size": 4}, "times"'), COUNT="4"
    ),
    "two counts": typed(
        "forecast",
        "".join(f'{{"params": {{"ranks": {p}, "threads": 2}}, "value": {t}}}\n' for p, t in TIMES),
    ),
    "no count in a log": typed(
        "import", "elapsed: 8\n", "--time-pattern", "elapsed: (.)", COUNT="4"
    ),
    "two metrics": typed("forecast", METRICS, NAME="wall_time"),
    "a parameter that is no p": typed(
        "import",
        METRICS.replace("ranks", "my size = x").replace("cpu_time", "x"),
        "--metric",
        "wall_time",
        COUNT="4",
    ),
    "two counts in an import": typed(
        "import", '{"params": {"ranks": 2, "nprocs": 4}, "metric": "time", "value": 5}'
    ),
    "several p": typed("forecast", "nodes,MPI tasks,time_s\n1,4,9\n2,8,5\n4,16,3\n"),
    "ranks x threads": typed(
        "forecast", "nodes,ranks,threads,time_s\n1,4,1,9\n2,8,2,5\n4,16,2,3\n"
    ),
    "one rank a row, or p": typed("forecast", "rank,time_s\n1,9\n2,5\n3,3\n"),
    "several times": typed("forecast", "p,wall [ms],elapsed (h)\n1,9,8\n2,5,4\n4,3,2\n"),
    "several columns of numbers": typed("forecast", "p,A b,C\n1,9,8\n2,5,4\n4,3,2\n"),
    "several rates": typed("forecast", "p,SYPD,ns/day\n1,1,2\n2,2,3\n4,3,5\n"),
    "a rate against a time": typed("forecast", "p,time_s,GB/s\n1,9,1\n2,5,1\n4,3,1\n"),
    "work without a rate": typed("forecast", "p,SYPD,time_s\n1,1,2\n", "--work", "9", NAME="SYPD"),
    "a decimal mark": typed("forecast", "p;time_s\n1;12,345\n2;6,123\n4;3,456\n"),
    "a column of text": typed("forecast", "p,a version,time_s\n1,x,9\n1,y,8\n2,x,5\n2,y,4\n"),
    "two separators": typed("forecast", "p t,s\n1 100,5\n2 500,3\n4 200,7\n"),
    "a log": typed(
        "forecast",
        "Starting on 4 ranks\nReading the mesh of 12 files\nTime: 12.5 s in all\nDone.\n",
    ),
    "sacct": typed("forecast", "JobID JobName AllocCPUS State\n---- ---- ---- ----\n1 a 2 OK\n"),
    "a gzip archive": typed("forecast", gzip.compress(table("p,time_s").encode())),
    "a table to import": typed("import", table("p,time_s")),
    "machines that are not parted": typed("forecast", MODELS, "--by", ""),
    "a folder that is not there": typed(
        "forecast", table("p,time_s"), "-o", "new folder/it's.csv"
    ),
    "no column of machines": typed(
        "forecast",
        table("p,time_s,model", extra=",A") + table("", extra=",B").lstrip(),
        "--target",
        "A",
        NAME="model",
    ),
    "a speed of another currency": typed("match", MODELS, "--budget", "5"),
    "several programs": typed(
        "match", table("p,time_s,n", extra=",10") + table("", extra=",20").lstrip(), VALUE="20"
    ),
}
NAMES = ["-my runs (1).csv", "it's $HOME.csv"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder of the test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def advised(monkeypatch):
    """Everything that is spelled while a command runs."""
    spelled = []
    spell = failures.spell

    def watched(part, options=None):
        text = spell(part, options)
        spelled.append((part, text))
        return text

    monkeypatch.setattr(failures, "spell", watched)
    return spelled


def typed_in_shell(line):
    """Run a line of another program as a person does; give its status and what it complains."""
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=False)
    return Said(done.returncode, "", done.stderr.decode())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", CASES)
def test_what_a_message_advises_can_be_done(case, name, parcast, advised, folder):
    verb, content, choices, options = CASES[case]
    raw = content if isinstance(content, bytes) else content.encode()
    folder.joinpath(name).write_bytes(raw)
    typed = [verb, f"./{name}" if name[0] == "-" else name, *options]
    said = parcast(*typed)
    if said.status == 0:  # it is read, and nothing had to be advised
        return
    told = {text: part for part, text in advised if text in said.err}
    lines = [x for x, part in told.items() if isinstance(part, Command) or x.startswith("parcast")]
    given = [x for x in told if re.match(r"--?\w[\w-]* ", x)]
    assert lines or given, said.err
    for line in lines:
        program, *words = shlex.split(chosen(line, choices))
        is_ours = program == "parcast"
        followed = parcast(*words) if is_ours else typed_in_shell(chosen(line, choices))
        assert followed.status not in (2, 3), (line, followed.err)
        if isinstance(told[line], Command) and (written := told[line].writes):
            assert parcast(verb, written, *options).status not in (2, 3), line
    for option in given:
        [problem] = [x for x in said.err.splitlines() if option in x]
        again = parcast(*typed, *shlex.split(chosen(option, choices)))
        assert problem not in again.err, (option, again.err)


def chosen(line, choices):
    """Put what a user decides in place of the words in capitals."""
    for word, meant in choices.items():
        line = re.sub(rf"([\w-]+)={word}\b", lambda x, y=meant: shlex.quote(f"{x[1]}={y}"), line)
        line = re.sub(rf"(?<= ){word}\b", shlex.quote(meant), line)
    return line


JOINS = """
name = "joins"
[[phase]]
law = "spmd"
cycles = 20
bursts_per_io = 4
bursts = "geometric"
compute = { parallel = "2 Gflop", serial = "1 Mflop", variability = "exponential" }
communication = { messages = 6, volume = "2 MB / sqrt(p)" }
io = { volume = "8 MB", kind = "synchronous" }
"""
CLUSTER = """
name = "cluster"
[compute]
rate = "1 Gflop/s"
[network]
latency = "10 us"
bandwidth = "1 GB/s"
[storage]
bandwidth = "100 MB/s"
"""


def test_a_check_of_a_prediction_is_of_its_files_and_its_question(parcast, folder):
    folder.joinpath("it joins.toml").write_text(JOINS)
    folder.joinpath("cluster.toml").write_text(CLUSTER)
    said = parcast(
        "predict", "cluster.toml", "it joins.toml", "-p", "2,4", "--no-law-error",
        "--vary", "network.bandwidth=1,2 GB/s", "--json",
    )  # fmt: skip
    line = (
        "parcast simulate 'it joins.toml' cluster.toml -p 2,4 --vary 'network.bandwidth=1,2 GB/s'"
    )
    assert line in said.out, said
    assert parcast(*shlex.split(line)[1:], "--precision", "20%").status == 0


def test_in_python_a_check_is_of_files_that_it_does_not_know():
    assert str(SIMULATE) == "parcast simulate PROGRAM MACHINE -p LIST"


def test_only_options_of_the_command_are_named(parcast, folder):
    folder.joinpath("runs.csv").write_text(MODELS)
    folder.joinpath("one.json").write_text(HYPERFINE)
    assert "Set it: --set p=COUNT" in parcast("import", "one.json").err
    said = parcast("forecast", "one.json").err
    assert "Set it: parcast import one.json --set p=COUNT -o timings.csv" in said
    assert "--rename" not in said
