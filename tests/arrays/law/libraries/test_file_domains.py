"""Pieces of a file as boxes of an array: they cover it once, in the order of the file."""

from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from parcast.arrays.geometry.boxes import contiguous_runs, whole
from parcast.arrays.law.libraries.romio import boxes_between, file_domains
from parcast.errors import ParameterError

shapes = st.lists(st.integers(1, 6), min_size=1, max_size=4)


@given(shapes, st.data())
def test_boxes_of_a_range_are_its_elements_in_order(shape, data):
    total = prod(shape)
    ends = sorted(data.draw(st.lists(st.integers(0, total), min_size=2, max_size=2)))
    boxes, of = boxes_between(*(np.array([end]) for end in ends), shape)
    number = np.arange(total).reshape(shape)
    outer = np.empty(shape)
    found = [number[box.within(whole(shape).each()[0])].ravel() for box in boxes.each()]
    assert np.concatenate([*found, []]).tolist() == list(range(*ends))
    assert len(of) <= 2 * outer.ndim - 1
    all_of = whole(shape)
    assert (
        contiguous_runs(boxes, type(boxes)(*(np.repeat(x, len(of), 0) for x in all_of))) == 1
    ).all()


@given(shapes, st.integers(1, 5), st.integers(1, 100))
def test_domains_and_rounds_share_the_file(shape, aggregators, buffer):
    found = file_domains(shape, itemsize=4, aggregators=aggregators, buffer=buffer)
    size = 4 * prod(shape)
    assert found.sizes.sum() == size
    assert found.sizes.max() <= max(buffer, 4)
    assert found.subchunks.size.sum() == size
    place = found.subchunks.server * found.sizes.shape[1] + found.round
    assert (
        np.bincount(place, found.subchunks.size, found.sizes.size) == found.sizes.ravel()
    ).all()


def test_too_many_pieces_are_refused(refusal):
    says = refusal(ParameterError, file_domains, (2048, 2048), itemsize=8, aggregators=8, buffer=8)
    assert says.endswith("at most 1,000,000, got 4,194,304. Give a larger buffer.")
