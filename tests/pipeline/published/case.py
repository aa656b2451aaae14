"""The published case of the parallel pipeline."""

import csv
from pathlib import Path

import numpy as np

TASK = 0.15  # [s]
MESSAGE = 23720.0  # [B]
BANDWIDTH = 1.28e9 / 8  # [B/s]
SERVICE = MESSAGE / BANDWIDTH
P = 16  # of a pipeline


def columns_of(path):
    """Columns of a table by their names, as numbers."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


ROWS = columns_of(Path(__file__).with_name("data") / "published.csv")
