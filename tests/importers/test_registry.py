"""`parcast.importers.registry`: which formats there are, what is recognised, what is common."""

import os
import sys
import types
from pathlib import Path

import pytest

from parcast.errors import FileProblems, ParameterError
from parcast.files.faults import Faults
from parcast.importers import registry
from parcast.importers.axes import chosen_metric
from parcast.importers.registry import (
    Format,
    as_measurements,
    import_machine,
    import_timings,
    recognised,
)
from parcast.timings.measurements import Measurements
from parcast.timings.notes import ImportNote

DATA = Path(__file__).parent / "data"
OURS = {
    "extrap.txt": "extrap",
    "extrap_newer.json": "extrap",
    "extrap_older.json": "extrap",
    "extrap.jsonl": "extrap",
    "sacct.txt": "slurm",
    "sacct_2205.json": "slurm",
    "sacct_2405.json": "slurm",
    "hyperfine.json": "hyperfine",
    "google_benchmark.json": "google-benchmark",
}


@pytest.fixture
def other(monkeypatch):
    """Add a format of timings and one of machines that begin alike."""

    def read(runs, metric):
        for _, faults in runs.files():
            runs.add({"p": 1, "size": 3}, [5], faults)
            runs.add({"p": 2, "size": 4}, [6], faults)
        return runs.imported(metric=metric, notes=[f"read {Path(runs.faults.path).name}"])

    def recognises(head, _):
        return head.startswith(b"OTHER")

    def read_machine(paths):
        notes = (f"read {paths[0].name}",)
        return types.SimpleNamespace(notes=notes, to_toml=str)

    module = types.ModuleType("other_format")
    module.TIMINGS = Format(title="Other", recognises=recognises, timings=read)
    module.MACHINE = Format(title="Speeds", recognises=recognises, machine=read_machine)
    monkeypatch.setitem(sys.modules, "other_format", module)
    monkeypatch.setitem(registry.FORMATS, "other", "other_format:TIMINGS")
    monkeypatch.setitem(registry.FORMATS, "speeds", "other_format:MACHINE")


@pytest.mark.parametrize(("name", "expected"), OURS.items())
def test_every_sample_is_recognised_as_what_it_is(name, expected):
    assert recognised(DATA / name).name == expected
    assert import_timings(DATA / name) == import_timings([str(DATA / name)], expected)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"p,time_s\n1,2\n",
        b"\xef\xbb\xbf# comment\n\n 'p' , time_s\n",
        b"\0\1\2",
        b"{}",
        b'{"callpath": "p", "p": 3}',
    ],
)
def test_what_no_format_is_certain_of_is_not_recognised(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    assert recognised(tmp_path / "file") is None


def test_what_is_no_file_is_not_recognised_and_a_pipe_is_not_touched(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert recognised(tmp_path / "pipe") is None
    assert recognised(tmp_path / "nowhere") is None
    assert recognised(tmp_path) is None
    assert recognised("a\0b") is None


@pytest.mark.usefixtures("other")
def test_what_two_formats_claim_is_not_certain(tmp_path):
    (tmp_path / "file").write_bytes(b"OTHER")
    assert recognised(tmp_path / "file") is None


@pytest.mark.usefixtures("other")
def test_a_format_gives_runs_and_the_registry_names_their_axes(tmp_path):
    (tmp_path / "file").write_bytes(b"OTHER")
    told = import_timings(tmp_path / "file", "other", rename={"size": "n"}, constants={"d": 4})
    assert told.measurements == Measurements(p=[1, 2], n=[3, 4], d=4, time=[5, 6])
    assert told.notes[0] == "read file"
    swapped = import_timings(tmp_path / "file", "other", rename={"size": "p", "p": "ranks"})
    assert swapped.measurements == Measurements(p=[3, 4], ranks=[1, 2], time=[5, 6])
    with pytest.raises(FileProblems, match="must have the metric 'bytes', got one without a name"):
        import_timings(tmp_path / "file", "other", metric="bytes")


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({"format": "zzz"}, "got 'zzz'. Choose from extrap, slurm, hyperfine, google-benchmark"),
        ({"rename": {"nn": "p"}}, "rename must name a parameter of the files, got 'nn'. Did you"),
        ({"rename": {"n": "p"}}, "rename must give each parameter a name of its own, got p twice"),
        ({"constants": {"p": 4}}, "constants must be axes that the files do not have, got p."),
        ({"constants": {"callpath": "a"}}, "that the files do not have, got callpath."),
        ({"constants": {"d": "four"}}, "constants must be numbers, got d='four'. Only machine"),
        ({"constants": {"d": "nan"}}, "d must be a finite number, got nan."),
        ({"constants": {"time": 4}}, "constants must name axes: time must be the name of an axis"),
    ],
)
def test_a_wrong_question_is_refused(question, says, refusal):
    assert says in refusal(ParameterError, import_timings, DATA / "extrap.txt", **question)


