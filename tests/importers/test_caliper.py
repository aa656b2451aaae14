"""`parcast.importers.caliper` and `.hatchet`: profiles of regions, rank by rank.

Samples are written by hand in the form that the tools print. caliper-reader, which hatchet
brings, is not among the test dependencies: tests of `.cali` files put a small fake of it into
`sys.modules`, which reads the records of the samples as caliper-reader 0.4.1 does. Those of the
last section run where hatchet is installed, and compare with what it reads itself.
"""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from parcast.errors import FileProblems
from parcast.importers.caliper import time_column
from parcast.importers.content import MissingLibrary
from parcast.importers.registry import import_timings

DATA = Path(__file__).parent / "data"
P2, P4 = DATA / "caliper_p2.json", DATA / "caliper_p4.json"
SPOT, RANKS = DATA / "caliper_spot.cali", DATA / "caliper_ranks.cali"
GRAPH, THICKET = DATA / "hatchet.json", DATA / "thicket.json"


def rows(imported):
    """Times by processes and call path."""
    measured = imported.measurements
    keys = zip(measured.p.tolist(), measured.labels["callpath"].tolist(), strict=True)
    return dict(zip(keys, measured.time.tolist(), strict=True))


def refusal(name, path, **options):
    with pytest.raises(FileProblems) as caught:
        import_timings([path], name, **options)
    assert caught.value.path == str(path)
    return str(caught.value).splitlines()[1].strip()


class ReaderError(Exception):
    """That of caliper-reader."""


class FakeReader:
    """`CaliperStreamReader` of caliper-reader, for records without escapes but a comma."""

    def __init__(self):
        self.globals = {}
        self.nodes = dict.fromkeys(
            (*range(8), 11), ("", "cali.attribute.type", None)
        ) | {  # number: value, attribute, parent
            8: ("cali.attribute.name", "", None),
            9: ("cali.attribute.type", "", None),
            10: ("cali.attribute.prop", "", None),
        }
        self.names = {8: "cali.attribute.name", 10: "cali.attribute.prop"}
        self.db = SimpleNamespace(attributes={})

    def read(self, lines, take):
        for line in lines:
            text = line.replace("\\,", "\0")
            record = {}
            for part in text.split(","):
                key, *values = part.replace("\0", ",").split("=")
                record[key] = values
            if "__rec" not in record:
                raise ReaderError('"__rec" missing: ' + line)
            kind = record["__rec"][0]
            if kind == "node":
                self.add_node(record)
            elif kind == "ctx":
                take(self.expanded(record))
            elif kind == "globals":
                self.globals = self.expanded(record)

    def add_node(self, record):
        number, attribute = int(record["id"][0]), int(record["attr"][0])
        name = self.names[attribute]
        parent = int(record["parent"][0]) if "parent" in record else None
        self.nodes[number] = (record["data"][0], name, parent)
        if attribute == 8:
            self.names[number] = record["data"][0]
            self.db.attributes[record["data"][0]] = number

    def line_of(self, number):
        while number is not None:
            value, name, number = self.nodes[number]
            yield value, name

    def expanded(self, record):
        result = {}
        for reference in record.get("ref", ()):
            for value, name in reversed(list(self.line_of(int(reference)))):
                if name == "region":
                    result["path"] = [*result.get("path", []), value]
                else:
                    result[name] = value
        for attribute, value in zip(record.get("attr", ()), record.get("data", ()), strict=True):
            result[self.names[int(attribute)]] = value
        return result

    def attribute(self, name):
        found = {y: x for x, y in reversed(list(self.line_of(self.db.attributes[name])))}
        return SimpleNamespace(get=found.get)


@pytest.fixture
def fake(monkeypatch):
    module = ModuleType("caliperreader")
    module.CaliperStreamReader = FakeReader
    monkeypatch.setitem(sys.modules, "caliperreader", module)


# Caliper: what is read


