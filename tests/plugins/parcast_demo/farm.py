"""A master that deals out tasks to p - 1 workers, one after another.

    T(1) = n*t ,   T(P) = n * max(t/(P - 1), d)

n tasks take t each, and the master d to hand one over: with more than 1 + t/d processors the
workers wait for it. Use it where tasks are alike; it knows no network.
"""

from typing import Annotated, Literal

import numpy as np

from parcast.descriptions.amount import Amount
from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.description import Of, parameter
from parcast.descriptions.program import LAW_KEY, Phase


class FarmPhase(Phase):
    """Tasks that a master deals out."""

    source = "the bounds of a master and of its workers"
    fitted = ("task", "dealing")
    law: Literal["farm"] = LAW_KEY
    tasks: Annotated[Amount, Of("count")] = parameter("n", "Tasks of a cycle.")
    task: Annotated[Amount, Of("time", above=0.0)] = parameter(..., "Time of a task, t.")
    dealing: Annotated[Amount, Of("time")] = parameter("0 s", "Time to hand one over, d.")

    def cycle(self, machine, at):
        """Time of one cycle at every point of a grid [s]."""
        p, own = np.asarray(at["p"], dtype=float), self.values(at)
        working = own["tasks"] * own["task"] / np.maximum(p - 1, 1)
        dealing = np.where(p > 1, own["tasks"] * own["dealing"], 0.0)
        return Breakdown(compute=working, synchronisation=np.maximum(dealing - working, 0.0))
