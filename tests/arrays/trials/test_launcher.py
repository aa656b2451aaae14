"""`parcast.arrays.trials.launcher`: what ranks are asked for."""

import json
from types import SimpleNamespace

import pytest

from parcast.arrays.trials import launcher
from parcast.arrays.trials.launcher import REST, RequestLauncher
from parcast.arrays.trials.request import ArrayRequest, RequestCase
from parcast.errors import RunFailed
from parcast.testbed.testbed import VARIABLE, Testbed
from parcast.trials.trial import Launch

REQUEST = ArrayRequest(shape=(8, 4), client_mesh=(2, 1), servers=1)
LAUNCH = Launch(number=1, cases=(RequestCase(1, REQUEST),), expected=1.0)


@pytest.fixture
def asked(monkeypatch):
    """Give the tasks that ranks would have been started for."""
    tasks = []
    monkeypatch.setattr(launcher, "run_on_ranks", lambda _, task, **__: tasks.append(task))
    return tasks


@pytest.mark.parametrize(
    ("bed", "rest"),
    [(None, 0.0), (Testbed(hosts=2, cpu=None), 0.0), (Testbed(hosts=2, cpu=None, disk=1e7), REST)],
)
def test_only_a_limited_disk_rests_before_each_run(tmp_path, monkeypatch, asked, bed, rest):
    monkeypatch.delenv(VARIABLE, raising=False)
    if bed is not None:
        monkeypatch.setenv(VARIABLE, json.dumps(bed.description()))
    RequestLauncher(tmp_path)(LAUNCH, report=pytest.fail)
    (task,) = asked
    assert task["rest"] == rest
    assert not list(tmp_path.iterdir())


def test_ranks_are_not_started_where_their_files_have_no_room(tmp_path, monkeypatch, asked):
    monkeypatch.setattr(launcher.shutil, "disk_usage", lambda _: SimpleNamespace(free=300))
    with pytest.raises(RunFailed, match="has 300 B free, but the files take up to 307 B"):
        RequestLauncher(tmp_path)(LAUNCH, report=pytest.fail)
    assert asked == []
