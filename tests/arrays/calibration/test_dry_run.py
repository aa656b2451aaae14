"""Requests as the law sees them and as the library does, and dry runs of them."""

from math import isfinite

import numpy as np
import pytest

from parcast.arrays.calibration.dry_run import NullFiles, Rehearsal, Stage, dry_run
from parcast.arrays.law.costs import ClientCosts, Costs, ServerCosts
from parcast.arrays.law.request import request_time
from parcast.arrays.trials.carried import CarriedRequest
from parcast.errors import ParameterError

REQUESTS = [
    CarriedRequest(shape=(64, 64, 32), mesh=(2, 2, 1)),
    CarriedRequest(shape=(37, 23, 11), mesh=(1, 3, 1), servers=2, subchunk=2048),
    CarriedRequest(shape=(512, 64, 64), mesh=(2, 1, 2), servers=3),
    CarriedRequest(shape=(512, 64, 64), mesh=(2, 1, 2), servers=2, operation="read"),
    CarriedRequest(shape=(8, 8), mesh=(2, 2), number=100, servers=3, subchunk=8192),
    CarriedRequest(shape=(8, 8), mesh=(2, 2), number=100, servers=3, batch=False),
    CarriedRequest(shape=(8, 8), mesh=(4, 1), number=50, servers=2, stack=True),
    CarriedRequest(shape=(300, 300), mesh=(1, 2), number=3, subchunk=1 << 17, dtype="float32"),
]


class Ticks:
    """A clock that goes on by a step whenever it is read."""

    def __init__(self, step=1.0):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_the_law_has_the_messages_and_subchunks_of_the_library(request_):
    schema = request_.schema
    costs = Costs(clients=ClientCosts(), servers=ServerCosts(write_rate=1e9))
    time = request_time(request_.tables, costs, request_.options())
    for server in range(request_.servers):
        units = list(schema.units(server, request_.servers))
        kinds = [schema.kinds[schema.arrays[unit.arrays[0]].kind] for unit in units]
        asked = [{x.client for y in unit.subchunks for x in y.overlaps} for unit in units]
        assert time.messages[server] == sum(map(len, asked))
        size = sum(
            len(unit.arrays) * kind.item * np.prod(subchunk.count)
            for unit, kind in zip(units, kinds, strict=True)
            for subchunk in unit.subchunks
        )
        assert time.size[server] == size
        files = {
            (a // schema.arrays_a_chunk if schema.stack else a, x.chunk)
            for unit in units
            for a in unit.arrays
            for x in unit.subchunks
        }
        assert request_.files.number[server] == len(files)
    assert time.size.sum() == request_.size


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
    whole = dry_run(CarriedRequest(shape=(64, 64), mesh=(2, 1)))
    batch = dry_run(CarriedRequest(shape=(64, 64), mesh=(2, 1), number=8))
    assert not isfinite(whole.copy_rate)
    assert isfinite(batch.copy_rate)


def test_longer_descriptions_make_longer_schemas():
    one, many = (dry_run(CarriedRequest(shape=(8, 8), mesh=(2, 1), number=n)) for n in (1, 200))
    assert many.schema_length > one.schema_length + 200 * 5
    assert many.request_length > one.request_length


def test_every_step_is_timed_once():
    """With a clock of whole ticks, times are the numbers of its readings in between."""
    request = CarriedRequest(shape=(4, 8), mesh=(2, 1))
    sums = Rehearsal(request, Ticks()).made()
    # A call that sends reads the clock twice, so that what contains it lasts three ticks.
    assert sums.each("describe") == 3
    assert sums.calls["describe"] == 2
    assert sums.each("construct") == 3 + 1 + 3  # describing, two descriptions and the schema
    assert sums.each("parse") == 1
    assert sums.calls["boundary"] == 2
    assert sums.each("boundary") == 2  # from the end of a call to the end of the next
    assert sums.calls["decode"] == sums.calls["place"] == 2
    assert sums.amounts["place"] == sums.amounts["encode"] == request.size
    assert sums.seconds["place"] == 2
    assert sums.seconds["encode"] == 1


def test_times_scale_with_the_clock():
    request = CarriedRequest(shape=(16, 16), mesh=(2, 2), number=20)
    one, ten = (dry_run(request, clock=Ticks(step)) for step in (1e-6, 1e-5))
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
    request = CarriedRequest(shape=(512, 64), mesh=(2, 1), operation="read")
    assert Rehearsal(request, clock).made().rate("touch") == pytest.approx(1e9 / 4)


def test_it_leaves_no_file_open_and_writes_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dry_run(REQUESTS[0])
    assert list(tmp_path.iterdir()) == []
    files = NullFiles(REQUESTS[0].schema, Ticks())
    files.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        files.close()


def test_a_subchunk_that_holds_no_element_is_refused_as_by_the_library():
    with pytest.raises(ParameterError, match="subchunk must hold one element"):
        dry_run(CarriedRequest(shape=(4,), mesh=(1,), subchunk=4))
    with pytest.raises(ParameterError, match="mesh must have one number for each of the 2"):
        CarriedRequest(shape=(4, 4), mesh=(1,))
