"""What limits along p: changes between counts, and laws that have no answer there."""

from types import SimpleNamespace

import numpy as np
import pytest

from parcast.errors import ParameterError
from parcast.prediction import limiting
from parcast.prediction.limiting import AlongCounts

COUNTS = np.array([1.0, 64.0, 256.0])
KNOWN = np.array([[1.0, 1, 0], [0, 0, 1], [0, 0, 0]])  # elasticities of the resources there


def along(monkeypatch, *, least_unknown=np.inf, dearness=1, known=None):
    """Computing leads to p = 99, I/O to 120, then communication; beyond a count none is known."""

    def shares_and_slopes(_program, _machine, at):
        p = np.asarray(at["p"])
        if np.any((p >= least_unknown) & ~np.isin(p, COUNTS)):
            raise ParameterError("p", must="be one that was asked for", got="another")
        leads = {"compute": p < 100, "io": (p >= 100) & (p < 121), "communication": p >= 121}
        names = limiting.RESOURCES
        return None, {name: leads.get(name, p < 0).astype(float) for name in names}

    monkeypatch.setattr(limiting, "shares_and_slopes", shares_and_slopes)
    return AlongCounts(SimpleNamespace(dearness=dearness), None, {}, COUNTS, known)


@pytest.mark.parametrize("dearness", [1, 10**6])
def test_every_change_between_two_counts_is_found(monkeypatch, dearness):
    found = along(monkeypatch, dearness=dearness).leading()
    assert found == [(1, "compute"), (100, "io"), (121, "communication")]


@pytest.mark.parametrize("given", [{"least_unknown": 65}, {"dearness": 10**6, "known": KNOWN}])
def test_where_no_count_between_is_known_it_is_the_next_one(monkeypatch, given):
    assert along(monkeypatch, **given).leading() == [(1, "compute"), (256, "communication")]
