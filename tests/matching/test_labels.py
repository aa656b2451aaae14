"""Labels beside crowded points: none on another, none on a marker, the same each time."""

import numpy as np
import pytest

from parcast.matching.labels import Label, marks, places

FRAME = np.array([0.0, 0.0, 200.0, 150.0])
NO_LINES = np.zeros((0, 2))


def label(x, y, *, is_needed=False):
    return Label(at=(x, y), size=(12.0, 9.0), gap=6.0, is_needed=is_needed)


def circles(labels):
    return np.array([[*x.at, 4.0] for x in labels])


def boxes(labels, found):
    half = [np.array(x.size) / 2 for x in labels]
    return [
        np.array([*(np.array(y.centre) - h), *(np.array(y.centre) + h)])
        for y, h in zip(found, half, strict=True)
        if y is not None
    ]


def overlap(one, other):
    return bool(np.all((one[:2] < other[2:]) & (one[2:] > other[:2])))


def test_a_lone_label_stands_to_the_upper_right():
    (found,) = places(
        [label(50, 50)], markers=circles([label(50, 50)]), lines=NO_LINES, frame=FRAME
    )
    assert found.centre[0] > 50 < found.centre[1]
    assert not found.has_line


def test_a_label_moves_aside_for_a_line_and_for_the_frame():
    asked = [label(50, 50)]
    line = marks([(50, 50), (120, 120)])
    (found,) = places(asked, markers=circles(asked), lines=line, frame=FRAME)
    assert not (found.centre[0] > 50 < found.centre[1])
    asked = [label(199, 149)]
    (found,) = places(asked, markers=circles(asked), lines=NO_LINES, frame=FRAME)
    assert found.centre[0] < 199 > found.centre[1] < 149


@pytest.mark.parametrize("seed", range(5))
def test_crowded_labels_neither_overlap_nor_hide_markers(seed):
    at = np.random.default_rng(seed).uniform((60, 50), (110, 90), size=(20, 2))
    asked = [label(x, y, is_needed=i < 8) for i, (x, y) in enumerate(at.tolist())]
    markers = circles(asked)
    found = places(asked, markers=markers, lines=NO_LINES, frame=FRAME)
    assert None not in found[:8]
    assert None in found[8:]
    seen = boxes(asked, found)
    assert not any(overlap(x, y) for i, x in enumerate(seen) for y in seen[:i])
    for x, y, radius in markers.tolist():
        nearest = [np.clip([x, y], box[:2], box[2:]) - [x, y] for box in seen]
        assert all(np.hypot(*gap) >= radius for gap in nearest)
    assert found == places(asked, markers=markers, lines=NO_LINES, frame=FRAME)


def test_a_needed_label_without_room_close_by_goes_further_off_with_a_line():
    asked = [label(100, 75, is_needed=True)]
    ring = [[100 + 14 * np.cos(x), 75 + 14 * np.sin(x), 4.0] for x in np.linspace(0, 6.2, 20)]
    (found,) = places(asked, markers=np.array(ring), lines=NO_LINES, frame=FRAME)
    assert found.has_line
    assert np.hypot(found.centre[0] - 100, found.centre[1] - 75) > 18
    (left_out,) = places([label(100, 75)], markers=np.array(ring), lines=NO_LINES, frame=FRAME)
    assert left_out is None