def test_files_make_a_series_with_exclusive_times_of_the_slowest_rank():
    found = import_timings([P2, P4], "caliper")
    assert rows(found) == {
        (2, "main"): 1.25,
        (2, "main->solve"): 6.0,
        (2, "main->solve->exchange"): 0.75,
        (4, "main"): 1.25,
        (4, "main->solve"): 3.5,
        (4, "main->solve->exchange"): 0.5,
    }
    assert found.measurements.select(p=4).axes["problem_size"].tolist() == [60, 60, 60]
    assert set(found.measurements.axes) == {"p", "problem_size"}
    assert found.notes == (
        "The time is time, exclusive: without called regions, so times of regions may be added.",
        "The time of a region is that of its slowest rank (metric='mean' for the mean).",
        "p is mpi.world.size of each file.",
        "Metadata that vary are imported as axes: problem_size.",
        "Metadata that vary but are not parameters are left out: elapsed_time, launchdate.",
        "caliper_p4.json has times of 2 of its 4 ranks.",
        "Time outside all regions is left out, up to 0.25 s per rank (caliper_p2.json).",
    )


@pytest.mark.usefixtures("fake")
def test_a_cali_file_of_a_report_has_the_inclusive_times_of_the_slowest_rank():
    found = import_timings([SPOT], "caliper")
    assert rows(found) == {(4, "main"): 8.25, (4, "main->solve"): 7.0}
    assert found.notes == (
        "The time is max#inclusive#sum#time.duration, inclusive: with called regions, so times "
        "of regions must not be added.",
        "The times are those of the slowest rank, as Caliper wrote them.",
        "p is jobsize of each file.",
    )
    fastest = import_timings([SPOT], "caliper", metric="min#inclusive#sum#time.duration")
    assert rows(fastest)[4, "main"] == 7.5


@pytest.mark.parametrize(
    ("name", "unit", "meaning"),
    [
        ("time", "sec", ("exclusive", "", 1.0)),
        ("time (inc)", None, ("inclusive", "", 1.0)),
        ("Max time/rank", "sec", ("untold", "max", 1.0)),
        ("Max time/rank (exc)", "sec", ("exclusive", "max", 1.0)),
        ("Avg time/rank (inc)", None, ("inclusive", "avg", 1.0)),
        ("Total time", None, ("untold", "sum", 1.0)),
        ("sum#time.duration", "usec", ("exclusive", "", 1e-6)),
        ("sum#time.duration.ns", None, ("exclusive", "", 1e-9)),
        ("scale#sum#time.duration.ns", "sec", ("exclusive", "", 1.0)),
        ("avg#inclusive#scale#sum#time.duration.ns", "sec", ("inclusive", "avg", 1.0)),
        ("sum#avg#sum#time.duration", None, ("exclusive", "avg", 1.0)),
        ("max#time.duration", None, None),  # the longest visit
        ("min#min#aggregate.slot", None, None),
        ("avg.count#inclusive#sum#time.duration", None, None),
        ("time.offset", None, None),
    ],
)
def test_a_column_is_told_by_its_name_and_unit(name, unit, meaning):
    found = time_column(name, unit)
    assert (found and (found.kind, found.across, found.scale)) == meaning


# Caliper: what is refused


@pytest.mark.usefixtures("fake")
def test_a_cali_file_cut_off_anywhere_is_refused(tmp_path):
    whole = RANKS.read_bytes()
    path = tmp_path / "profile.cali"
    for cut in range(1, len(whole), 3):
        path.write_bytes(whole[:cut])
        with pytest.raises(FileProblems):
            import_timings([path], "caliper")


@pytest.mark.usefixtures("fake")
def test_a_node_below_itself_from_which_the_library_would_never_return_is_refused(file):
    path = file(RANKS.read_bytes().replace(b"parent=33", b"parent=39"), "profile.cali")
    said = refusal("caliper", path)
    assert said.startswith("line 11  must be a node below another, got 39 below itself.")


