"""`parcast.laws.stencil`: counts worked out by hand, its laws, shape, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import law_named
from parcast.errors import ParameterError
from parcast.laws.stencil import StencilPhase
from tests.laws.counting import stencil_counts

sizes = st.integers(1, 10**5)


def test_counts_are_those_worked_out_by_hand():
    counts = stencil_counts(10, [1, 3], time_steps=2, checkpoints=1)
    assert counts.steps.tolist() == [2 * 64, 2 * 3 * 8]
    assert counts.network_bytes.tolist() == [0, 2 * (2 * 2 * 80 + 2 * 8)]
    assert counts.messages.tolist() == [0, 2 * (2 + 2)]
    assert counts.disk_bytes.tolist() == [8 * 10 * 8] * 2


@given(n=sizes, p=st.integers(1, 1000))
def test_more_processors_never_compute_more_and_never_less_than_their_share(n, p):
    p = min(p, n)
    one, several = stencil_counts(n, [1, p]).steps
    assert one / p <= several * (1 + 1e-12) <= one * (1 + 1e-12)


def test_it_is_a_law_that_a_program_may_name():
    assert law_named("stencil") is StencilPhase
    own = {"compute": "1 Mflop/s", "network": "1 MB/s", "disk": "1 MB/s", "latency": "1 ms"}
    phase = StencilPhase(law="stencil", time_steps=10, checkpoints=1, capacities=own)
    told = phase.times(Machine(), {"p": [1.0, 2], "n": 102})
    assert told.compute == pytest.approx([0.1, 0.05])
    assert told.io == pytest.approx([8e-6 * 102 * 100] * 2)
    assert told.communication == pytest.approx([0, 10 * (2 * 816 + 8) * 1e-6 + 20e-3])


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"n": 0}, "n must be at least 1, got 0."),
        ({"p": 11}, "p must be at most n, got 11. At most n processors have work (one row of the"),
        ({"time_steps": -1}, "time_steps must be at least 0, got -1."),
        ({"checkpoints": np.nan}, "checkpoints must be at least 0, got nan."),
    ],
)
def test_what_makes_no_sense_is_refused(bad, says, refusal):
    assert says in refusal(ParameterError, stencil_counts, **{"n": 10, "p": 1} | bad)
