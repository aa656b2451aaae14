"""`parcast.signals`: SIGTERM and SIGHUP as exceptions, where they would end the process."""

import signal
import threading

import pytest

from parcast import signals
from parcast.signals import Terminated, as_interrupts, as_terminations

SIGNALS = [signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def in_the_foreground():
    """As it is without nohup."""
    usual = {number: signal.signal(number, signal.SIG_DFL) for number in SIGNALS}
    yield
    for number, handler in usual.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_block_and_is_then_as_it_was(number):
    with pytest.raises(Terminated, match=number.name) as caught, as_terminations():
        signal.raise_signal(number)
    assert caught.value.number == number
    assert signal.getsignal(number) == signal.SIG_DFL


def test_a_block_within_takes_it_as_an_interrupt():
    with as_terminations():
        with pytest.raises(KeyboardInterrupt), as_interrupts():
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)  # the shell tells it as well
    with pytest.raises(Terminated), as_terminations():
        signal.raise_signal(signal.SIGTERM)


def test_a_signal_that_is_sent_twice_does_not_end_the_cleaning_up(monkeypatch):
    """`timeout` sends SIGTERM to its child and then to the group that the child is in."""
    cleaned = []

    def ended():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
            cleaned.append(True)

    with pytest.raises(Terminated), as_terminations():
        ended()
    assert cleaned
    monkeypatch.setattr(signals, "TWICE", -1.0)  # as if it were later
    with as_terminations():
        for _ in range(2):
            with pytest.raises(Terminated):
                signal.raise_signal(signal.SIGTERM)


def test_a_signal_that_somebody_handles_or_that_is_ignored_is_left():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup has it
    with as_terminations(), as_interrupts():
        signal.raise_signal(signal.SIGHUP)


def test_a_thread_handles_no_signals():
    other = threading.Thread(target=as_interrupts().__enter__)
    other.start()
    other.join()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
