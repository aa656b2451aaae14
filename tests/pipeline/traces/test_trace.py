"""Traces: what is written is read, and what is wrong is refused with its line."""

import gzip
import json
import subprocess
import sys
import textwrap
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import FileProblems
from parcast.pipeline.traces.header import SCHEMA, TraceHeader
from parcast.pipeline.traces.trace import EVENTS, read_trace, write_trace
from tests.conftest import unmeasured

NAME_ONE = "Name a trace, which this writes: parcast run pipeline JOB --trace trace.jsonl"
HEADER = TraceHeader(
    program="words",
    schedule="adaptive",
    ranks=2,
    items=10,
    hosts=("a", "b"),
    cores=2,
    offset=(0.0, -3.5),
    residual=(0.0, 1e-5),
    seconds=2.5,
    started="2026-11-22T10:00:00+00:00",
    parcast="0.1.0",
)
TASK = {
    "event": "task",
    "rank": 1,
    "start": 0.25,
    "end": 0.5,
    "processor": 0.2,
    "first": 0,
    "stop": 4,
}
MESSAGE = {
    "event": "message",
    "source": 1,
    "target": 0,
    "sent": 0.5,
    "received": 0.75,
    "bytes": 100,
    "first": 0,
    "stop": 4,
}
FETCH = {"event": "fetch", "rank": 0, "start": 0.0, "end": 0.125, "items": 4}
MERGE = TASK | {"event": "merge", "rank": 0, "start": 0.75, "end": 0.8, "inputs": 2}
DELIVER = {
    "event": "deliver",
    "rank": 0,
    "start": 0.8,
    "end": 0.9,
    "first": 0,
    "stop": 10,
    "bytes": 7,
}
ALL = [FETCH, TASK, MESSAGE, MERGE, DELIVER]


def write(path, *lines, end="\n"):
    path.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines) + end)
    return path


def problems(path, *lines, end="\n"):
    """Each fault of such a file, and its line."""
    with pytest.raises(FileProblems) as caught:
        read_trace(write(path, *lines, end=end))
    return [(x.line, f"{x.field} {x.message}".strip()) for x in caught.value.problems]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trace.jsonl"


@pytest.mark.parametrize("name", ["trace.jsonl", "trace.jsonl.gz"])
def test_what_is_written_is_read(tmp_path, name):
    path = tmp_path / name
    write_trace(path, HEADER, iter(ALL))
    trace = read_trace(path)
    assert trace.header == HEADER
    assert list(trace.events()) == ALL
    assert trace.notes == ()
    assert trace.path == str(path)
    assert repr(trace) == "Trace('words', 2 ranks: 1 tasks, 1 merges, 1 messages)"
    again = tmp_path / f"again-{name}"
    write_trace(again, trace.header, trace.events())
    assert again.read_bytes() == path.read_bytes()


def test_the_first_line_is_the_header_of_the_format(path):
    write_trace(path, HEADER, [])
    assert json.loads(path.read_text()) == {
        "schema": "parcast/pipeline-trace/1",
        "program": "words",
        "schedule": "adaptive",
        "ranks": 2,
        "pipelines": 1,
        "fan_in": 2,
        "items": 10,
        "hosts": ["a", "b"],
        "cores": 2,
        "clock": {"offset_s": [0.0, -3.5], "residual_s": [0.0, 1e-05]},
        "seconds": 2.5,
        "started": "2026-11-22T10:00:00+00:00",
        "parcast": "0.1.0",
    }


times = st.floats(0, 1e6, allow_subnormal=False)
whole = st.integers(0, 2**62 - 1)  # a sum of two fits into int64


