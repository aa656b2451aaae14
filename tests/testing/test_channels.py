"""Both channels pass the check of channels, and what breaks it is named."""

import pytest

from parcast.errors import ParameterError
from parcast.mpi.messages import LoneChannel
from parcast.testing import channels
from parcast.testing.channels import check_channel

ON_RANKS = """from parcast.mpi.launched import one_world
from parcast.mpi.messages import MpiChannel
from parcast.testing.channels import check_channel
check_channel(MpiChannel(one_world()))
"""


def test_a_rank_alone_passes():
    check_channel(LoneChannel())


@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_of_mpi_pass(ran, tmp_path, ranks):
    program = tmp_path / "check.py"
    program.write_text(ON_RANKS)
    status, out, err = ran(program, ranks=ranks)
    assert (status, out) == (0, ""), err


class Reversed(LoneChannel):
    def poll(self):
        return super().poll()[::-1]


class Twice(LoneChannel):
    def poll(self):
        return [x for message in super().poll() for x in (message, message)]


class Deaf(LoneChannel):
    def poll(self):
        return [x for x in super().poll() if x.content[0] != "quit"]


class Changing(LoneChannel):
    def send(self, target, content, value=None):
        return super().send(target, content, b"x" if content[0] == "value" else value)


class Stuck(LoneChannel):
    def drain(self):
        return False


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (Reversed, "must keep the order of 50 messages of a rank, got [49, 48"),
        (Twice, "must keep the order of 50 messages of a rank, got [0, 0, 1"),
        (Changing, "must give values as they were sent, got 1 other bytes"),
        (Stuck, "must let everything leave that was sent"),
        (Deaf, "must tell all ranks that one has died, got None"),
    ],
)
def test_what_a_channel_does_wrong_is_named(monkeypatch, kind, says, refusal):
    monkeypatch.setattr(channels, "LIMIT", 0.1)
    assert says in refusal(ParameterError, check_channel, kind())
