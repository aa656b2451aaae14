"""`open` against published values, exact fractions, its laws, and bad input."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.queueing.open import md1, mg1, mm1

services = st.floats(-6, 3).map(lambda e: 10.0**e)
loads = st.floats(1e-9, 0.999)


@pytest.mark.parametrize(("delay", "printed"), [(mm1, "0.150632"), (md1, "0.149441")])
def test_message_delay_of_the_published_channel_to_the_digits_printed(delay, printed):
    # Kuntraruk et al.: messages of 23720 B on 1.28 Gbit/s from 16 processors with tasks of 0.15 s
    response = delay(16 / 0.15, service=23720 * 8 / 1.28e9).response
    assert f"{1e3 * response:.6f}" == printed


@given(st.fractions(Fraction(1, 1000), Fraction(999, 1000)), st.fractions(0, 100))
def test_it_agrees_with_exact_fractions(u, cv2):
    waiting = u * (1 + cv2) / (2 * (1 - u))
    got = mg1(float(u), service=1.0, cv2=float(cv2))
    assert float(got.waiting) == pytest.approx(float(waiting), rel=1e-12)
    assert float(got.response) == pytest.approx(float(1 + waiting), rel=1e-12)


@given(loads, services)
def test_equal_services_halve_the_wait(u, service):
    random, equal = mm1(u / service, service=service), md1(u / service, service=service)
    assert equal.waiting * 2 == pytest.approx(random.waiting, rel=1e-15)
    assert equal.response / random.response == pytest.approx(1 - u / 2, rel=1e-12)


@given(services, st.floats(0, 100))
def test_who_arrives_alone_never_waits(service, cv2):
    assert mg1(0, service=service, cv2=cv2) == (0, service)
    assert mg1(3.0, service=0.0, cv2=cv2) == (0, 0)


@given(st.lists(loads, min_size=1))
def test_an_array_is_answered_as_its_elements_are(u):
    expected = [float(mm1(x, service=1.0).waiting) for x in u]
    assert mm1(u, service=1.0).waiting.tolist() == pytest.approx(expected, rel=4e-16)
    for part in mg1([0.1, 0.2], service=1.0, cv2=[[0.0], [1.0], [2.0]]):
        assert part.shape == (3, 2)


GROWS = "The queue would grow without limit: slow the arrivals or speed up the service."
TIME = "Give it in seconds."
RATE = "Give it per second."
SQUARED = "Give variance over mean squared."


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"arrival_rate": 2.0}, f"utilisation must be below 1, got 1. {GROWS}"),
        ({"arrival_rate": [1, 5]}, f"utilisation must be below 1, got 2.5. {GROWS}"),
        ({"arrival_rate": -1}, f"arrival_rate must be at least 0, got -1. {RATE}"),
        ({"arrival_rate": np.inf}, f"arrival_rate must be at least 0, got inf. {RATE}"),
        ({"service": -1}, f"service must be a time of at least 0, got -1. {TIME}"),
        ({"cv2": np.inf}, f"cv2 must be at least 0, got inf. {SQUARED}"),
    ],
)
def test_bad_parameter_is_named_with_its_value_and_a_remedy(bad, says):
    with pytest.raises(ParameterError) as caught:
        mg1(**({"arrival_rate": 1.0, "service": 0.5, "cv2": 1.0} | bad))
    assert str(caught.value) == says
