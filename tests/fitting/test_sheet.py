"""`parcast.fitting.sheet`: the answer on pages of several widths."""

from dataclasses import replace

import numpy as np
import pytest

from parcast.descriptions.program import Program
from parcast.fitting.fit import fit
from parcast.show.terminal import Page, lay_out
from parcast.timings.measurements import Measurements


@pytest.fixture(scope="module")
def found():
    """A fit of one time and one formula."""
    program = Program(
        phase=[
            {
                "law": "spmd",
                "compute": {"parallel": "5 s"},
                "communication": {"startup": "10 ms * log2(p)"},
            }
        ]
    )
    return fit(program, Measurements(p=[1, 2, 4, 8], time=[12, 6.1, 3.1, 1.7]))


@pytest.mark.parametrize(
    ("lower", "upper", "determined", "shown"),
    [
        (0.0, np.inf, "not", "unlimited"),
        (0.5, np.inf, "only from below", "from 2.5 s"),
        (0.0, 3.0, "only from above", "up to 15 s"),
        (0.5, 3.0, "only from above", "up to 15 s"),
    ],
)
def test_an_interval_with_one_end_says_so(found, lower, upper, determined, shown):
    first = replace(found.parameters[0], lower=lower, upper=upper, determined=determined)
    line = lay_out(replace(found, parameters=(first,)).to_sheet(), Page())[0][1]
    assert f"  {shown}  " in line
    assert first.spread == first.drawn


def test_a_run_that_is_far_off_is_named(found):
    lines = lay_out(found.to_sheet(), Page())[0]
    [fitted] = [line for line in lines if line.startswith("fit ")]
    assert "4 times, rms error" in fitted
    assert found.worst[1] in fitted
