"""`Machine.price` and `Machine.primitives`: what they cost, and what is refused."""

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.errors import ParameterError

HOUR = np.array([3600.0])


@pytest.mark.parametrize(
    ("keys", "cost"),
    [
        ({"price": {"processor_hour": 0.05}}, [0.05, 1.65]),
        ({"price": {"processor_hour": 0.05}, "node": {"processors": 32}}, [1.6, 3.2]),
        ({"price": {"node_hour": 2}, "node": {"processors": 32}}, [2, 4]),
    ],
)
def test_processors_are_charged_or_whole_nodes(keys, cost):
    told = Machine(**keys).cost(HOUR, {"p": np.array([1.0, 33.0])})
    assert told == pytest.approx(cost)


def test_a_price_is_an_amount_that_may_be_uncertain_and_varied():
    machine = Machine(price={"processor_hour": "0.05 +- 10%"})
    assert dict(machine.price.amounts())["price.processor_hour"].spread == pytest.approx(0.1)
    at = {"p": np.array([2.0]), "price.processor_hour*": np.array([2.0])}
    assert machine.cost(HOUR, at) == pytest.approx([0.2])


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"price": {"processor_hour": 0}}, "must be above 0, got 0. Leave out [price] if the"),
        ({"price": {"processor_hour": -1}}, 'must be at least 0, got "-1". Check its sign.'),
        ({"price": {"processor_hour": "5 s"}}, "must be a plain number such as 64, got"),
        ({"price": {"processor_hour": 1, "node_hour": 1}}, "processor_hour or node_hour, not"),
        ({"price": {"node_hour": 1}}, "must give processors, as the price has a node_hour."),
        ({"node": {"memory_bandwidth": "1 GB/s"}}, "must give processors with memory_bandwidth."),
        ({"node": {"servers": 1}}, "must give processors with servers."),
        (
            {"node": {"servers": 1, "processors": 2}, "storage": {"servers": 1}},
            "must give servers in [storage] or in [node], not both",
        ),
        ({"price": {"currency": "EUR"}}, "must give processor_hour or node_hour. Add one"),
        ({"price": 5}, "must be a table of keys, got 5. Write [price] with keys below it."),
        ({"primitives": {"bcast": {}}}, "is not a known key. Did you mean broadcast?"),
        ({"primitives": {"send": {"startup": "3 MB"}}}, "primitives.send.startup  must be a time"),
    ],
)
def test_a_wrong_key_is_named_with_a_remedy(keys, says, refusal):
    assert says in refusal(ParameterError, Machine, **keys)


def test_a_price_that_makes_every_cost_infinite_is_refused():
    with pytest.raises(ParameterError, match=r"price  must be at most 1e\+30, got 1e\+308\."):
        Machine(price={"processor_hour": 1e308})


def test_without_a_price_there_is_no_cost():
    with pytest.raises(ParameterError, match=r"price must be given\. Add \[price\]"):
        Machine().cost(HOUR, {"p": np.array([2.0])})
