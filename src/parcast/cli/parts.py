"""Where a part of an answer goes, of a command that was interrupted or failed on its way."""

import os
from pathlib import Path

import click


def place_of_part(output: str) -> str:
    """Path to write a part to: it does not take the place of what is there, which may be whole.

    Parameters
    ----------
    output : str
        Where the whole was to be written.
    """
    if not os.path.exists(output):
        return output
    path = Path(output)
    beside = str(path.with_name(f"{path.stem}.interrupted{path.suffix}"))
    click.echo(f"parcast: {output} is left as it was; see {beside}.", err=True)
    return beside
