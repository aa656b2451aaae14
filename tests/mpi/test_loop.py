"""The event loop of a rank: who hears a message, who turns it, and how it ends."""

import gc
import signal
import threading

import numpy as np
import pytest

from parcast.errors import RunFailed
from parcast.mpi.loop import EventLoop
from parcast.mpi.messages import LoneChannel

LIMIT = 10.0  # until a rest is taken for one without an end [s]


class Counting:
    """A role that hears one kind of message."""

    is_idle = True

    def __init__(self, kind):
        self.kind, self.heard = kind, []

    def hear(self, message):
        if message.content[0] == self.kind:
            self.heard.append(message.content[1])
        return message.content[0] == self.kind

    def advance(self):
        return False


def looping(*kinds, **given):
    loop = EventLoop(LoneChannel(), **given)
    loop.roles += [Counting(kind) for kind in kinds]
    return loop


def test_a_message_goes_to_the_first_role_that_it_is_for():
    loop = looping("a", "b", "b")
    for kind, fact in (("b", 1), ("a", 2), ("b", 3)):
        loop.send(0, kind, fact)
    assert loop.turn()
    assert not loop.turn()
    assert [role.heard for role in loop.roles] == [[2], [1, 3], []]


def test_the_first_failure_is_that_of_the_run():
    loop = looping()
    first = RunFailed("the disk is full")
    loop.send(0, "quit", first)
    loop.send(0, "quit", RunFailed("later"))
    assert loop.turn_until(lambda: loop.has_quit)
    assert loop.failure is first


def test_another_thread_turns_it_meanwhile():
    loop, threads = looping("a"), set()
    turn = loop.roles[0].hear
    loop.roles[0].hear = lambda message: threads.add(threading.get_ident()) or turn(message)
    loop.turn_meanwhile()
    loop.send(0, "a", 1)
    limit = threading.Event()
    while not threads:
        limit.wait(1e-3)
    loop.end_thread()
    assert threading.get_ident() not in threads


def test_what_crashes_in_the_other_thread_is_raised_by_the_next_turn():
    heard = []
    loop = looping(meanwhile=lambda: 1 // 0, crashed=heard.append)
    loop.turn_meanwhile()
    while not heard:
        threading.Event().wait(1e-3)
    loop.end_thread()
    with pytest.raises(ZeroDivisionError):
        loop.turn()
    assert loop.crash is heard[-1]


def interrupted(*_, **__):
    raise KeyboardInterrupt


def hung(*_):
    raise TimeoutError


def rest_for(moment, loop):
    """Rest until Ctrl-C at a moment; again after a second, as Python ignores one in a callback."""
    signal.setitimer(signal.ITIMER_REAL, moment, 1.0)
    loop.turn_until(lambda: False)


def test_ctrl_c_while_a_rank_rests_at_any_moment_does_not_keep_it_from_resting_again():
    usual = signal.getsignal(signal.SIGALRM)
    gc.disable()  # which calls back
    try:
        for moment in np.random.default_rng(0).uniform(2e-5, 3e-4, 2000):
            loop = EventLoop(LoneChannel())
            signal.signal(signal.SIGALRM, interrupted)
            with pytest.raises(KeyboardInterrupt):
                rest_for(moment, loop)
            signal.signal(signal.SIGALRM, hung)
            signal.setitimer(signal.ITIMER_REAL, LIMIT)
            loop.crash = None  # where it was not at rest
            loop.wake()
            assert not loop.turn_until(lambda: False, 1e-4)
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, usual)