@given(
    st.lists(
        st.builds(
            lambda start, length, first, count, size, rank: (
                TASK
                | {"start": start, "end": start + length, "first": first, "stop": first + count},
                MESSAGE
                | {"source": rank, "sent": start, "received": start + length, "bytes": size},
            ),
            times,
            times,
            whole,
            whole,
            whole,
            st.integers(0, 1),
        )
    )
)
def test_any_events_come_back_to_the_nanosecond(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("any") / "trace.jsonl"
    write_trace(path, HEADER, chain.from_iterable(pairs))
    trace = read_trace(path)
    assert len(trace.tasks) == len(trace.messages) == len(pairs)
    for written, events in ((0, trace.tasks), (1, trace.messages)):
        for name in events.dtype.names:
            expected = [pair[written][name] for pair in pairs]
            assert np.abs(events[name] - np.array(expected, events[name].dtype)).max(
                initial=0
            ) <= (1e-9 if events[name].dtype.kind == "f" else 0)


def test_an_error_while_writing_leaves_what_was_there(path):
    def events():
        yield TASK
        raise KeyboardInterrupt

    path.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        write_trace(path, HEADER, events())
    assert path.read_text() == "before"
    assert [x.name for x in path.parent.iterdir()] == ["trace.jsonl"]


def test_unknown_events_and_keys_are_ignored_with_a_note(path):
    write(path, HEADER.to_document() | {"more": 1}, TASK | {"color": "red"}, {"event": "spill"})
    trace = read_trace(path)
    assert trace.notes == ("1 event of unknown kind ignored: spill.",)
    assert len(trace.tasks) == 1


def test_an_empty_file_is_refused(path):
    assert problems(path, end="") == [(None, f"must be a trace, but is empty. {NAME_ONE}")]


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (
            SCHEMA + "2",
            'must be "parcast/pipeline-trace/1", got "parcast/pipeline-trace/2", which a later '
            "parcast wrote. Update parcast.",
        ),
        (
            "parcast/profile/1",
            f'must be "parcast/pipeline-trace/1", got "parcast/profile/1". {NAME_ONE}',
        ),
        (None, 'must be "parcast/pipeline-trace/1", got none. ' + NAME_ONE),
    ],
)
def test_another_schema_is_refused(path, schema, says):
    header = HEADER.to_document() | {"schema": schema}
    assert problems(path, header, TASK) == [(1, f"schema {says}")]


def test_text_that_is_no_trace_is_refused(path):
    [(line, says)] = problems(path, "p,time_s", "1,2.0")
    assert line == 1
    assert says == f"must be a JSON object: expecting value. {NAME_ONE}"


def test_every_wrong_value_of_a_header_is_named(path):
    wrong = {
        "schedule": "adaptve",
        "ranks": 0,
        "items": -1,
        "hosts": [],
        "clock": {"residual_s": [-1.0]},
        "seconds": "2",
        "program": None,
    }
    found = problems(path, HEADER.to_document() | wrong)
    assert {line for line, _ in found} == {1}
    assert [text for _, text in found] == [
        "ranks must be a whole number of at least 1, got 0.",
        "program must be text, got None.",
        'schedule must be "adaptive" or "source", got "adaptve". Did you mean adaptive?',
        "items must be a whole number of at least 0, got -1.",
        "hosts must be a list with a name for each of the 1 ranks, got [].",
        "clock.offset_s must be a list with a time for each of the 1 ranks, got none.",
        "clock.residual_s must be a list with a time of at least 0 for each of the 1 ranks, got "
        "[-1.0].",
        "seconds must be a time of at least 0 in seconds, got '2'.",
    ]


TWO = [{"program": "one", "start": 0.0}, {"program": "two", "start": 0.5}]


@pytest.mark.parametrize(
    "listed",
    [None, 3, "two", [3], [{"program": "a"}], TWO[::-1], TWO[1:]]
    + [[*TWO, {"program": "c", "start": x}] for x in ("x", float("nan"), float("inf"), 1e31)],
)
def test_reductions_that_make_no_sense_are_refused(tmp_path, listed):
    path = tmp_path / "trace.jsonl"
    document = HEADER.to_document() | {"reductions": listed}
    path.write_text(json.dumps(document) + "\n")
    with pytest.raises(
        FileProblems, match="must be programs with rising times from 0 on as start"
    ):
        read_trace(path)


def test_a_last_line_that_was_cut_is_refused(path):
    cut = json.dumps(MESSAGE)[:40]
    assert problems(path, HEADER.to_document(), TASK, cut, end="") == [
        (3, "must be complete, but was cut. Copy the file again, or delete this line.")
    ]
    assert problems(path, json.dumps(HEADER.to_document())[:90], end="") == [
        (1, "must be complete, but was cut. Copy the file again, or delete this line.")
    ]


def test_a_packed_file_that_was_cut_is_refused(tmp_path):
    path = tmp_path / "trace.jsonl.gz"
    write_trace(path, HEADER, ALL * 100)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileProblems, match=r"got a gzip file that was cut. Copy it again\."):
        read_trace(path)


