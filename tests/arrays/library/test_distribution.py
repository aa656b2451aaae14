"""What a client may hold, and what is refused."""

import numpy as np
import pytest

from parcast.arrays.geometry.boxes import block_of
from parcast.arrays.library.distribution import Block, Boxes
from parcast.errors import ParameterError


def test_late_blocks_of_a_short_extent_are_empty():
    assert block_of((5,), (4,), 3, "hpf") == ((5,), (0,))
    assert Block(np.empty(0), (5,), (4,), policy="hpf").held(3, 4).parts[0].box.count == (0,)


def test_a_halo_is_left_out_and_nothing_is_copied():
    values = np.asfortranarray(np.arange(48.0).reshape(6, 8))
    part = Block(values, (8, 12), (2, 2), halo=1).held(3, 4).parts[0]
    assert part.box == ((4, 6), (4, 6))
    assert np.shares_memory(part.values, values)
    assert np.array_equal(part.values, values[1:-1, 1:-1])


@pytest.mark.parametrize(
    ("values", "shape", "mesh", "words"),
    [
        ((4, 4), (8, 4), (3, 1), "as many positions as there are clients, 2, got 3x1 = 3"),
        ((4, 4), (8, 4), (2,), "one number for each of the 2 dimensions, got 2"),
        ((4, 5), (8, 4), (2, 1), "the shape 4x4, that of block 0 of the mesh, got 4x5"),
        ((4,), (), (2,), "1 to 6 dimensions, got 0"),
        ((4,), (1,) * 7, (2,), "1 to 6 dimensions, got 7"),
        ((4, 4), (8, 4), (0, 1), r"mesh\[0\] must be a whole number of at least 1, got 0"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(values, shape, mesh, words):
    with pytest.raises(ParameterError, match=words):
        Block(np.zeros(values), shape, mesh).held(0, 2)


def test_boxes_lie_inside_the_array_and_have_one_type():
    held = Boxes([((0, 2), np.ones((2, 2))), ((3, 0), np.ones((0, 4)))], (4, 4)).held(0, 2)
    assert [part.start for part in held.parts] == [(0, 2)]
    assert Boxes([], (4, 4), "f4").held(0, 2).dtype == np.float32
    with pytest.raises(ParameterError, match="lie inside the array of shape 4x4, got start 3x0"):
        Boxes([((3, 0), np.ones((2, 4)))], (4, 4)).held(0, 2)
    with pytest.raises(ParameterError, match="have one dtype, got float64, int64"):
        Boxes([((0, 0), np.ones((1, 4))), ((1, 0), np.ones((1, 4), int))], (4, 4)).held(0, 2)


def test_a_policy_of_another_name_is_refused():
    with pytest.raises(ParameterError, match='policy must be "balanced" or "hpf", got \'cyclic\''):
        Block(np.zeros(4), (8,), (2,), policy="cyclic").held(0, 2)
