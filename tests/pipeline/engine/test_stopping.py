"""Items without an end give results during the run, and Ctrl-C gives what was taken until then."""

import ast
import json
import os
import signal
import time
from pathlib import Path

import pytest

import parcast
from parcast.pipeline.engine.limits import STOPPING

ENDLESS = Path(__file__).parent / "endless.py"


def stopped(process, folder, lines, is_ready=lambda: True):
    """Stop a program as Ctrl-C in a terminal does, once so much was served; give all."""
    served, end = folder / "served", time.monotonic() + 30
    while not served.exists() or len(served.read_text().splitlines()) < lines or not is_ready():
        assert time.monotonic() < end
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    said = [line for line in out.splitlines() if "Ctrl-C" not in line]  # mpiexec tells of it
    assert (process.returncode, said, err) == (0, [], STOPPING)  # which is said once
    reductions = [tuple(map(int, line.split())) for line in served.read_text().splitlines()]
    served.unlink()
    assert all(value == sum(range(first, stop)) for first, stop, value in reductions)
    return reductions


@pytest.mark.fault(
    "Pipelines",
    "Ctrl-C during a pipeline of endless items.",
    promise="Results so far are delivered; no process is left.",
)
@pytest.mark.parametrize(
    ("ranks", "arguments"),
    [
        (None, ["ranks=1"]),
        (None, ["ranks=3", "server_rank=1", "counted=True"]),
        (3, ["pause=0.03", "pipelines=2"]),
    ],
)
def test_endless_items_give_results_until_they_are_stopped(
    started, gone, tmp_path, ranks, arguments
):
    process = started(ENDLESS, "every=5", *arguments, ranks=ranks)
    served = stopped(process, tmp_path, 4)
    items, reductions, was_stopped, value = ast.literal_eval((tmp_path / "result.txt").read_text())
    assert was_stopped
    assert value is None
    assert reductions == len(served) == -(-items // 5)
    assert [first for first, _, _ in served] == list(range(0, items, 5))
    assert served[-1][1] == items
    assert gone(process)


@pytest.mark.fault(
    "Pipelines", "A second Ctrl-C.", promise="The run ends at once; no process is left."
)
def test_a_second_interrupt_ends_the_run_at_once(started, gone):
    program = (
        "import parcast, time, itertools\n"
        "def task(i):\n    print('begun', flush=True)\n    time.sleep(60)\n"
        "parcast.run_pipeline(itertools.count(), task, ranks=2)\n"
    )
    process = started(program)
    assert process.stderr.readline() == "begun\n"
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    while (line := process.stderr.readline()) == "begun\n":  # the other rank's
        pass
    assert line == STOPPING  # though the tasks take long
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert time.monotonic() - begun < 15
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
    assert gone(process)


@pytest.mark.parametrize(
    "kind", [KeyboardInterrupt, GeneratorExit, type("Own", (BaseException,), {})]
)
def test_what_a_task_raises_by_itself_is_skipped_whatever_it_is(kind):
    def task(i):
        if i == 3:
            raise kind("by itself")
        return i

    result = parcast.run_pipeline(range(5), task, on_error="skip", retries=1)
    assert (result.value, result.retried) == (7, 1)
    assert [x.index for x in result.skipped] == [3]
    assert result.skipped[0].error.endswith(f"{kind.__name__}: by itself")


def test_a_second_interrupt_is_no_failure_of_an_item_that_is_skipped(started):
    program = (
        "import parcast, time\n"
        "def task(i):\n    print('begun', flush=True)\n    time.sleep(60)\n"
        "parcast.run_pipeline(range(9), task, on_error='skip')\n"
    )
    process = started(program)
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    assert process.stderr.readline() == STOPPING
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT
    assert out == ""
    assert err.endswith("KeyboardInterrupt\n")


@pytest.mark.fault(
    "Pipelines",
    "A run with a checkpoint is stopped and resumed.",
    promise="No item is lost or repeated in its results.",
)
def test_a_run_that_was_stopped_goes_on_from_its_checkpoint(started, tmp_path):
    manifest = tmp_path / "kept" / "checkpoint.json"
    delivered = 0

    def is_kept():
        return manifest.exists() and json.loads(manifest.read_text())["delivered"] > delivered

    keys = ["every=7", "checkpoint='kept'", "checkpoint_every=0.01", "resume=True"]
    seen = {}
    for ranks in (None, 2):
        process = started(ENDLESS, *keys, *(["ranks=2"] if ranks is None else []), ranks=ranks)
        seen[ranks] = stopped(process, tmp_path, 5, is_kept)
        delivered = json.loads(manifest.read_text())["delivered"]
    assert 0 < seen[2][0][0] <= seen[None][-1][0] + 7
    assert seen[2][0][0] % 7 == 0
