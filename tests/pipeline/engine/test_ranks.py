"""Runs on ranks give what a run on one process gives, to the last bit."""

import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def serial():
    sys.path.insert(0, str(HERE))
    try:
        import same_bytes

        return json.loads(json.dumps(same_bytes.all_of()))
    finally:
        sys.path.remove(str(HERE))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
def test_runs_on_any_number_of_ranks_give_the_same_bytes(ran, serial, tmp_path, ranks):
    status, out, err = ran(HERE / "same_bytes.py", tmp_path / "out.json", ranks=ranks)
    assert (status, out, err) == (0, "", "")
    assert json.loads((tmp_path / "out.json").read_text()) == serial
