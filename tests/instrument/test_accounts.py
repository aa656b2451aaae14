"""The accounts of processors: what others compute is told apart from some processes."""

import os
import time

from parcast.instrument.accounts import Users, core_seconds, user_seconds
from parcast.mpi.find import available_cores

BUSY = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass\n"


def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_the_accounts_grow():
    before = core_seconds()
    if before is not None:
        compute(0.1)
        assert core_seconds() >= before > 0


def test_a_process_of_ones_own_is_no_other(started):
    before = Users.now([os.getpid()])
    if before.every is None or before.own is None:
        return
    compute(0.3)
    quiet = before.others()
    other = started(BUSY)
    before = Users.now([os.getpid()])
    compute(0.5)
    disturbed = before.others()
    own = Users.now([os.getpid(), other.pid])
    compute(0.5)
    both = own.others()
    other.kill()
    # Others may compute too, so that only the difference is known: a good part of a core.
    share = 0.2 if len(available_cores()) > 1 else 0.1
    assert quiet >= 0.0
    assert disturbed > share
    assert both < disturbed + len(available_cores())


def test_what_cannot_be_known_is_none():
    assert user_seconds(2**22 + 1) is None
    now = Users.now([2**22 + 1])
    assert now.others() is None
    assert Users.now([os.getpid()]).others() is None  # too short a time
