"""`parcast import`, and files of other tools where a table is expected."""

import gzip
import io
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from parcast.cli.reading import read_file
from parcast.errors import FileProblems
from parcast.importers.registry import import_timings
from parcast.timings.tables.files import read_measurements
from tests.conftest import ROOT

DATA = ROOT / "tests" / "importers" / "data"
PROFILE = "PARAMETER ranks\nPOINTS 1 2 4 8\nDATA 12\nDATA 7.01\nDATA 4.49\nDATA 3.25\n"
PROGRAM = '[[phase]]\nlaw = "spmd"\ncompute = { parallel = "5 s", serial = "1 s" }\n'
pytestmark = pytest.mark.usefixtures("folder")
RECOGNISED = "recognised as extrap: Extra-P text, JSON or .extra-p."


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A profile and a program, in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "profile.txt").write_text(PROFILE)
    (tmp_path / "program.toml").write_text(PROGRAM)
    return tmp_path


# the command


@pytest.mark.parametrize("options", [[], ["-o", "-"]])
def test_what_is_printed_is_a_table_that_a_forecast_reads(parcast, options):
    table = parcast("import", DATA / "extrap.txt", *options)
    told = read_measurements(io.StringIO(table.out))
    assert told == import_timings(DATA / "extrap.txt").measurements
    said = parcast("forecast", "-", "-p", "16", "--select", "n=100", stdin=table.out)
    assert said.status == 0


def test_a_table_and_an_archive_are_not_taken_for_an_unknown_format(parcast, folder):
    (folder / "times.csv").write_text("p,time_s\n1,2\n2,1\n")
    said = parcast("import", "times.csv")
    assert said.status == 3
    assert "got a table of measurements. Use it directly: parcast forecast times.csv" in said.err
    (folder / "profile.txt.gz").write_bytes(gzip.compress(b"x"))
    said = parcast("import", "profile.txt.gz")
    assert said.status == 3
    assert "got a gzip archive. Unpack it: gzip -dk profile.txt.gz" in said.err
    said = parcast("forecast", "-", "-p", "8", stdin=gzip.compress(b"x"))
    assert "Unpack it: gzip -dc < FILE > unpacked" in said.err


@pytest.mark.parametrize(
    ("format", "text", "status", "says"),
    [
        ([], "", 3, "standard input: 1 problem\n  file  must not be empty."),
        ([], "x", 2, "FORMAT must be given for standard input, which is not recognised."),
        (["extrap"], "x", 3, "standard input: 1 problem\n  line 1  must begin with PARAM"),
    ],
)
def test_faults_of_standard_input_name_it(parcast, format, text, status, says):
    said = parcast("import", *format, "-", stdin=text)
    assert said.status == status
    assert says in said.err


def test_standard_input_stands_among_files(parcast, folder):
    (folder / "more.txt").write_text(PROFILE.replace("12", "13"))
    said = parcast("import", "-", "more.txt", stdin=PROFILE)
    assert said.out == parcast("import", "profile.txt", "more.txt").out


def test_an_archive_on_standard_input_names_no_file_that_is_gone(parcast):
    said = parcast("import", "extrap", "-", stdin=gzip.compress(b"x"))
    assert said.status == 3
    assert "standard input: 1 problem" in said.err
    assert "gzip -dc < FILE > unpacked" in said.err
    assert "/parcast-" not in said.err


def test_only_what_is_recognised_is_kept(monkeypatch):
    endless = io.TextIOWrapper(io.BufferedReader(Endless()))
    told = []

    def read_table(source, **_):
        told.append(source.read(2**17))
        raise RuntimeError

    monkeypatch.setattr("parcast.timings.tables.files.read_table", read_table)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: pytest.fail("kept"))
    monkeypatch.setattr(sys, "stdin", endless)
    with pytest.raises(RuntimeError):
        read_file("-", [])
    assert told == [b"0" * 2**17]


class Endless(io.RawIOBase):
    """A stream without an end."""

    def readable(self):
        return True

    def readinto(self, room):
        room[:] = b"0" * len(room)
        return len(room)


def test_standard_input_that_cannot_be_read_is_told(monkeypatch):
    class Torn(io.BytesIO):
        def read(self, *_):
            raise OSError(5, "Input/output error")

        read1 = read

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Torn(), closed=True))
    with pytest.raises(
        FileProblems, match=r"standard input.*\n.*must be readable, got: Input/out"
    ):
        read_file("-", [])


def test_the_formats_are_listed_with_what_they_need(parcast):
    said = parcast("import", "--list")
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].split("  ")[0] == "extrap"
    assert lines[0].endswith("timings.csv")
    assert [line.split()[0] for line in lines[:4]] == [
        *("extrap", "slurm", "hyperfine", "google-benchmark")
    ]
    assert max(map(len, lines)) <= 99


def test_a_file_that_is_called_as_a_format_is_a_file(parcast, folder):
    (folder / "extrap").write_text(PROFILE)
    assert parcast("import", "extrap").status == 0
    assert parcast("import", "extrap", "extrap").status == 0


