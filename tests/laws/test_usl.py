"""The Universal Scalability Law against another program's values, its own laws, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.laws.curves import USL as LAW
from tests.laws.published import amdahl_time, reference_rows, usl_time

processors = st.integers(1, 10**6)
seconds = st.floats(1e-6, 1e6)
fractions = st.floats(0, 1)
costs = st.floats(0, 10)


def numbers(row, *names):
    return {name: float(row[name]) for name in names}


@pytest.mark.parametrize("row", reference_rows("usl_throughput.csv"), ids=str)
def test_throughput_agrees_with_reference_to_its_four_digits(row):
    rate_of_one, costs = float(row["rate_of_one"]), numbers(row, "contention", "coherency")
    rate = 1 / usl_time(float(row["p"]), t1=1 / rate_of_one, **costs)
    assert rate == pytest.approx(float(row["throughput"]), rel=5e-4)


@pytest.mark.parametrize("row", reference_rows("usl_peak.csv"), ids=str)
def test_time_is_least_where_the_reference_has_the_peak(row):
    p = np.arange(1, 1000)
    best = p[np.argmin(usl_time(p, t1=1, **numbers(row, "contention", "coherency")))]
    assert f"{best:.{row['digits']}g}" == f"{float(row['peak']):.{row['digits']}g}"


@given(p=processors, t1=seconds, s=fractions)
def test_without_coherency_it_is_amdahls_law(p, t1, s):
    time = usl_time(p, t1=t1, contention=s, coherency=0)
    assert time == pytest.approx(float(amdahl_time(p, t1=t1, serial=s)), rel=1e-12)


@given(t1=seconds, s=st.floats(0.01, 0.5), k=st.floats(0.001, 0.1))
def test_the_fit_recovers_contention_and_coherency(t1, s, k):
    p = np.array([[1.0, 2, 4, 8, 16, 32]])
    a, b, c = LAW.fit(p, usl_time(p, t1=t1, contention=s, coherency=k), np.ones_like(p))[0]
    assert a + b == pytest.approx(t1, rel=1e-6)
    assert a / (a + b) == pytest.approx(s, rel=1e-6)
    assert c / (a + b) == pytest.approx(k, rel=1e-6)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"p": 0}, "p must be at least 1, got 0. Count processors from 1."),
        ({"p": [4, np.nan]}, "p must be at least 1, got nan. Count processors from 1."),
        ({"t1": 0}, 't1 must be above 0, got 0. Write for example "80 s".'),
        ({"t1": np.nan}, 't1 must be above 0, got nan. Write for example "80 s".'),
        ({"contention": 5}, 'contention must lie in [0, 1], got 5. Write for example "5%".'),
        ({"contention": -1}, 'contention must lie in [0, 1], got -1. Write for example "5%".'),
        (
            {"contention": np.nan},
            'contention must lie in [0, 1], got nan. Write for example "5%".',
        ),
        ({"coherency": -0.1}, 'coherency must be at least 0, got -0.1. Write for example "5%".'),
        ({"coherency": np.nan}, 'coherency must be at least 0, got nan. Write for example "5%".'),
    ],
)
def test_bad_parameter_is_named_with_its_value_and_a_remedy(bad, says):
    with pytest.raises(ParameterError) as caught:
        usl_time(**({"p": 4, "t1": 1.0, "contention": 0.1, "coherency": 0.01} | bad))
    assert str(caught.value) == says
