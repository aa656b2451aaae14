"""Where answers are computed: here until several are asked for, then in processes that may end."""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import pytest

from parcast.errors import RunFailed
from parcast.web.processes import AnswerProcesses
from tests.conftest import ROOT
from tests.web.server import serving

BTIO = [ROOT / "examples" / "btio" / x for x in ("program.toml", "sp2.toml")]


class Asked:
    """An executor that runs nothing, or has lost its processes."""

    def __init__(self, answer):
        self.answer, self.functions = answer, []

    def submit(self, function, *_):
        self.functions.append(function)
        done = Future()
        if len(self.functions) > 1 and isinstance(self.answer, Exception):
            done.set_exception(self.answer)
        else:
            done.set_result(self.answer)
        return done


def test_answers_are_computed_here_until_several_are_asked_for():
    executor = Asked("elsewhere")
    processes = AnswerProcesses(executor)
    processes.begin()
    assert processes.run("predict", str, 1) == "1"
    assert executor.functions == []

    def while_one_is_computed():
        assert processes.here == ["plan"]
        processes.begin()
        return processes.run("predict", str, 2)

    assert processes.run("plan", while_one_is_computed) == "elsewhere"
    assert executor.functions == [os.getpid, str]
    assert processes.here == []
    assert AnswerProcesses(None).run("predict", str, 3) == "3"


def test_where_a_process_ended_early_the_next_answer_is_computed_here():
    processes = AnswerProcesses(Asked(BrokenProcessPool()))
    processes.run("plan", processes.begin)
    with pytest.raises(RunFailed, match="has ended: ask again"):
        processes.run("predict", str, 1)
    assert processes.run("predict", str, 1) == "1"


def test_panels_that_are_asked_for_together_are_answered():
    with serving(*BTIO, folder=ROOT) as page, ThreadPoolExecutor(4) as pool:
        paths = ["/panel/predict", "/panel/explain", "/panel/plan", "/panel/predict?p=1..32"] * 2
        answers = [*pool.map(page.ask, paths)]
    assert {status for status, *_ in answers} == {200}
    assert all("<svg" in text for *_, text in answers)
    assert page.process.returncode == 0
    assert "Traceback" not in page.said