@pytest.mark.parametrize(
    ("event", "change", "says"),
    [
        (TASK, {"end": 0.125}, "end must be a time not before start, got 0.125."),
        (FETCH, {"start": 1.0}, "end must be a time not before start, got 0.125."),
        (TASK, {"rank": 2}, "rank must be a rank from 0 to 1, got 2."),
        (TASK, {"rank": 0.5}, "rank must be a whole number, got 0.5."),
        (TASK, {"rank": True}, "rank must be a whole number, got True."),
        (TASK, {"start": None}, "start must be a number, got none."),
        (TASK, {"start": "0.2"}, "start must be a number, got '0.2'."),
        (TASK, {"end": float("inf")}, "end must be a number of seconds up to 1e+30, got inf."),
        (TASK, {"end": 10**400}, f"end must be a number, got {'1' + 29 * '0'}...."),
        (TASK, {"processor": -1e-3}, "processor must be at least 0, got -0.001."),
        (TASK, {"stop": -1}, "stop must be at least first, got -1."),
        (MERGE, {"inputs": 0}, "inputs must be at least 1, got 0."),
        (MESSAGE, {"target": -1}, "target must be a rank from 0 to 1, got -1."),
        (MESSAGE, {"bytes": -5}, "bytes must be at least 0, got -5."),
        (MESSAGE, {"bytes": 2**63}, "bytes must be a whole number, got 9223372036854775808."),
        (MESSAGE, {"event": 7}, "event must be the kind of an event, got 7."),
        (MESSAGE, {"event": None}, "event must be the kind of an event, got none."),
    ],
)
def test_a_wrong_value_is_refused_with_its_line(path, event, change, says):
    assert problems(path, HEADER.to_document(), *ALL, event | change) == [(7, says)]


def test_a_missing_value_and_lines_that_are_no_objects_come_together(path):
    without = {name: value for name, value in MESSAGE.items() if name != "bytes"}
    assert problems(path, HEADER.to_document(), without, "[1]", "{}", "oh", TASK) == [
        (2, "bytes must be a whole number, got none."),
        (3, f"must be a JSON object, got [1]. {NAME_ONE}"),
        (4, "event must be the kind of an event, got none."),
        (5, f"must be a JSON object: expecting value. {NAME_ONE}"),
    ]


def test_messages_may_arrive_early_by_the_residual_of_the_clocks(path):
    early = MESSAGE | {"received": MESSAGE["sent"] - 0.9e-5}
    assert read_trace(write(path, HEADER.to_document(), early)).notes == ()
    earlier = MESSAGE | {"received": MESSAGE["sent"] - 0.25}
    trace = read_trace(write(path, HEADER.to_document(), MESSAGE, MESSAGE, earlier))
    assert trace.notes == (
        "1 of 3 messages arrive before they are sent, by up to 250 ms, which is more than the "
        "stated residual of the clocks.",
    )


def test_a_trace_whose_messages_mostly_arrive_before_they_are_sent_is_refused(path):
    early = MESSAGE | {"received": 0.25}
    assert problems(path, HEADER.to_document(), MESSAGE, TASK, early, early) == [
        (
            4,
            "received must be a time after sent: 2 of 3 messages arrive before they are sent, by "
            "up to 250 ms. Are the columns or the clocks confused?",
        )
    ]


def test_a_nul_byte_is_refused(path):
    path.write_bytes(b'{"schema": "x"}\n\0\0\n')
    with pytest.raises(FileProblems, match="got a NUL byte"):
        read_trace(path)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path):
    path = tmp_path / "trace.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(80):
            stream.write(b" " * 2**20)
    with pytest.raises(FileProblems, match="got a line of more than 64 MiB"):
        read_trace(path)


def test_many_messages_take_little_more_memory_than_their_columns(path):
    write_trace(path, HEADER, [MESSAGE])
    header, message = path.read_text().splitlines(keepends=True)
    path.write_text(header + 400_000 * message)
    code = textwrap.dedent(f"""
        from parcast.trials.process_memory import peak_memory
        from parcast.pipeline.traces.trace import read_trace
        least = peak_memory()
        trace = read_trace({str(path)!r})
        print(len(trace.messages), peak_memory() - least)
    """)
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=unmeasured()
    )
    count, memory = run.stdout.split()
    columns = int(count) * EVENTS["message"].itemsize
    assert int(count) == 400_000
    assert float(memory) < 1.5 * columns + 120e6  # [B]; ten million take ten times the first part
