"""`parcast.arrays.running.launches`: what ranks are asked for."""

import json
from types import SimpleNamespace

import pytest

from parcast.arrays.running import launches
from parcast.arrays.running.launches import REST, Launch, run_launch
from parcast.arrays.running.request import ArrayRequest
from parcast.errors import RunFailed
from parcast.testbed.testbed import VARIABLE, Testbed

REQUEST = ArrayRequest(shape=(8, 4), client_mesh=(2, 1), servers=1)


@pytest.fixture
def asked(monkeypatch):
    """Give the tasks that ranks would have been started for."""
    tasks = []
    monkeypatch.setattr(launches, "run_task", lambda _, task, **__: tasks.append(task))
    return tasks


@pytest.mark.parametrize(
    ("bed", "rest"),
    [(None, 0.0), (Testbed(hosts=2, cpu=None), 0.0), (Testbed(hosts=2, cpu=None, disk=1e7), REST)],
)
def test_only_a_limited_disk_rests_before_each_run(tmp_path, monkeypatch, asked, bed, rest):
    monkeypatch.delenv(VARIABLE, raising=False)
    if bed is not None:
        monkeypatch.setenv(VARIABLE, json.dumps(bed.description()))
    launch = Launch(
        number=1, layout=REQUEST.layout, requests={0: REQUEST}, rounds=[[0]], expected=1.0
    )
    run_launch(launch, folder=tmp_path, report=pytest.fail)
    (task,) = asked
    assert task["rest"] == rest
    assert not list(tmp_path.iterdir())


def test_ranks_are_not_started_where_their_files_have_no_room(tmp_path, monkeypatch, asked):
    launch = Launch(
        number=1, layout=REQUEST.layout, requests={0: REQUEST}, rounds=[[0]], expected=1.0
    )
    monkeypatch.setattr(launches.shutil, "disk_usage", lambda _: SimpleNamespace(free=300))
    with pytest.raises(RunFailed, match="has 300 B free, but the files take up to 307 B"):
        run_launch(launch, folder=tmp_path, report=pytest.fail)
    assert asked == []
