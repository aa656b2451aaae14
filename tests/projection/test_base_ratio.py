"""`parcast.projection.project`: half-widths grow with distance and difference, and runs help."""

import numpy as np
import pytest

from parcast.projection.project import moved_half_width

LEAST = 1.6448536269514722 * 0.05


def test_at_the_known_count_only_the_noise_is_left():
    assert moved_half_width([0.0], ratio=7.0) == pytest.approx([LEAST])


def test_it_grows_with_the_distance_and_with_how_unlike_the_machines_are():
    reach = np.linspace(0, 5, 20)
    assert np.all(np.diff(moved_half_width(reach, ratio=2.0)) > 0)
    alike, unlike, most, more = (
        float(moved_half_width([1.0], ratio=r)[0]) for r in (1.0, 3.0, np.exp(2.0), 100.0)
    )
    assert alike < unlike < most
    assert most == more
    assert moved_half_width([1.0], ratio=3.0) == moved_half_width([1.0], ratio=1 / 3)


def test_other_machines_narrow_it_where_their_ratio_stays_and_widen_it_where_it_moves():
    alone = float(moved_half_width([2.0], ratio=2.0)[0])
    steady = float(moved_half_width([2.0], ratio=2.0, moved=np.zeros((4, 1)))[0])
    moving = float(moved_half_width([2.0], ratio=2.0, moved=np.full((4, 1), 2.0))[0])
    assert steady < alone < moving
    unknown = float(moved_half_width([2.0], ratio=2.0, moved=np.full((4, 1), np.nan))[0])
    assert unknown == pytest.approx(alone)
