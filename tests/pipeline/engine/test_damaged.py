"""A damaged checkpoint changes no result: a run that goes on from it works again, or refuses."""

import random
import shutil
from functools import partial

import numpy as np
import pytest

import parcast
from parcast.errors import FileProblems, RunFailed
from parcast.pipeline.engine.checkpoint import MANIFEST
from tests.pipeline.engine.damaging import counted, cut, flipped, removed

N = 100


def halved(i):
    return np.full(3, 0.1 * i)


def broken(i):
    if i == 90:
        raise ValueError("no more")
    return halved(i)


def text(i):
    return f"{i},"


def unfinished_text(i):
    if i == 90:
        raise ValueError("no more")
    return text(i)


CASES = {
    "arrays": ((halved, broken), {"batch": 4}),
    "every": ((halved, broken), {"batch": 2, "every": 7, "finish": np.ndarray.tolist}),
    "text": ((text, unfinished_text), {"batch": 1, "fan_in": 3}),
    "shards": ((halved, broken), {"batch": 4, "shards": 3}),
}


def run(task, folder, **options):
    given = {"checkpoint": folder / "kept", "checkpoint_every": 0.0, "resume": True} | options
    if "every" in given:
        given["server"] = folder / "out.pickle"
    result = parcast.run_pipeline(range(N), task, **given)
    parts = result.value if isinstance(result.value, list) else [result.value]
    served = (folder / "out.pickle").read_bytes() if "every" in given else b""
    return [np.asarray(part).tobytes() for part in parts] + [served], result


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """Run every case until it fails, and undisturbed; give the folders and what it gives."""
    places, expected = {}, {}
    for case, ((whole, failing), options) in CASES.items():
        places[case] = tmp_path_factory.mktemp(case)
        with pytest.raises(RunFailed, match="Its checkpoint is kept: go on with resume=True"):
            run(failing, places[case], **options)
        expected[case], _ = run(whole, tmp_path_factory.mktemp("whole"), **options)
    return places, expected


@pytest.mark.fault(
    "Pipelines",
    "A result in a checkpoint is damaged: a bit, its length, or the file is missing.",
    promise="Its items are worked on again, and the run says so; the result has the bytes of an "
    "undisturbed run.",
)
@pytest.mark.parametrize("damage", [flipped, cut, removed], ids=lambda x: x.__name__)
@pytest.mark.parametrize("case", CASES)
def test_a_damaged_result_of_a_checkpoint_is_worked_on_again(interrupted, tmp_path, case, damage):
    places, expected = interrupted
    shutil.copytree(places[case], tmp_path, dirs_exist_ok=True)
    (whole, _), options = CASES[case]
    nodes = counted(tmp_path / "kept")
    damage(nodes[-1], random.Random(case))
    given, result = run(whole, tmp_path, **options)
    assert given == expected[case]
    (said,) = result.warnings
    assert said.startswith("Results in the checkpoint were damaged or missing (item")
    assert said.endswith("): the task was run again on their items.")
    assert (result.resumed_items > 0) == (len(nodes) > 1 or case == "every")
    assert not list((tmp_path / "kept").iterdir())


@pytest.mark.fault(
    "Pipelines",
    "The list of a checkpoint is damaged.",
    promise="It is refused with what to do; without it the run begins anew.",
)
@pytest.mark.parametrize("damage", [flipped, cut], ids=lambda x: x.__name__)
def test_a_damaged_list_of_a_checkpoint_is_refused_with_what_to_do(interrupted, tmp_path, damage):
    places, expected = interrupted
    shutil.copytree(places["arrays"], tmp_path, dirs_exist_ok=True)
    (whole, _), options = CASES["arrays"]
    again = partial(run, whole, tmp_path, **options)
    damage(tmp_path / "kept" / MANIFEST, random.Random(1))
    with pytest.raises(FileProblems, match=r"checkpoint\.json.*\n.* Delete it to work on all "):
        again()
    (tmp_path / "kept" / MANIFEST).unlink()
    given, result = again()
    assert (given, result.warnings, result.resumed_items) == (expected["arrays"], (), 0)
