"""`timings.read_profiles`: runs from lines of ranks, and every fault of a file with its line."""

import json

import pytest

from parcast.errors import FileProblems
from parcast.timings import read_profiles as profiles
from parcast.timings.profile import SCHEMA
from parcast.timings.read_profiles import read_profiles


def line(rank=0, p=1, *, begun=1e9, span=1.0, regions=None, **keys):
    """One rank's record, as the file has it."""
    document = {
        "schema": SCHEMA,
        "parcast": "0",
        "program": "plate",
        "host": "here",
        "rank": rank,
        "p": p,
        "begun": begun,
        "span_s": span,
        "entry_s": 1e-6,
        "other_threads": 0,
        "parameters": {"n": 64.0},
        "regions": [total()] if regions is None else regions,
    }
    return json.dumps(document | keys) + "\n"


def total(name="sweep", kind="compute", **keys):
    """All passes through a region."""
    return {
        "name": name,
        "kind": kind,
        "entries": 2,
        "wall_s": 0.5,
        "processor_s": 0.5,
        "squares_s2": 0.125,
        "iterations": 100.0,
        "calls": 2.0,
        "volume_B": 0.0,
        "counts": {},
    } | keys


@pytest.fixture
def read(tmp_path):
    def ask(*texts):
        paths = []
        for i, text in enumerate(texts):
            paths.append(tmp_path / f"run{i}.jsonl")
            paths[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_profiles(paths)

    return ask


def test_ranks_are_joined_in_their_order_and_runs_in_that_of_their_dates(read):
    later = line(1, 2, begun=2e9) + line(0, 2, begun=2e9 + 0.1)
    told = read(later + line(1, 2) + line(0, 2, begun=1e9 + 0.2) + line(begun=1.5e9) + "\n\n")
    assert [x.p for x in told.runs] == [2, 1, 2]
    assert [[r.rank for r in x.ranks] for x in told.runs] == [[0, 1], [0], [0, 1]]
    assert [x.place.rpartition(", ")[2] for x in told.runs] == ["line 3", "line 5", "line 1"]
    assert told.notes == ()
    assert told.runs[0].of_region("sweep")[1].iterations == 100
    assert told.runs[0].of_region("none") == [None, None]


def test_a_run_that_lacks_ranks_is_left_out_and_named(read):
    told = read(line(0, 3) + line(begun=2e9))
    assert [x.p for x in told.runs] == [1]
    (note,) = told.notes
    assert (
        "run0.jsonl, line 1 is left out: ranks 1, 2 of 3 are missing, as they did not end" in note
    )


def test_no_complete_run_is_a_fault(read):
    with pytest.raises(
        FileProblems, match=r"must contain a complete run. The run of .* ranks 1 of"
    ):
        read(line(0, 2))
    with pytest.raises(FileProblems, match="2 profiles: 1 problem"):
        read(line(0, 9), line(0, 2))


FAULTS = [
    ("", "must contain a profile, but is empty. Run the program with PARCAST_PROFILE."),
    (b"\x1f\x8b\x08", "must be a profile, got a gzip archive. Unpack it."),
    (line()[:40] + "\0", "must be a profile, got a NUL byte."),
    ("p,time_s\n1,2\n", "must be a profile, got p,time_s. Name a file that PARCAST_PROFILE"),
    (line() + "x\n", "line 2  must be a rank's record as JSON: expecting value at character 1."),
    (line().encode() + b"\xff\xff{}\n", "must be text in UTF-8."),
    (line() + "[1]\n", 'must be a rank\'s record, with "schema": "parcast/profile/1", got [1].'),
    ('{"schema": "parcast/run/1"}\n', "must be a rank's record"),
    (line(schema="parcast/profile/2"), 'schema  must be "parcast/profile/1", got "parcast/pro'),
    (line()[:-30], "The line was cut: delete it, and its run is left out, or make that run"),
    (line() + "[" * 100_000, "must be nested less deeply."),
    (line(span=float("nan")), "must have finite numbers, got one where NaN is no number."),
    (line(span=-1.0), "span_s  must be a number from 0 to 1e+30, got -1.0. Make the run"),
    (line(entry_s=10**400), "entry_s  must be a number from 0 to 1e+30, got inf"),
    (line(rank=True), "rank  must be a whole number from 0 to 1e+15, got True."),
    (line(3, 2), "rank  must be below p = 2, got 3. Ranks are counted from 0."),
    (line(p=0), "p  must be a whole number from 1 to 1e+15, got 0."),
    (line(program=""), "program  must be printable text, got ''."),
    (line(parameters={"n": "big"}), "parameters.n  must be a number from -1e+30 to 1e+30, got"),
    (line(parameters=[1]), "parameters  must be an object of numbers, got [1]."),
    (line(regions=[]), "regions  must be a list of regions, at least one, got []."),
    (line(regions=[{}] * 10_001), "regions  must be at most 10,000, got 10,001."),
    (line(regions=[total(), total()]), 'must have names that differ, got "sweep" twice.'),
    (line(regions=[total(kind="halos")]), 'kind  must be a known kind, got "halos". Did'),
    (line(regions=[total(wall_s=-2.0)]), 'region "sweep".wall_s  must be a number from 0'),
    (line(regions=[total(counts={"a": -1})]), "counts.a  must be a number from 0 to 1e+30"),
    (line(regions=[{"kind": "read"}]), "9 problems\n  line 1  region 1.name "),
    (line(0, 2) + line(1, 2, parameters={"n": 65.0}), "parameters  must be the same as in line"),
    (
        line(0, 2) + line(1, 2, regions=[total(kind="replicated")]),
        'region "sweep"  must be of one kind on all ranks, got "replicated" and "compute".',
    ),
    (line() + line(), "must be of a later run than line 1, as both are of rank 0, got overlapp"),
]


@pytest.mark.parametrize(("text", "says"), FAULTS, ids=[says[:40] for _, says in FAULTS])
def test_what_is_wrong_is_told_with_its_line(read, text, says, refusal):
    assert says in refusal(FileProblems, read, text)


def test_all_faults_of_all_files_come_together(read):
    with pytest.raises(FileProblems) as caught:
        read(line(p=0, rank=-1) + "{\n" + line(), line(), line(span=-1.0))
    said = str(caught.value)
    assert said.startswith("2 profiles: 4 problems")
    assert [x.line for x in caught.value.problems] == [1, 1, 2, 1]
    assert "run2.jsonl  span_s" in said


def test_a_file_that_is_too_long_is_refused_before_it_fills_the_memory(read, monkeypatch):
    monkeypatch.setattr(profiles, "LARGEST", 2_000_000)
    monkeypatch.setattr(profiles, "PIECE", 1000)
    with pytest.raises(FileProblems, match="must have at most 2 MB, got more"):
        read(line() * 10_000)


def test_a_file_that_is_named_twice_is_no_repetition(read):
    with pytest.raises(FileProblems, match=r"must contain other runs than .*run0.jsonl, got the"):
        read(line(), line())
    assert len(read(line(), line(begun=2e9)).runs) == 2


def test_work_quanta_are_read_where_they_are_given(read):
    timed = read(line(quanta_s={"before": 2e-5, "after": 3e-5}))
    assert timed.runs[0].ranks[0].quanta == (2e-5, 3e-5)
    assert read(line()).runs[0].ranks[0].quanta == ()
    with pytest.raises(FileProblems, match=r"quanta_s.*must be a number from 0 to 1e"):
        read(line(quanta_s={"before": -1.0}))
    assert timed.runs[0].ranks[0].waited is None
    assert read(line(waited_s=0.5)).runs[0].ranks[0].waited == 0.5
    with pytest.raises(FileProblems, match=r"waited_s.*must be a number from 0 to 1e"):
        read(line(waited_s=-1.0))


def test_a_file_of_wrong_lines_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(profiles, "HOPELESS", 20)
    (tmp_path / "run.jsonl").write_text("{}\n" * 1000)
    with pytest.raises(FileProblems) as caught:
        read_profiles([tmp_path / "run.jsonl"])
    (problem,) = caught.value.problems
    assert problem.message.endswith(" Likewise lines 2, 3, 4 and 17 more.")


def test_passes_that_overlapped_are_read(read):
    assert read(line(overlapping=3)).runs[0].ranks[0].overlapping == 3
    assert read(line()).runs[0].ranks[0].overlapping == 0
    with pytest.raises(FileProblems, match=r"overlapping.*must be a whole number from 0"):
        read(line(overlapping=-1))


def test_a_stream_that_breaks_is_told():
    class Broken:
        name = "pipe"

        def read(self, count):
            raise OSError(5, f"Input/output error after {count} bytes")

    with pytest.raises(FileProblems, match="must be readable, got: Input/output error"):
        read_profiles([Broken()])
