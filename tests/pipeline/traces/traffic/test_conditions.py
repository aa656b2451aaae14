"""Tests of conditions: against SciPy, their false alarms, and what each of them sees."""

import numpy as np
import pytest
from scipy import stats

from parcast.pipeline.traces.traffic import conditions
from parcast.pipeline.traces.traffic.conditions import (
    PERMUTED,
    conditions_of,
    constant_rate,
    exponential,
    holm,
    independent,
    unrelated,
)

# Of A^2 (1 + 0.6 / n) for an exponential distribution with fitted mean: Stephens, "Tests based on
# EDF statistics", in D'Agostino and Stephens (1986), table 4.14, upper tail.
STEPHENS = {0.25: 0.736, 0.15: 0.916, 0.10: 1.062, 0.05: 1.321, 0.025: 1.591, 0.01: 1.959}


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("n", [30, 200, PERMUTED])
@pytest.mark.parametrize(("share", "critical"), STEPHENS.items())
def test_the_simulated_distribution_has_the_published_critical_values(n, share, critical):
    above = np.mean(conditions._null(n) > critical)
    assert above == pytest.approx(share, abs=3.5 * (share * (1 - share) / 1999) ** 0.5)


def test_the_statistic_is_that_of_scipy():
    values = np.sort(rng().gamma(2.0, size=200))
    known = stats.goodness_of_fit(
        stats.expon, values, known_params={"loc": 0, "scale": values.mean()}, statistic="ad",
        n_mc_samples=2,
    ).statistic  # fmt: skip
    assert conditions._anderson_darling(values[np.newaxis])[0] == pytest.approx(known)


def test_holm_is_that_of_the_definition():
    p = [0.01, 0.02, 0.03, 0.04, 0.5, 0.012]
    ordered = sorted(p)
    expected = {
        x: max(min(1, (6 - j) * ordered[j]) for j in range(i + 1)) for i, x in enumerate(ordered)
    }
    assert holm(p) == pytest.approx([expected[x] for x in p])


def of_lengths(r, n):
    return exponential("lengths_exponential", r.exponential(50.0, n).round(), r, unit=1.0)


def of_sequence(r, n):
    return independent("lengths_independent", r.choice([1.0, 1.0, 2.0, 4.0], n), r)


def of_pairs(r, n):
    gaps, lengths = r.exponential(size=n), r.choice([1.0, 2.0], n)
    return unrelated("lengths_independent_of_gaps", gaps, lengths, r)


def of_rate(r, n):
    return constant_rate("rate_constant", r.exponential(size=n), r)


@pytest.mark.parametrize("n", [50, 1500])  # below and above where permutations end
@pytest.mark.parametrize("test", [of_lengths, of_sequence, of_pairs, of_rate])
def test_a_test_alone_gives_false_alarms_as_often_as_its_level(test, n):
    p = np.array([test(rng(seed), n).p for seed in range(100)])
    assert np.sum(p < 0.1) <= stats.binom.ppf(0.9999, 100, 0.1)
    assert np.sum(p < 0.5) >= stats.binom.ppf(0.0001, 100, 0.5)  # nor are they too careful


def test_permutations_and_limits_agree(monkeypatch):
    values = np.repeat(rng().exponential(size=50), 3) + 0.7 * rng(1).exponential(size=150)
    gaps, lengths = rng(2).exponential(size=900), rng(3).exponential(size=900)
    lengths = lengths + 0.06 * gaps

    def both():
        return (
            independent("gaps_independent", values, rng()).p,
            unrelated("lengths_independent_of_gaps", gaps, lengths, rng()).p,
        )

    permuted = both()
    monkeypatch.setattr(conditions, "PERMUTED", 10)
    assert permuted == pytest.approx(both(), abs=0.03)


def test_a_relation_that_is_not_monotone_is_seen():
    gaps = rng().exponential(size=400)
    u_shaped = np.abs(stats.rankdata(gaps) / 400 - 0.5) + 0.1 * rng(1).random(400)
    assert abs(stats.spearmanr(gaps, u_shaped).statistic) < 0.1
    found = unrelated("lengths_independent_of_gaps", gaps, u_shaped, rng())
    assert found.p < 0.001
    assert found.effect.value > 0.5


def test_a_dependence_of_small_lags_and_of_many_is_measured():
    period = np.resize([1.0, 1.0, 2.0, 4.0], 2000)
    effect = independent("lengths_independent", period, rng()).effect
    assert effect.measure == "largest rank correlation"
    assert effect.value == pytest.approx(1.0, abs=0.01)
    slow = np.repeat(rng().normal(size=200), 50) * 0.5 + rng(1).normal(size=10_000)
    effect = independent("gaps_independent", slow, rng()).effect
    assert effect.measure == "change of the wait"
    assert effect.value > 1


def test_small_deviations_of_many_messages_are_detected_and_do_not_matter():
    n = 200_000
    gaps = rng().gamma(1.05, size=n)
    found = {x.name: x for x in conditions_of(gaps[1:], rng(1).exponential(1e6, n), rng(2))}
    assert found["gaps_exponential"].is_detected
    assert not found["gaps_exponential"].is_violated
    assert found["gaps_exponential"].effect.weight < 1


def test_a_long_tail_matters_though_few_messages_are_in_it():
    lengths = rng().exponential(1e4, 5000)
    lengths[::250] *= 100
    found = exponential("lengths_exponential", lengths, rng(), unit=1.0)
    assert found.effect.measure == "change of the wait"
    assert found.effect.weight > 5
