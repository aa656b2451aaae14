"""Dry runs of requests: what the code of the library takes for each."""

from math import isfinite

import numpy as np
import pytest

from parcast.arrays.calibration.dry_run import Rehearsal, Stage, dry_run
from tests.arrays.trials.made import request

REQUESTS = [
    request(shape=[37, 23, 11], client_mesh=[1, 3, 1], servers=2, subchunk="2 KiB"),
    request(shape=[512, 64, 64], client_mesh=[2, 1, 2], servers=2, operation="read"),
    request(shape=[8, 8], client_mesh=[2, 2], arrays=100, servers=3, subchunk="8 KiB"),
]


class Ticks:
    """A clock that goes on by a step whenever it is read."""

    def __init__(self, step=1.0):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_a_dry_run_gives_times_and_lengths_of_its_request(request_):
    found = dry_run(request_)
    times = (found.construct_schema, found.parse_schema, found.boundary)
    assert all(0 < time < 1 for time in times)
    assert 0 <= found.find < 1
    assert found.passes >= 1
    assert found.schema_length > 100
    assert 20 < found.request_length < 2000
    assert found.place_rate > 0
    assert (found.encode_rate < 1e12) == (request_.operation == "write")
    if request_.operation == "write":
        assert found.decode > 0


def test_what_lies_in_a_row_is_not_packed():
    whole = dry_run(request(shape=[64, 64], client_mesh=[2, 1]))
    batch = dry_run(request(shape=[64, 64], client_mesh=[2, 1], arrays=8))
    assert not isfinite(whole.copy_rate)
    assert isfinite(batch.copy_rate)


def test_longer_descriptions_make_longer_schemas():
    one, many = (dry_run(request(shape=[8, 8], client_mesh=[2, 1], arrays=n)) for n in (1, 200))
    assert many.schema_length > one.schema_length + 200 * 5
    assert many.request_length > one.request_length


def test_every_step_is_timed_once():
    """With a clock of whole ticks, times are the numbers of its readings in between."""
    asked = request(shape=[4, 8], client_mesh=[2, 1])
    sums = Rehearsal(asked, Ticks()).made()
    # A call that sends reads the clock twice, so that what contains it lasts three ticks.
    assert sums.each("describe") == 3
    assert sums.calls["describe"] == 2
    assert sums.each("construct") == 3 + 1 + 3  # describing, two descriptions and the schema
    assert sums.each("parse") == 1
    assert sums.calls["boundary"] == 2
    assert sums.each("boundary") == 2  # from the end of a call to the end of the next
    assert sums.calls["decode"] == sums.calls["place"] == 2
    assert sums.amounts["place"] == sums.amounts["encode"] == asked.size
    assert sums.seconds["place"] == 2
    assert sums.seconds["encode"] == 1


def test_times_scale_with_the_clock():
    asked = request(shape=[16, 16], client_mesh=[2, 2], arrays=20)
    one, ten = (dry_run(asked, clock=Ticks(step)) for step in (1e-6, 1e-5))
    for name in ("construct_schema", "parse_schema", "find", "boundary", "decode"):
        assert getattr(ten, name) == pytest.approx(10 * getattr(one, name))
    assert one.place_rate == pytest.approx(10 * ten.place_rate)


def test_memory_that_is_new_to_a_read_takes_longer_once(monkeypatch):
    clock, seen, moved = Ticks(0.0), set(), Stage.moved

    def slow_at_first(stage, source, sent):
        views = moved(stage, source, sent)
        [place] = [np.asarray(view).__array_interface__["data"][0] for view in views]
        clock.now += 1e-9 * sent.buffers[0].nbytes * (1 if place in seen else 5)
        seen.add(place)
        return views

    monkeypatch.setattr(Stage, "moved", slow_at_first)
    asked = request(shape=[512, 64], client_mesh=[2, 1], operation="read")
    assert Rehearsal(asked, clock).made().rate("touch") == pytest.approx(1e9 / 4)


def test_it_leaves_no_file_open_and_writes_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dry_run(REQUESTS[0])
    assert list(tmp_path.iterdir()) == []
