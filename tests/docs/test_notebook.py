"""The notebook of the tutorial runs from its first cell to its last, and shows what it says."""

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs/tutorial/notebook.ipynb"


@pytest.mark.filterwarnings("ignore")  # of the packages that run it
def test_the_notebook_runs_and_shows_results_as_in_a_report():
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = [
        output.data
        for cell in cells
        for output in cell.outputs
        if output.output_type in ("execute_result", "display_data")
    ]
    forecast, knees, knee, planned, frame, arrays, *_, figure, last = shown
    page = forecast["text/html"]
    assert page.index("<svg") < page.index("<table>")
    assert all("<table" in x["text/html"] for x in (knees, planned, frame))
    assert int(knee["text/plain"]) in (8, 16, 32)
    assert "xarray" in arrays["text/html"]
    assert "image/png" in figure
    assert last["text/plain"].startswith("(True, ")
