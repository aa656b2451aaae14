"""`parcast.projection.counted`: what is taken over of a donor, and how wide intervals are."""

import numpy as np
import pytest

from parcast.laws.allowances import COMPUTE, OWN, SHARED
from parcast.laws.counted import CountedCosts
from parcast.projection.counted import carried_over, donated_half_width

PARTS = ("compute", "imbalance", "startups", "pairs", "shared", "collectives")


def costs(compute=0.0, **others):
    parts = {"compute": compute, **others}
    return CountedCosts(**{name: np.array([float(parts.get(name, 0.0))]) for name in PARTS})


@pytest.mark.parametrize(
    ("of", "width"),
    [
        (costs(compute=1), COMPUTE),
        (costs(startups=1), np.hypot(COMPUTE, OWN)),
        (costs(pairs=1, collectives=1), np.hypot(COMPUTE, OWN)),
        (costs(shared=1), np.hypot(COMPUTE, SHARED)),
        (costs(compute=1, startups=1), np.hypot(COMPUTE, OWN / 2)),
    ],
)
def test_the_width_is_that_of_what_takes_the_time(of, width):
    assert of.half_width == pytest.approx([width])


@pytest.mark.parametrize(
    ("here", "donor", "carried", "likeness"),
    [
        (costs(1, startups=1), costs(1, startups=1), 1.0, 1.0),
        (costs(startups=1), costs(shared=1), 0.0, 0.0),
        (costs(3, startups=1), costs(1, startups=1), 0.5, 0.5),
        (costs(1, startups=1), costs(3, startups=1), 1.0, 0.5),
        (costs(1), costs(1, startups=1), 0.0, 0.0),
        (costs(1, startups=1), costs(1), 0.0, 0.0),
        (costs(1), costs(1), 0.0, 0.0),
    ],
)
def test_as_much_is_taken_over_as_the_same_takes_the_time(here, donor, carried, likeness):
    found = carried_over(here, donor)
    assert found[0] == pytest.approx([carried])
    assert found[1] == pytest.approx([likeness])


def test_a_donor_never_widens_and_never_makes_certain():
    model = np.array([COMPUTE, 0.3])
    assert np.all(donated_half_width(model, np.ones(2)) <= model)
    assert np.all(donated_half_width(model, np.ones(2)) >= COMPUTE)
