"""`check_traffic`: simulated traffic passes or fails by the right condition, and what is said."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from parcast.errors import ParameterError
from parcast.pipeline.traces.trace import EVENTS
from parcast.pipeline.traces.traffic.check import check_traffic
from parcast.pipeline.traces.traffic.result import FORMULAS
from parcast.queueing.open import md1, mg1, mm1
from tests.pipeline.traces.traffic.simulated import KINDS, simulated_trace


def simulated(kind="poisson", n=1000, seed=1, *, load=1.0, **options):
    gaps, lengths = KINDS[kind](np.random.default_rng(seed), n)
    return simulated_trace(gaps / load, lengths, **({"capacity": 50e6} | options))


def test_poisson_traffic_with_exponential_lengths_fails_about_as_often_as_stated():
    runs = 25
    formulas = Counter(
        check_traffic(simulated(n=120, seed=seed), seed=seed).formula for seed in range(runs)
    )
    assert runs - formulas["mm1"] <= stats.binom.ppf(0.999, runs, 0.05)


@pytest.mark.parametrize(
    ("kind", "formula", "violated"),
    [
        ("poisson", "mm1", set()),
        ("equal", "md1", {"lengths_exponential"}),
        ("discrete", "mg1", {"lengths_exponential"}),
        ("lognormal", "mg1", {"lengths_exponential"}),
        ("bursts", "none", {"gaps_exponential"}),
        ("modulated", "none", {"gaps_independent"}),
        ("periodic", "none", {"gaps_exponential"}),
        ("slowing", "none", {"rate_constant"}),
        ("sequence", "none", {"lengths_independent"}),
        ("saved up", "none", {"lengths_independent_of_gaps"}),
        ("schedule", "none", {"lengths_independent", "gaps_exponential"}),
    ],
)
def test_each_kind_of_traffic_is_judged_by_what_it_violates(kind, formula, violated):
    check = check_traffic(simulated(kind))
    assert check.formula == formula
    assert violated <= set(check.violated)
    if kind not in ("modulated", "slowing", "schedule"):  # which violate several
        assert set(check.violated) == violated


@pytest.mark.parametrize(("kind", "formula"), [("poisson", "mm1"), ("lognormal", "mg1")])
def test_many_messages_are_judged_as_few(kind, formula):
    assert check_traffic(simulated(kind, 30_000)).formula == formula


def test_delays_are_those_of_the_formulas_and_of_the_simulated_channel():
    trace = simulated("discrete", 5000, latency=20e-6)
    check = check_traffic(trace)
    service = trace.messages["bytes"].mean() / check.channel.capacity
    cv2 = np.var(trace.messages["bytes"]) / trace.messages["bytes"].mean() ** 2
    rate = 4999 / np.ptp(trace.messages["sent"])
    for name, expected in (
        ("mm1", mm1(rate, service=service)),
        ("md1", md1(rate, service=service)),
        ("mg1", mg1(rate, service=service, cv2=cv2)),
    ):
        assert check.delay(name).mean == pytest.approx(float(expected.response) + 20e-6, rel=1e-6)
    measured = check.delay("measured")
    mean = np.mean(trace.messages["received"] - trace.messages["sent"])
    assert measured.mean == pytest.approx(mean)
    assert measured.lower < mean < measured.upper
    assert check.delay("queue").mean == pytest.approx(mean, rel=1e-6)  # it is the same queue
    assert check.utilisation == pytest.approx(rate * service)
    assert check.quantity("service").cv2 == pytest.approx(cv2)


@pytest.mark.parametrize("n", [0, 1, 2, 29])
def test_of_few_messages_nothing_is_decided(n):
    check = check_traffic(simulated(n=n))
    assert check.formula == "undecided"
    assert "at least 30 are needed" in check.reason
    assert list(check.rows()) == []
    assert "nothing can be decided" in str(check)
    assert len(list(check.message_rows())) == n


def test_messages_sent_all_at_once_decide_nothing():
    trace = simulated(n=50)
    trace.messages["sent"] = 1.0
    check = check_traffic(trace)
    assert (check.formula, check.reason) == (
        "undecided",
        "all messages were sent at the same time",
    )
    assert "nothing can be decided" in str(check)


def test_at_a_utilisation_of_one_no_formula_has_an_answer():
    trace = simulated("poisson", load=3.0)
    check = check_traffic(trace, capacity=50e6)
    assert check.utilisation > 1
    assert (check.formula, check.reason) == (
        "none",
        f"utilisation must be below 1, got {check.utilisation:.3g}",
    )
    assert all(math.isnan(check.delay(name).mean) for name in FORMULAS)
    assert check.delay("queue").mean > 1e-3
    assert check.warnings[0].startswith(f"Utilisation is {check.utilisation:.3g} at this capacity")
    assert json.loads(json.dumps(check.to_document()))["delays"][0]["mean_s"] is None
    assert "none" in str(check)


def test_a_capacity_that_delays_do_not_determine_is_said_and_may_be_given():
    trace = simulated()
    trace.messages["received"] = trace.messages["sent"]
    check = check_traffic(trace)
    assert (check.formula, check.reason) == ("none", "the capacity of the channel is unknown")
    assert "not determined, as the shortest delays are not above 0" in str(check)
    assert check_traffic(trace, capacity=50e6).formula == "mm1"


def test_clocks_that_may_differ_by_more_than_gaps_and_delays_are_warned_of():
    check = check_traffic(simulated(residual=2e-3))
    gap, delay = check.warnings[:2]
    assert gap.startswith("Clocks of ranks may differ by 4 ms, which is more than the median gap")
    assert "more than the median delay" in delay
    assert check_traffic(simulated(residual=1e-6)).warnings == ()


def test_delays_that_the_queue_does_not_explain_are_warned_of():
    trace = simulated()
    trace.messages["received"] += 0.02
    [warning] = check_traffic(trace, capacity=50e6, latency=0.0).warnings
    assert "times longer than that of the queue. Messages also wait for something else" in warning
    trace = simulated("schedule")
    trace.messages["received"] = trace.messages["sent"] + trace.messages["bytes"] / 50e6
    [warning] = check_traffic(trace).warnings
    assert "times shorter than that of the queue. The messages do not share one channel" in warning


def test_where_utilisation_is_low_any_formula_will_do():
    check = check_traffic(simulated(load=0.01))
    assert check.formula == "mm1"
    assert "any of them will do" in str(check)


def test_the_same_seed_gives_the_same_answer_and_another_hardly_differs():
    trace = simulated("bursts", 300)
    first, again, other = (check_traffic(trace, seed=seed) for seed in (3, 3, 4))
    assert first.to_document() == again.to_document()
    assert first.to_document() != other.to_document()
    assert first.formula == other.formula


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"capacity": math.nan},
            "capacity must be above 0, got nan. Give it in bytes per second.",
        ),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1."),
    ],
)
def test_wrong_arguments_are_refused(given, says):
    with pytest.raises(ParameterError) as caught:
        check_traffic(simulated(n=50), **given)
    assert str(caught.value) == says


def test_what_is_no_trace_is_refused():
    with pytest.raises(ParameterError, match="trace must be a Trace, got int"):
        check_traffic(3)


def test_a_run_of_one_rank_has_no_messages():
    trace = simulated(n=40)
    object.__setattr__(trace, "messages", np.zeros(0, EVENTS["message"]))
    assert check_traffic(trace).reason == "no messages; at least 30 are needed"