def test_without_the_library_the_extra_and_the_route_that_needs_none_are_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "caliperreader", None)
    with pytest.raises(MissingLibrary) as caught:
        import_timings([SPOT], "caliper")
    said = str(caught.value)
    assert 'pip install "parcast[caliper]"' in said
    assert f"cali-query -q 'select * format json-split' {SPOT} > profile.json" in said


@pytest.mark.parametrize("bad", ["-1.0", "nan", "fast"])
@pytest.mark.usefixtures("fake")
def test_a_time_of_a_cali_file_that_is_none_is_refused_with_its_line(bad, file):
    path = file(RANKS.read_text().replace("6000000000", bad), "profile.cali")
    assert refusal("caliper", path) == (
        f"line 13  sum#time.duration.ns  must be a time of at least 0, got {bad!r}. "
        "Profile the run again."
    )


def split(**parts):
    """The table of two ranks, with some parts replaced."""
    return json.dumps(json.loads(P2.read_text()) | parts)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (P2.read_text()[:300], "must be complete JSON"),
        ('{"results": []}', "must have data, columns, column_metadata and nodes, got results."),
        (split(column_metadata=[]), "column_metadata  must describe each of 3 columns."),
        (split(columns=["mpi.rank", "time", "x"]), "columns  must have a path of regions, got"),
        (split(columns=["mpi.rank", "visits", "path"]), "must have a column of times, got none."),
        (split(data=[[0, 1.0]]), "data[0]  must have 3 values."),
        (split(data=[[0, 1.0, 7]]), "data[0]  must be in a region that is listed, got 7."),
        (split(data=[[0, -1.0, 1]]), "data[0]  must be a time of at least 0, got -1.0."),
        (split(data=[[0, float("nan"), 1]]), "data[0]  must be a time of at least 0, got nan."),
        (split(data=[["x", 1.0, 1]]), "data[0]  must be a rank, got 'x'."),
        (split(nodes=[{"label": "a", "parent": 0}]), "nodes[0]  must have a label, and a parent"),
        (json.dumps([{"path": 3, "time.duration": 1.0}]), "[0]  must be a record with a path"),
    ],
    ids=range(12),
)
def test_a_fault_in_a_table_is_named_with_its_key(text, says, file):
    path = file(text, "profile.json")
    assert says in refusal("caliper", path)


def test_a_table_in_other_bytes_or_too_large_is_refused(monkeypatch, file):
    path = file(P2.read_bytes().replace(b"solve", b"r\xe9solve"), "profile.json")
    assert "must be UTF-8, got the byte 0xe9." in refusal("caliper", path)
    monkeypatch.setattr("parcast.importers.content.LARGEST_DOCUMENT", 100)
    assert "must have at most 100 B, got more." in refusal("caliper", path)


def test_files_that_tell_different_times_or_only_some_their_ranks_are_told(tmp_path):
    path = tmp_path / "profile.json"
    records = [{"path": "main", "inclusive#sum#time.duration": 8.0}]
    path.write_text(json.dumps({"records": records, "globals": {"jobsize": 8}}))
    found = import_timings([P2, path], "caliper")
    assert found.notes[0].startswith("The time is time, inclusive#sum#time.duration, exclusive")
    assert any(x.startswith("The files have different kinds of time") for x in found.notes)
    path.write_text(json.dumps(records))
    with pytest.raises(FileProblems, match="must have its number of ranks like the other files"):
        import_timings([P2, path], "caliper")


# Hatchet and Thicket


def test_a_graph_of_hatchet_has_the_exclusive_times_of_the_slowest_rank():
    found = import_timings([GRAPH], "hatchet")
    assert rows(found) == {(2, "main"): 1.25, (2, "main->solve"): 6.0, (2, "main->write"): 0.5}
    assert found.notes == (
        "The time is time, exclusive: without called regions, so times of regions may be added.",
        "Times are read as seconds.",
        "The time of a region is that of its slowest rank (metric='mean' for the mean).",
        "p is the number of ranks in each file.",
    )
    inclusive = import_timings([GRAPH], "hatchet", metric="inclusive")
    assert rows(inclusive)[2, "main"] == 7.5


