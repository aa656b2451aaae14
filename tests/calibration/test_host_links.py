"""`calibration.host_links`: one of two rates where one explains the other."""

import pytest

from parcast.calibration.host_links import told_apart
from parcast.calibration.notes import _one_of_two
from tests.calibration.calibrated import measured

LINKS, MEDIUM, BOTH = "network.all_links", "network.two_hosts", None


def found(link, together, pair=12e6):
    rates = {
        "node.network_bandwidth": link,
        "network.saturation": together,
        "network.bandwidth": pair,
    }
    return {key: measured(key, rate, "rate") for key, rate in rates.items()}


@pytest.mark.parametrize(
    ("ranks", "link", "together", "renamed"),
    [
        ([2, 2], 11e6, 23e6, LINKS),  # 34.9 MB/s of all messages, as measured on a switch
        ([2, 2, 2], 11e6, 33e6, LINKS),
        ([3, 3, 1], 11e6, 30e6, LINKS),  # the link of three ranks carries 12 of 30 messages
        ([2, 2], 6e6, 12e6, MEDIUM),
        ([2, 2, 2, 2], 6e6, 12e6, MEDIUM),
        ([2, 2, 2, 2], 11e6, 22e6, BOTH),  # a switch that carries half of its links
        ([2, 2, 2, 2], 6e6, 23e6, LINKS),
    ],
)
def test_of_two_rates_that_one_thing_limits_one_is_kept(ranks, link, together, renamed):
    values = found(link, together)
    keys = {x.key for x in told_apart(values, ranks)}
    gone = {LINKS: "network.saturation", MEDIUM: "node.network_bandwidth"}.get(renamed)
    assert keys == (values.keys() - {gone}) | ({renamed} if renamed else set())


def test_what_is_left_out_of_the_file_is_said():
    [links] = _one_of_two(told_apart(found(11e6, 23e6), [2, 2]))
    assert "has no network.saturation" in links
    [medium] = _one_of_two(told_apart(found(6e6, 12e6), [2, 2]))
    assert "has no node.network_bandwidth" in medium
