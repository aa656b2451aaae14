"""Costs of array I/O in a file: one number for all nodes, or one for each."""

import pytest

from parcast.arrays.law.message import Protocol
from parcast.arrays.law.parameters import ArrayParameters, read_costs, read_parameters
from parcast.descriptions.amount import Amount
from parcast.descriptions.description import DescriptionError
from parcast.errors import FileProblems, ParameterError
from tests.conftest import ROOT


def test_costs_are_read_with_their_units():
    text = ROOT / "examples" / "arrays" / "sp2_like.toml"
    costs = read_costs(text)
    assert costs.servers.cache == 64 * 2**20
    assert costs.servers.read_rate == costs.servers.write_rate == 2.23e6
    assert costs.clients.run == 5e-6
    assert costs.protocol == Protocol()
    assert costs.servers.partition == 16384


def test_what_is_wrong_in_a_file_is_named_with_its_line(file):
    path = file('[servers]\nwrite_rate = "3 MB"\nfnd = "1 ms"\n', "costs.toml")
    with pytest.raises(FileProblems) as caught:
        read_costs(path)
    text = str(caught.value)
    assert 'line 2  servers.write_rate  must be a rate such as "12.5 GB/s", got "3 MB"' in text
    assert "line 3  servers.fnd         is not a known key. Did you mean find?" in text


def test_servers_may_have_numbers_of_their_own(file):
    path = file(
        """
[clients]
copy_rate = ["1 GB/s", "2 GB/s"]
[servers]
write_rate = ["8 MB/s", "2 MB/s", "8 MB/s / d"]
""",
        "costs.toml",
    )
    own = read_parameters(path)
    costs = own.costs({"d": 2})
    assert costs.servers.write_rate.tolist() == [8e6, 2e6, 4e6]
    assert costs.clients.copy_rate.tolist() == [1e9, 2e9]
    assert own.axes() == {"d"}
    assert ArrayParameters(**own.model_dump()) == own
    assert "write_rate=('8 MB/s', '2 MB/s', '8 MB/s / d')" in repr(own)
    schema = ArrayParameters.model_json_schema()["$defs"]["ServerParameters"]["properties"]
    assert [each["type"] for each in schema["find"]["anyOf"]] == [["string", "number"], "array"]


def test_lists_have_one_length():
    own = ArrayParameters(servers={"write_rate": ["1 GB/s"] * 2, "read_rate": ["1 GB/s"] * 3})
    with pytest.raises(ParameterError) as caught:
        own.costs()
    assert str(caught.value).startswith(
        "costs of servers must have lists of one length, got 2 of write_rate, 3 of read_rate."
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "must have at least one number, got none. Give one for each, or one"),
        (["8 MB/s", "3 s"], 'number 2 must be a rate such as "12.5 GB/s", got "3 s"'),
        ([["1 MB/s"]], "number 1 must be a rate"),
        ([Amount.of("3 s", ["time"], name="x")], "number 1 must be a rate"),
        (["8 MB/s +- 5%"], 'number 1 must have no "+-", got "8 MB/s +- 5%"'),
    ],
)
def test_a_list_that_is_wrong_is_refused(given, says):
    with pytest.raises(DescriptionError) as caught:
        ArrayParameters(servers={"write_rate": given})
    assert f"servers.write_rate  {says}" in str(caught.value)