def graph_of(name, rows, indices):
    node = {"data": {"name": name, "type": "function"}, "children": []}
    return {
        "graph": [{"0": node}],
        "dataframe_indices": ["node", *indices],
        "dataframe": [{"node": 0, "name": name, **row} for row in rows],
        "inclusive_metrics": ["time (inc)"],
        "exclusive_metrics": ["time"],
    }


def test_threads_of_a_rank_are_not_added_up(tmp_path):
    path = tmp_path / "threads.json"
    times = {(0, 0): 10.0, (0, 1): 9.0, (1, 0): 8.0, (1, 1): 9.0}
    each = [
        {"rank": rank, "thread": thread, "time": time, "time (inc)": time}
        for (rank, thread), time in times.items()
    ]
    path.write_text(json.dumps(graph_of("main", each, ["rank", "thread"])))
    found = import_timings([path], "hatchet")
    assert rows(found) == {(2, "main"): 10.0}
    assert "Each thread counts as a rank does, but not in p." in found.notes
    assert rows(import_timings([path], "hatchet", metric="mean")) == {(2, "main"): 9.0}


def test_times_of_tau_are_microseconds(tmp_path):
    path = tmp_path / "tau.json"
    each = [
        {"rank": 0, "time": 272.0, "time (inc)": 15755429.0},
        {"rank": 1, "time": 280.0, "time (inc)": 15755100.0},
    ]
    path.write_text(json.dumps(graph_of(".TAU application", each, ["rank"])))
    found = import_timings([path], "hatchet", metric="inclusive")
    assert rows(found)[2, ".TAU application"] == pytest.approx(15.755429)
    assert "Times are read as microseconds, as TAU writes them." in found.notes


def test_a_thicket_has_its_runs_and_their_metadata():
    found = import_timings([THICKET], "hatchet")
    assert rows(found) == {
        (2, "main"): 1.0,
        (2, "main->solve"): 6.0,
        (4, "main"): 1.0,
        (4, "main->solve"): 3.0,
    }
    assert found.measurements.select(p=4).axes["problem_size"].tolist() == [60, 60]


def test_the_slowest_rank_is_taken_of_a_report_that_does_not_tell_its_kind(file):
    document = json.loads(THICKET.read_text())
    names = ["Min time/rank", "Max time/rank", "Avg time/rank"]
    for row in document["dataframe"]:
        time = row.pop("time")
        row |= dict(zip(names, [time - 0.5, time + 0.5, time], strict=True))
    document["exclusive_metrics"] = names
    path = file(json.dumps(document), "thicket.json")
    found = import_timings([path], "hatchet")
    assert rows(found)[4, "main->solve"] == 3.5
    assert found.notes[0] == (
        "The time is Max time/rank, exclusive or inclusive: the file does not contain which."
    )
    assert "The times are those of the slowest rank, as Caliper wrote them." in found.notes


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "must be a profile, got an empty file."),
        (b"\x80\x04\x95", "must not be a pickle, since reading one runs the code in it. Save it"),
        (b"\x89HDF\r\n", "must be JSON, got HDF5, in which Hatchet stores pickles."),
        (b"__rec=node,id=12", "must be JSON, got a .cali file. Use the format caliper."),
        (b"p,time_s\n1,8\n", "must be JSON, got 'p,time_s"),
        (GRAPH.read_bytes()[:200], "must be complete JSON"),
    ],
)
def test_what_is_no_json_of_hatchet_is_refused_with_the_way_to_one(content, says, file):
    path = file(content, "profile")
    assert says in refusal("hatchet", path)


def test_a_folder_is_refused_with_the_way_through_hatchet(tmp_path):
    assert "got a folder. Read it with Hatchet" in refusal("hatchet", tmp_path)


