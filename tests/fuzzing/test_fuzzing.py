"""The search itself: faults that are put into a reader are found, made small and kept."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import click
import pytest
from click.testing import CliRunner
from hypothesis import strategies as st

from parcast.errors import FileProblems, ParameterError, Problem
from tests.fuzzing import attempts, children, findings, run
from tests.fuzzing.attempts import attempt
from tests.fuzzing.children import Children
from tests.fuzzing.findings import Finding, minimised
from tests.fuzzing.mutations import MUTATIONS, mutated
from tests.fuzzing.readers import READERS, Reader


def refused(message):
    def read(path):
        raise FileProblems(str(path), [Problem(message="must be a table.")])

    read.printed = f"parcast: file: 1 problem\n  file  {message}\n"
    return read


def endless(_):
    while True:
        time.sleep(0.01)


def hungry(_):
    return bytes(3 * attempts.MEMORY)


def hungry_in_words(path):
    try:
        hungry(path)
    except MemoryError as full:
        raise FileProblems(str(path), [Problem(message="must be smaller.")]) from full


def faulty(path):
    if b"9" in path.read_bytes():
        raise KeyError("9")


def number_that_is_none(_):
    import numpy as np

    return np.float64(1e300) * 1e300


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file, and less patience than with a real one."""
    monkeypatch.setattr(attempts, "SECONDS", 0.2)
    path = tmp_path / "file"
    path.write_bytes(b"content")
    return path


@pytest.mark.parametrize(
    ("read", "kind", "detail"),
    [
        (Path.read_bytes, "read", ""),
        (refused("must be a table."), "refused", ""),
        (refused("must be a table, got '\x1b[31m'."), "message", "a raw control character "),
        (refused("must be a table.\nparcast: all is well"), "message", "a line that was forged "),
        (refused("must be " + "x" * 20_000), "message", "a message of thousands of characters "),
        (faulty, "read", ""),
        (endless, "time", ""),
        (hungry, "memory", ""),
        (hungry_in_words, "memory", ""),
        (number_that_is_none, "exception", "RuntimeWarning "),
        (os.listdir, "refused", ""),  # an error of the system
    ],
)
def test_what_became_of_a_case_is_told(file, monkeypatch, read, kind, detail):
    if kind == "message":  # whatever the command line would make of it
        monkeypatch.setattr(attempts, "said", lambda _: (read.printed, 3))
    outcome = attempt(read, file)
    assert outcome.kind == kind
    assert outcome.detail.startswith(detail)
    assert outcome.is_bad == (kind not in attempts.GOOD)


def test_a_fault_is_told_with_its_place_in_parcast(file):
    def read(_):
        ParameterError("p", must="be at least 1").named()  # without its argument

    assert attempt(read, file).detail.startswith("TypeError in ")
    assert attempt(lambda _: click.UsageError("no").show(None, None, 1), file).kind == "exception"


def test_a_child_that_dies_or_cannot_be_interrupted_is_replaced(tmp_path, monkeypatch):
    def blocked(_):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        time.sleep(60)

    def read(path):
        content = path.read_bytes()
        if content == b"abort":
            os.abort()
        if content == b"block":
            blocked(path)

    monkeypatch.setitem(READERS, "x", Reader(name="x", documents=st.just(b""), read=read))
    monkeypatch.setattr(children, "SECONDS", 0.2)
    monkeypatch.setattr(children, "GRACE", 0.2)
    serving = Children(tmp_path)
    try:
        found = [serving.attempt("x", x) for x in (b"abort", b"good", b"block", b"good")]
    finally:
        serving.close()
    assert [x.kind for x in found] == ["dead", "read", "time", "read"]
    assert found[0].detail == "ended by SIGABRT"


def test_the_memory_of_a_case_is_its_own(tmp_path, monkeypatch):
    def read(path):
        return b"x" * int(path.read_bytes())

    monkeypatch.setitem(READERS, "x", Reader(name="x", documents=st.just(b""), read=read))
    serving = Children(tmp_path)
    try:
        large, small = (serving.attempt("x", x).memory for x in (b"100000000", b"1"))
    finally:
        serving.close()
    assert large > 50e6
    assert small < large / 2


def test_a_finding_is_made_small_and_stays_one():
    assert minimised(b"a,b\n1,9\n" * 50, lambda x: b"9" in x) == b"9"
    assert minimised(b"abcdef", lambda x: x.startswith(b"a") and b"e" in x) == b"ae"
    assert minimised(b"abcdef", lambda _: True, patience=0.0) == b"abcdef"


def test_a_finding_is_one_file_that_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(findings, "CORPUS", tmp_path)
    finding = Finding(
        reader="csv", kind="exception", detail="KeyError in a/b.py: c", seed="1", content=b"\n\xff"
    )
    finding.save()
    replace(finding, seed="2").save()  # an equal one
    assert findings.saved() == [replace(finding, seed="2")]


def test_mutations_repeat_themselves_and_differ_from_each_other():
    document = b'{"a": [1, {"b": 2.5}], "c": "word"}\nline 2\n'
    mutants = [mutated(document, Random(i)) for i in range(100)]
    assert mutants == [mutated(document, Random(i)) for i in range(100)]
    assert len(set(mutants)) > 80


@pytest.mark.parametrize("mutation", dict.fromkeys(MUTATIONS), ids=lambda x: x.__name__)
@pytest.mark.parametrize("content", [b"", b"{}", b'{"a": [1, "b"]}', b"p,time_s\n1,2.5\n"])
def test_every_mutation_takes_every_document(mutation, content):
    changed = {mutation(content, Random(i)) for i in range(20)}
    assert changed - {content} or b"\n" not in content


def test_calls_repeat_themselves_from_the_same_start_and_never_from_another():
    first, again, other = (READERS["call-plan-io"].drawn(5, start=x) for x in (0, 0, 1))
    assert first == again
    assert len({*first, *other}) == 10


@pytest.mark.parametrize(("name", "status"), [("good", 0), ("faulty", 1)])
def test_a_run_prints_what_became_of_all_and_keeps_what_failed(
    tmp_path, monkeypatch, name, status
):
    monkeypatch.setattr(findings, "CORPUS", tmp_path)
    for known, read in {"good": Path.read_bytes, "faulty": faulty}.items():
        reader = Reader(name=known, documents=st.just(b"p,time_s\n1,2\n"), read=read)
        monkeypatch.setitem(READERS, known, reader)
    said = CliRunner().invoke(run.main, ["--minutes", "0.01", "--reader", name])
    assert said.exit_code == status, said.output
    assert f"{name} " in said.output
    kept = findings.saved()
    assert [x.content for x in kept] == [b"9"] * status
    assert all(x.detail.startswith("KeyError in ") for x in kept)
