"""The program of the tutorial on checkpoints: restarted on other ranks, the same bits."""

import re
import shutil

from parcast import arrays
from tests.conftest import ROOT

PROGRAM = ROOT / "examples" / "arrays" / "heat.py"
PAGE = ROOT / "docs" / "tutorial" / "checkpoint-and-restart.md"


def test_the_page_has_the_program():
    text = re.search(r"<!-- file: heat.py -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert text[1] == PROGRAM.read_text().replace("  # noqa: T201 - its answer", "")


def test_it_goes_on_from_its_checkpoint_on_other_ranks_to_the_same_bits(ran, tmp_path):
    """That a rank may be killed is tested with the stencil."""
    program = tmp_path / "heat.py"  # in whose folder it writes
    shutil.copy(PROGRAM, program)
    path = tmp_path / "heat.zarr"
    for steps, ranks in ((60, 2), (130, 3)):
        status, out, err = ran(program, steps, ranks=ranks)
        assert status == 0, err
        assert out.splitlines()[-1] == f"step {steps} is in heat.zarr"
    restarted = arrays.open_store(path)["u"].read()
    path.rename(tmp_path / "restarted.zarr")
    status, _, err = ran(program, 130)
    assert status == 0, err
    assert arrays.open_store(path)["u"].read().tobytes() == restarted.tobytes()