def graph(**parts):
    """The graph of two ranks, with some parts replaced."""
    return json.loads(GRAPH.read_text()) | parts


ROW = {"node": 0, "rank": 0, "time": 1.0}


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"graph": []}, "must have dataframe, exclusive_metrics, graph, inclusive_metrics"),
        (graph(graph=[[]]), "graph  must be objects of nodes."),
        (graph(graph=[{"0": {"data": {}}}]), "graph.0  must have data and children."),
        (graph(graph=[{"0": {"data": {}, "children": [9]}}]), "must have the node 9, got none."),
        (graph(dataframe=[ROW | {"node": 9}]), "dataframe[0]  must be a row of a node that is in"),
        (graph(dataframe=[ROW | {"rank": "x"}]), "dataframe[0]  must have a rank, got 'x'."),
        (graph(dataframe=[ROW | {"time": -1}]), "dataframe[0]  time must be a time of at least 0"),
        (graph(dataframe=[ROW | {"time": float("nan")}]), "must be a time of at least 0, got nan"),
        (graph(dataframe=[]), "dataframe  must have times as time, got none."),
        (graph(exclusive_metrics=["nid"], inclusive_metrics=[]), "metric that is a time, got nid"),
        (graph(metadata=[3]), "metadata  must be objects, one per profile."),
        ([{"frame": {}, "metrics": {}}], "[0]  must have a frame with a name, and metrics."),
    ],
    ids=range(12),
)
def test_a_fault_in_a_graph_is_named_with_its_key(document, says, file):
    path = file(json.dumps(document), "profile.json")
    assert says in refusal("hatchet", path)


# where hatchet is installed


def installed():
    return pytest.importorskip("hatchet", reason="the extra hatchet is not installed")


@pytest.mark.parametrize("path", [SPOT, RANKS], ids=lambda path: path.name)
def test_caliper_reader_reads_as_the_fake_does(path):
    installed()
    found = rows(import_timings([path], "caliper"))
    assert list(found.values()) in ([8.25, 7.0], [1.25, 6.0])


def chain(depth):
    """A table whose regions are each in the one before."""
    nodes = [{"label": f"f{i}", "parent": i - 1 if i else None} for i in range(depth)]
    return split(nodes=nodes)


@pytest.mark.parametrize("depth", [1001, 20_000])
def test_a_call_tree_that_is_too_deep_is_refused(depth, file):
    """Each of 20,000 regions with all its callers took 1.6 GB of a file of 1 MB."""
    path = file(chain(depth), "profile.json")
    assert "must have at most 1,000 regions one within the other" in refusal("caliper", path)
    graph = {
        str(i): {"data": {"name": "f"}, "children": [i + 1] if i < depth - 1 else []}
        for i in range(depth)
    }
    table = {"dataframe": [{"node": 0, "time": 1.0}]}
    metrics = {"inclusive_metrics": [], "exclusive_metrics": ["time"]}
    path.write_text(json.dumps({"graph": [graph], **table, **metrics}))
    assert "must have at most 1,000 regions one within the other" in refusal("hatchet", path)


@pytest.mark.parametrize(
    ("limit", "most", "says"),
    [
        ("call_profile.MOST_PARTS", 1, "regions in all its call paths, got more. Profile fewer"),
        ("caliper.MOST_ROWS", 1, "must have at most 1 times, got more."),
        ("caliper.MOST_PLACES", 1, "must have at most 1 ranks, got more."),
    ],
)
def test_more_records_than_fit_into_memory_are_refused(limit, most, says, monkeypatch):
    monkeypatch.setattr(f"parcast.importers.{limit}", most)
    with pytest.raises(FileProblems) as caught:
        import_timings([P2], "caliper")
    assert says in str(caught.value)


def test_a_metric_that_is_not_there_is_refused_with_those_that_are():
    assert refusal("caliper", P2, metric="inclusive") == (
        "file  must have the metric 'inclusive', got time (exclusive). Choose one of them: "
        "metric=NAME"
    )
