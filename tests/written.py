"""What a document is once it is written and read again."""

import json

from parcast.files.document import json_pieces


def written(document):
    """Give a document, or rows, as who reads the JSON has it."""
    return json.loads("".join(json_pieces({"document": document})))["document"]
