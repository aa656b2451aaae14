"""Points around a point, by which slopes are compared with differences."""

import numpy as np

STEP = 1e-5  # of each amount, relative


def nearby(at):
    """Give arrays of each amount: of shape (amounts, 2), one of them being more, then less."""
    values = np.array([*at.values()])[:, None, None]
    moved = 1.0 + STEP * np.eye(len(at))[..., None] * np.array([1.0, -1.0])
    return dict(zip(at, values * moved, strict=True))
