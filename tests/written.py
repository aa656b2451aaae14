"""What a document or a figure is once it is written and read again."""

import json
import tempfile
from pathlib import Path

from parcast.files.document import json_pieces
from parcast.show.pictures.canvas import save_figure


def written(document):
    """Give a document, or rows, as who reads the JSON has it."""
    return json.loads("".join(json_pieces({"document": document})))["document"]


def svg_text(figure):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.svg"
        save_figure(figure, path)
        return path.read_text(encoding="utf-8")
