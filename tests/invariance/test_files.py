"""A table tells the same in whatever file it stands, and a command prints the same everywhere."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest

from parcast.forecasting.forecast import forecast
from parcast.importers.registry import import_timings
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import read_measurements
from tests.conftest import ROOT, unmeasured
from tests.invariance.tables import Kind, columns_of, differences, facts_of

COLUMNS = columns_of(Kind(seed=7, machines=2, repetitions=3, digits=5))
KNOWN = facts_of(forecast(Measurements(**COLUMNS), [64, 512]))


def table(names=tuple(COLUMNS), *, factor=1, unit="s", between=()):
    """Lines of a table, with its columns in some order and its times in a unit."""
    titles = [f"time_{unit}" if name == "time" else name for name in names]
    values = {**COLUMNS, "time": [f"{x * factor:.12g}" for x in COLUMNS["time"]]}
    rows = zip(*(values[name] for name in names), strict=True)
    return [",".join(titles), *(y for row in rows for y in (",".join(map(str, row)), *between))]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(table()),
        "\r\n".join(table()) + "\r\n",
        "\ufeff" + "\n".join(table()) + "\n",
        "\n".join(table(tuple(COLUMNS)[::-1])),
        "\n".join(table(factor=1000, unit="ms")),
        "\n".join(table(factor=1e6, unit="us")),
        "\n".join(["# measured at night", *table(between=("", "# again", ",,"))]),
    ],
    ids=["LF", "CRLF", "mark", "columns", "ms", "us", "comments"],
)
def test_a_table_tells_the_same_however_it_is_written(text):
    runs = read_measurements(io.BytesIO(text.encode()))
    assert not differences(KNOWN, facts_of(forecast(runs, [64, 512])))


def test_the_same_runs_in_another_format_tell_the_same(tmp_path):
    """As JSON lines, and in two files that are read together."""
    lines = [
        json.dumps({"params": {"p": p}, "callpath": "main", "metric": "time", "value": time})
        for machine, p, time in zip(
            *(COLUMNS[x].tolist() for x in ("machine", "p", "time")), strict=True
        )
        if machine == "Qavo"
    ]
    kept = COLUMNS["machine"] == "Qavo"
    known = forecast(Measurements(p=COLUMNS["p"][kept], time=COLUMNS["time"][kept]), [64, 512])
    whole, first, second = (tmp_path / f"{x}.jsonl" for x in ("whole", "first", "second"))
    whole.write_text("\n".join(lines))
    first.write_text("\n".join(lines[::2]))
    second.write_text("\n".join(lines[1::2]))
    for paths in ([whole], [first, second], [second, first]):
        told = forecast(import_timings(paths, "extrap").measurements, [64, 512])
        for name in ("time", "lower", "upper"):
            np.testing.assert_allclose(
                np.ravel(getattr(told, name)), getattr(known, name), rtol=1e-9
            )


EXAMPLES = ROOT / "examples"
COMMANDS = [
    ["forecast", "nas_bt/times.csv", "-p", "256,1024", "--target", "mesh"],
    ["forecast", "sizes/times.csv", "-p", "512", "--at", "n=512"],
    ["predict", "checkpoint/program.toml", "checkpoint/nfs.toml", "-p", "64,4096"],
    ["match", "matching/times.csv", "matching/t3e.toml", "matching/sp.toml", "--goal", "cost"],
]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SCRIPT = """
import sys, json
from parcast.cli import cli
from parcast.cli.failures import run
for command in json.loads(sys.argv[1]):
    print(run(cli, [*command, "--json"]))
"""


def test_a_command_prints_the_same_bytes_in_every_process(parcast):
    """Whatever the seed of hashes and the number of threads; that of this process is its own."""
    commands = [[str(EXAMPLES / x) if "/" in x else x for x in command] for command in COMMANDS]
    said = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(commands)],
        env=unmeasured() | {"PYTHONHASHSEED": "1"} | dict.fromkeys(THREADS, "1"),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    here = "".join(f"{x.out}{x.status}\n" for x in (parcast(*y, "--json") for y in commands))
    assert said == here
