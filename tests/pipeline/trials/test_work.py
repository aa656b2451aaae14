"""The synthetic job: processor time, lengths, and what a trace of it gives."""

from time import thread_time

import numpy as np
import pytest

from parcast.pipeline.run import run_pipeline
from parcast.pipeline.traces.header import TraceHeader
from parcast.pipeline.traces.trace import EVENTS, Trace, read_trace
from parcast.pipeline.trials.work import Work
from parcast.pipeline.trials.worker import parts_of


def test_a_task_uses_its_processor_time_and_gives_a_message_of_its_length():
    work = Work(task=0.01, message=800)
    begun = thread_time()
    result = work.on(3)
    assert 0.01 <= thread_time() - begun < 0.02
    assert result.nbytes == 800
    assert (result == 3.0).all()


def test_results_add_or_grow():
    work = Work(task=1e-5, merge=1e-5, message=16)
    assert run_pipeline(range(5), work.on, work.of).value.tolist() == [10.0, 10.0]
    growing = Work(task=1e-5, merge=1e-5, message=16, grows=True)
    value = run_pipeline(range(3), growing.on, growing.of).value
    assert value.tolist() == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]


def test_the_parts_of_a_run_on_one_process_are_those_of_the_work(tmp_path):
    work, path = Work(task=0.002, merge=0.001), tmp_path / "run.jsonl"
    run_pipeline(range(16), work.on, work.of, batch=1, trace=path)
    parts = parts_of(read_trace(path))
    assert parts.processor == pytest.approx(0.002, rel=0.2)
    assert parts.task >= parts.processor * 0.99
    assert parts.merge >= 0.001
    assert (parts.message, parts.exposed, parts.bytes) == (None, None, None)


def test_the_times_of_messages_are_means_and_those_after_the_last_task_apart():
    def events(kind, *rows):
        return np.array(list(rows), dtype=EVENTS[kind])

    header = TraceHeader(
        program="x", schedule="adaptive", ranks=2, items=4, hosts=("a", "a"), cores=2,
        offset=(0.0, 0.0), residual=(0.0, 0.0), seconds=1.0,
    )  # fmt: skip
    trace = Trace(
        header=header,
        tasks=events(
            "task", (0, 0.0, 0.1, 0.1, 0, 1), (0, 0.11, 0.21, 0.1, 1, 2), (1, 0.0, 0.3, 0.2, 2, 4)
        ),
        merges=events("merge", (0, 0.21, 0.22, 0.01, 0, 2, 2), (0, 0.32, 0.35, 0.02, 0, 4, 3)),
        messages=events("message", (1, 0, 0.1, 0.15, 100, 2, 3), (1, 0, 0.3, 0.31, 300, 3, 4)),
        fetches=events("fetch"),
        deliveries=events("deliver"),
    )
    parts = parts_of(trace)
    assert parts.task == pytest.approx(0.5 / 4)
    assert parts.processor == pytest.approx(0.1)
    assert parts.merge == pytest.approx(0.04 / 3)
    assert parts.message == pytest.approx(0.03)
    assert parts.exposed == pytest.approx(0.01)
    assert parts.bytes == pytest.approx(200)
    assert parts.cv2 == pytest.approx(0.25)
    assert parts.overhead == pytest.approx(0.01)  # of 0.01, 0 and 0.1 s
