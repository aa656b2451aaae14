"""Items and results of any type: what fails of them is told with the item."""

import re
import threading

import pytest

import parcast
from parcast.errors import ParameterError, RunFailed
from parcast.mpi.payload import size_of


class Bunch(dict):
    __getattr__ = dict.get


class Failing:
    def __len__(self):
        raise KeyError("len")

    __sizeof__ = __repr__ = __eq__ = __bool__ = __len__
    nbytes = property(__len__)
    __dict__ = property(__len__)


class Large:
    """Takes much memory, and cannot be pickled."""

    def __init__(self):
        self.text, self.lock = "a" * 10_000, threading.Lock()


def first(a, _):
    return a


def test_a_mapping_with_its_keys_as_attributes_is_a_result():
    assert parcast.run_pipeline([1, 2], lambda i: Bunch(a=i), first).value == {"a": 1}
    assert size_of(Bunch(a=1)) > 0
    assert size_of(Bunch(nbytes=10**9)) < 10_000


@pytest.mark.parametrize("value", [Failing(), [Failing()], {"a": Failing()}])
def test_what_fails_to_tell_its_size_has_one(value):
    assert 0 < size_of(value) < 10_000


def test_results_and_items_whose_methods_fail_are_results_and_items():
    given = Failing()
    assert parcast.run_pipeline([given, given], lambda x: x, first).value is given
    assert str(parcast.run_pipeline([given], lambda x: x).to_sheet(with_value=True))


def test_items_that_do_not_tell_their_number_are_taken_one_by_one():
    class Items(list):
        def __len__(self):
            raise ValueError

    assert parcast.run_pipeline(Items([1, 2]), abs).value == 3


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"memory": 1.0}, r"The result of item \d cannot be written to .*parcast-pipeline-.*: "),
        (
            {"checkpoint": "kept", "checkpoint_every": 0.0, "batch": 1},
            r"The result of items? \d.* cannot be kept in the checkpoint: ",
        ),
    ],
)
def test_a_result_that_cannot_be_written_is_named_by_its_items(tmp_path, monkeypatch, keys, says):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunFailed, match=f"{says}TypeError: cannot pickle '_thread.lock' object"):
        parcast.run_pipeline(range(20), lambda _: Large(), first, **keys)


def test_results_that_a_merge_of_ours_does_not_take_are_named_by_their_items():
    with pytest.raises(RunFailed, match=r"cannot add(.|\n)*\nThe merge of items 0 to 1 failed\."):
        parcast.run_pipeline(["a", 1], lambda x: x)
    with pytest.raises(RunFailed, match=r'"top:2" takes(.|\n)*\nfinish\(\) of item 0 failed\.'):
        parcast.run_pipeline([1], lambda x: x, "top:2")


def test_a_merge_that_ends_as_an_iterator_does_is_told():
    def merge(*_):
        raise StopIteration

    with pytest.raises(RunFailed, match=r"^The merge of items 0 to 1 failed: StopIteration"):
        parcast.run_pipeline([1, 2], abs, merge)


def test_a_zero_that_cannot_be_copied_is_refused():
    with pytest.raises(
        ParameterError, match=r"zero must be possible to copy, got <generator.*: TypeError: "
    ):
        parcast.run_pipeline([1], abs, zero=(x for x in "ab"))


FORKING = """
import os, parcast

def task(i):
    if i == 3:
        os.fork()
    return i

if __name__ == "__main__":
    for ranks in (None, 2):
        print(parcast.run_pipeline(range(5), task, ranks=ranks).value, flush=True)
"""


@pytest.mark.fault(
    "Pipelines",
    "A task forks, and comes back in the child as well.",
    promise="The child is ended, and the item is named; the run goes on.",
)
def test_a_task_that_forks_comes_back_once(ran):
    status, out, err = ran(FORKING)
    assert (status, out) == (0, "10\n10\n")
    assert err.count("parcast: The task of item 3 has forked, and came back in the child ") == 2


ON_RANKS = """
import threading, parcast

class Own(parcast.ParcastError):
    lock = None

class Odd:
    def __init__(self, number):
        self.number = number

    def __setstate__(self, state):
        if state["number"] == 3:
            raise ValueError("three")
        self.__dict__.update(state)

def own(i):
    failure = Own("of this program")
    failure.lock = threading.Lock()
    raise failure

def odd(i):
    return Odd(3) if i == 0 else Odd(i)

def told(*arguments, **keys):
    try:
        result = parcast.run_pipeline(*arguments, ranks=2, **keys)
        print(result.value, [(x.index, x.item, x.error) for x in result.skipped])
    except parcast.RunFailed as failure:
        print("RunFailed", *failure.lines()[:1])

if __name__ == "__main__":
    items = [Odd(i) for i in range(6)]
    told(items, lambda odd: odd.number, on_error="skip")
    told(range(2), own)
    told(range(2), odd, lambda a, b: a)
"""
SAID = (
    r"12 \[\(3, 'it cannot be unpickled', 'ValueError: three'\)\]",
    r"RunFailed Item \d failed on rank \d: \d: .*Own: of this program\. Correct it, or skip",
    r"RunFailed The result of items? .* cannot be unpickled .*: ValueError: three\. Define the",
)


def test_what_cannot_be_sent_is_named_by_its_items_on_ranks_that_are_started(ran):
    status, out, err = ran(ON_RANKS)
    assert status == 0, err
    lines = out.splitlines()
    assert all(map(re.match, SAID, lines)), lines
    assert len(lines) == len(SAID)
