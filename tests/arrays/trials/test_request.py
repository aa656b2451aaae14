"""Requests and their files: what is in the lists of parcast, and what is refused."""

import pytest

from parcast.arrays.trials.request import FAST, SLOW, Layout, read_requests
from parcast.errors import FileProblems, ParameterError
from tests.arrays.trials.made import request

MB = 1e6


@pytest.mark.parametrize(("path", "largest"), [(FAST, 512), (SLOW, 64)])
def test_a_list_covers_what_it_promises(path, largest):
    requests = read_requests(path)
    assert len(requests) >= 40
    sizes = [each.size / MB for each in requests]
    assert min(sizes) == pytest.approx(1, rel=0.1)
    assert max(sizes) == pytest.approx(largest, rel=0.1)
    assert {each.arrays for each in requests} == {1, 64, 1024}
    clients = {each.clients for each in requests}
    assert (min(clients), max(clients)) == (2, 16)
    assert {each.servers for each in requests} == {1, 2, 4}
    assert {each.is_aligned for each in requests} == {False, True}
    assert {each.dedicated for each in requests} == {False, True}
    writes = [each for each in requests if each.operation == "write"]
    assert len(requests) - len(writes) >= 8
    for writer in ("sync", "write-behind", "double-buffer"):
        assert sum(each.writer == writer for each in writes) >= 8
    assert sum(each.quick for each in requests) >= 8
    assert len(set(map(repr, requests))) == len(requests)


def test_ranks_of_dedicated_servers_are_added():
    assert Layout(4, 2, False).ranks == 4
    assert Layout(4, 2, True).ranks == 6
    assert str(request().layout) == "2/1"
    assert str(request(dedicated=True).layout) == "2+1"


def test_a_request_is_described_in_words():
    assert str(request(arrays=2)) == "write 2 arrays of 2.05 kB, 2/1, double-buffer"
    assert str(request(operation="read")) == "read 1 array of 1.02 kB, 2/1"


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"shape": []}, "must be a list of 1 to 6 whole numbers above 0, the slowest first"),
        ({"shape": [4, -1]}, "must be a list of 1 to 6 whole numbers above 0, the slowest first"),
        ({"shape": "4x4"}, "must be a list of 1 to 6 whole numbers above 0, the slowest first"),
        ({"client_mesh": [2]}, "must have 2 numbers, one for each dimension, got [2]"),
        ({"client_mesh": [512, 1]}, "must have at most 256 positions, got 512"),
        ({"servers": 3}, "must be at most the 2 clients, as they are clients too, got 3"),
        ({"servers": 0}, "must be at least 1, got 0"),
        ({"dtype": "object"}, "must be the name of a NumPy type of numbers, got 'object'"),
        ({"dtype": "float"}, None),
        ({"subchunk": "4 B"}, "must hold one element: at least 8 B, got 4 B"),
        ({"writer": "fast"}, "must be 'sync', 'write-behind' or 'double-buffer', got 'fast'"),
        ({"meshes": 2}, "is not a known key. Known keys:"),
    ],
)
def test_what_cannot_be_run_is_refused(keys, says, refusal):
    if says is None:
        assert request(**keys).itemsize == 8
        return
    assert says in refusal(ParameterError, request, **keys)


def test_faults_of_a_file_have_their_lines(tmp_path):
    file = tmp_path / "requests.toml"
    file.write_text(
        "[[request]]\nshape = [4, 4]\nclient_mesh = [2, 1]\nservers = 1\n\n"
        "[[request]]\nshape = [4, 4]\nclient_mesh = [2, 1]\nserver = 1\n"
    )
    with pytest.raises(FileProblems) as caught:
        read_requests(file)
    told = str(caught.value)
    assert "line 9" in told
    assert "server   is not a known key. Did you mean servers?" in told
    file.write_text("[requests]\n")
    with pytest.raises(FileProblems, match="requests"):
        read_requests(file)