def test_files_must_be_there_and_in_one_format(tmp_path):
    with pytest.raises(ParameterError, match="paths must name a file, got none"):
        import_timings([], "extrap")
    with pytest.raises(ParameterError, match="files must be in one format, got extrap, slurm"):
        import_timings([DATA / "extrap.txt", DATA / "sacct.txt"])
    with pytest.raises(FileProblems, match="must exist, but is not in"):
        import_timings(tmp_path / "nowhere.json")
    with pytest.raises(FileProblems, match="must exist, but is not in"):
        import_timings(tmp_path / "nowhere.json", "extrap")
    (tmp_path / "file").write_text("hello")
    with pytest.raises(ParameterError, match=r"not recognised\. Choose from extrap, slurm"):
        import_timings(tmp_path / "file")


def test_which_of_several_metrics_is_meant_must_be_plain():
    for metrics in (["bytes", "visits"], ["time", "runtime"]):
        with pytest.raises(FileProblems, match=r"must have one metric that is the time.*metric="):
            chosen_metric(metrics, None, Faults("profile"))
    told = chosen_metric(["<default>"], None, Faults("profile"))
    assert told[2] == ["The metric without a name is read as wall time in seconds."]
    assert chosen_metric(["io_ms"], None, Faults("profile")) == (
        "io_ms", 1e-3, ["The metric io_ms is read as wall time in its unit."],
    )  # fmt: skip


def test_measurements_are_taken_from_a_table_or_from_a_file_in_any_format(tmp_path):
    runs = Measurements(p=[1, 2], time=[8.0, 4.5])
    assert as_measurements(runs) is runs
    assert as_measurements({"p": [1, 2], "time_ms": [8000.0, 4500.0]}) == runs
    (tmp_path / "times.csv").write_text("p,time_s\n1,8\n2,4.5\n", encoding="utf-8")
    assert as_measurements(tmp_path / "times.csv") == as_measurements(str(tmp_path / "times.csv"))
    assert as_measurements(tmp_path / "times.csv") == runs
    hyperfine = str(DATA / "hyperfine.json")
    imported = import_timings(hyperfine)
    with pytest.warns(ImportNote) as notes:
        assert as_measurements(hyperfine) == imported.measurements
    assert [str(x.message) for x in notes] == [f"{hyperfine}: {x}" for x in imported.notes]
    assert {x.filename for x in notes} == {__file__}
    with pytest.raises(FileProblems, match="must exist"):
        as_measurements(tmp_path / "none.csv")
    (tmp_path / "scale.csv").write_text(
        "nodes,cores,seconds,build\n1,4,8,now\n2,8,4,now\n2,8,5,then\n"
    )
    with pytest.raises(FileProblems) as caught:
        as_measurements(tmp_path / "scale.csv")
    for argument in ("columns={'p': 'nodes'}", "columns={'machine': 'build'}", "ignore=['build']"):
        assert f" parcast.read_measurements(path, {argument})" in str(caught.value)
    with pytest.raises(ParameterError, match="table must have columns by name, got NoneType"):
        as_measurements(None)


@pytest.mark.parametrize(
    ("text", "keys"),
    [('{"a": 1, "b": [{"c": 2}]}', " (keys a, b, c)"), ("[1, 2]", ""), ('[{"x": 1}]', " (keys x)"),
     ("{}", "")],
)  # fmt: skip
def test_json_that_no_importer_knows_is_called_so(file, text, keys):
    path = file(text, "other.json")
    says = f"got JSON that no importer knows{keys}. JSON is read of extrap, slurm, hyperfine, "
    for read in (import_timings, as_measurements):
        with pytest.raises(FileProblems) as caught:
            read(path)
        assert says in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["lammps.np2.log", "gromacs_2.log", "reframe_report.json", "hyperfine.json", "pyperf.json"],
)
def test_a_count_that_a_file_has_is_not_set_to_another(name):
    path = DATA / name
    rename = {"threads": "p"} if name == "hyperfine.json" else {}
    rename |= {"nprocs": "p"} if name == "pyperf.json" else {}
    with pytest.raises(ParameterError, match="constants must be axes that the files do not have"):
        import_timings(path, constants={"p": 64}, rename=rename)


def test_a_rate_is_no_time():
    for metric in ("samples/s", "ns_day rate", "throughput", "GFlops", "it per second", "SYPD"):
        with pytest.raises(FileProblems, match="must have a metric that is a time, got the rate"):
            chosen_metric([metric], None, Faults("profile"))


@pytest.mark.usefixtures("other")
def test_a_machine_is_no_timings(tmp_path):
    (tmp_path / "file").write_bytes(b"OTHER")
    with pytest.raises(ParameterError, match="got speeds, which describes a machine"):
        import_timings(tmp_path / "file", "speeds")
    assert import_machine([tmp_path / "file"], "speeds").notes == ("read file",)
    with pytest.raises(ParameterError, match="got other, which contains timings"):
        import_machine([tmp_path / "file"], "other")
