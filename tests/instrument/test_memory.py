"""How much memory is free, and that no more than half of it is used."""

import numpy as np
import pytest

from parcast.instrument import memory


@pytest.fixture
def group(tmp_path, monkeypatch):
    """Put this process into a step of a job, whose limits the tests write."""
    (tmp_path / "cgroup").write_text("0::/job/step\n")
    (tmp_path / "job" / "step").mkdir(parents=True)
    monkeypatch.setattr(memory, "GROUP", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "GROUPS", tmp_path)
    return tmp_path / "job"


def limited(folder, limit, current):
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{current}\n")


def test_the_limit_of_a_job_above_the_step_counts(group):
    limited(group / "step", "max", 10)
    limited(group, 1_000_000, 400_000)
    assert memory.free_memory() == 600_000
    limited(group, 1_000_000, 1_200_000)
    assert memory.free_memory() == 0


def test_the_least_limit_counts_however_much_is_used(group):
    assert memory.memory_limit() is None
    limited(group / "step", 3_000_000, 10)
    limited(group, 1_000_000, 1_200_000)
    assert memory.memory_limit() == 1_000_000


def test_at_most_half_is_used_by_all_who_share_it(group, monkeypatch):
    limited(group, 1_000_000, 0)
    asked = []
    monkeypatch.setattr(memory.np, "empty", lambda size, _: asked.append(size) or np.zeros(size))
    memory.provide(1 << 60, sharers=5)
    memory.provide(10)
    assert asked == [100_000, 10]
