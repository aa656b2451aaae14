"""Programs that `trials.watched` starts: what they inherit of it."""

import signal

import pytest

from parcast.trials.command import runner
from parcast.trials.tree_memory import LIBC

IGNORED = (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ)  # by Python, or by what starts programs


@pytest.mark.skipif(LIBC is None, reason="only Linux tells which signals a process ignores")
def test_a_program_does_not_inherit_what_python_ignores():
    with runner() as run:
        ran = run(["grep", "SigIgn", "/proc/self/status"])
    ignored = int(ran.output.split()[1], 16)
    assert [x for x in IGNORED if ignored >> (x - 1) & 1] == []
