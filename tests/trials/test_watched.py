"""Programs that `trials.watched` starts: what they inherit of it."""

import pytest

from parcast.trials.command import runner
from parcast.trials.tree_memory import LIBC


@pytest.mark.skipif(LIBC is None, reason="only Linux tells which signals a process ignores")
def test_a_program_ignores_no_signal_that_it_would_not_ignore_alone():
    with runner() as run:
        ran = run(["grep", "SigIgn", "/proc/self/status"])
    assert int(ran.output.split()[1], 16) == 0