@pytest.fixture
def machine(monkeypatch):
    """Add a format of machines."""
    import sys
    from types import ModuleType, SimpleNamespace

    from parcast.importers import registry
    from parcast.importers.registry import Format

    figures = SimpleNamespace(to_toml=lambda: 'name = "T3E"\n', notes=("Latency only.",))
    module = ModuleType("speeds")
    module.FORMAT = Format(
        title="Speeds",
        recognises=lambda head, _: head.startswith(b"SPEEDS"),
        machine=lambda _: figures,
    )
    monkeypatch.setitem(sys.modules, "speeds", module)
    monkeypatch.setitem(registry.FORMATS, "speeds", "speeds:FORMAT")


def test_an_extra_that_is_missing_is_named(parcast, monkeypatch):
    from dataclasses import replace

    from parcast.importers import extrap

    def read(*_):
        raise ModuleNotFoundError("Profiles need pandas. Install with: pip ...", name="pandas")

    monkeypatch.setattr(extrap, "FORMAT", replace(extrap.FORMAT, timings=read))
    for question in (["import", "profile.txt"], ["forecast", "profile.txt", "-p", "8"]):
        said = parcast(*question)
        assert said.status == 2
        assert said.err.endswith("parcast: Profiles need pandas. Install with: pip ...\n")

    def broken(*_):
        raise ModuleNotFoundError("No module named 'parcast.nothing'", name="parcast.nothing")

    monkeypatch.setattr(extrap, "FORMAT", replace(extrap.FORMAT, timings=broken))
    assert parcast("import", "profile.txt").status == 70


# files of other tools where a table is expected


def test_donors_may_be_profiles(parcast, folder):
    (folder / "elsewhere.jsonl").write_text(
        "".join(
            f'{{"params": {{"p": {p}}}, "value": {20 / p + 1}}}\n' for p in (1, 2, 4, 8, 16, 32)
        )
    )
    said = parcast("forecast", "profile.txt", "--donors", "elsewhere.jsonl", "-p", "16")
    assert said.status == 0
    assert "parcast: elsewhere.jsonl is recognised as extrap" in said.err
    assert "parcast: elsewhere.jsonl names no machine; it is called 'elsewhere'.\n" in said.err


def test_a_fit_reads_a_profile_and_a_table_of_speedups_as_before(parcast, folder):
    said = parcast("fit", "program.toml", "profile.txt", "--json")
    assert said.status == 0
    assert f"parcast: profile.txt is {RECOGNISED}" in said.err
    document = json.loads(said.out)
    assert document["inputs"]["surface"]["format"] == "extrap"
    assert document["quantity"] == "time"
    (folder / "speedups.csv").write_text("p,speedup\n1,1\n2,1.7\n4,2.7\n8,3.7\n")
    said = parcast("fit", "program.toml", "speedups.csv", "--json", "--fix", "compute.serial")
    assert json.loads(said.out)["quantity"] == "speedup"


def test_help_loads_nothing_heavy():
    ask = (
        "import sys; from parcast.cli import cli; from parcast.cli.failures import run; "
        "run(cli, ['import', '--help']); print(*sys.modules, file=sys.stderr)"
    )
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert not {"numpy", "rich", "pandas", "parcast.importers.registry"} & set(said.stderr.split())
    assert max(map(len, said.stdout.splitlines())) <= 80


def test_every_format_is_in_the_reference():
    from parcast.importers.registry import FORMATS

    page = (ROOT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    for known in FORMATS:
        assert f"| `{known}` |" in page


@pytest.mark.usefixtures("machine")
def test_what_tells_of_a_machine_becomes_a_description(parcast, folder):
    (folder / "speeds.txt").write_text("SPEEDS\n")
    said = parcast("import", "speeds", "speeds.txt", "-o", "machine.toml")
    assert (said.status, said.out, said.err) == (
        0,
        "",
        "parcast: Latency only.\nparcast: wrote machine.toml.\n",
    )
    assert (folder / "machine.toml").read_text() == 'name = "T3E"\n'
    assert parcast("import", "speeds.txt").out == 'name = "T3E"\n'
    said = parcast("import", "speeds", "speeds.txt", "-o", "machine.csv")
    assert "-o must be a path that ends in .toml" in said.err
    said = parcast("import", "speeds", "speeds.txt", "--set", "p=4")
    assert "--set cannot be combined with speeds, which describes a machine." in said.err
    said = parcast("forecast", "speeds.txt", "-p", "8")
    assert said.status == 3
    assert "Import them: parcast import speeds speeds.txt -o machine.toml" in said.err


def test_columns_of_a_profile_may_be_selected_and_ignored(parcast):
    ask = ["forecast", DATA / "extrap.txt", "-p", "16", "-o", "-"]
    said = parcast(*ask, "--select", "callpath=main", "--select", "n=100")
    assert len(said.out.splitlines()) == 2
    said = parcast(*ask, "--ignore", "callpath,n")
    assert len(said.out.splitlines()) == 2
    said = parcast(*ask, "--ignore", "jobid")
    assert said.status == 2
    assert "extrap.txt besides p and the time, got 'jobid'. There are n, callpath" in said.err
