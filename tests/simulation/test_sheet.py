"""`simulation.sheet`: a simulation on pages of every width, and in a notebook."""

from dataclasses import replace

import numpy as np

from parcast.descriptions.breakdown import Breakdown
from parcast.show.terminal import Page, lay_out
from parcast.simulation.result import Simulation


def simulation(p=(1, 2, 4), **changes):
    """Write down what a simulation might say."""
    p = np.array(p, dtype=float)
    shape = (len(p), 2)
    time = np.broadcast_to(8 / p[:, None], shape)
    given = {
        "axes": {"p": p, "network.bandwidth": np.array([1e8, 1e9])},
        "breakdown": Breakdown(
            compute=0.9 * time,
            communication=0.098 * time,
            io=0.002 * time,
            synchronisation=0 * time,
        ),
        "lower": 0.99 * time,
        "upper": 1.01 * time,
        "predicted": time * np.array([1.002, 1.25]),
        "cycles": np.full(shape, 640),
        "ended_by": np.full(shape, "precision"),
        "precision": 0.01,
        "seed": 0,
        "simulated": ("a: whole runs", "b: cycles"),
        "warnings": ("Mind <b>.",),
        "law": "spmd",
        "sources": ("spmd: a paper",),
        "program": "lu",
        "machine": "gort",
        "dimensions": {"network.bandwidth": "rate"},
    }
    return Simulation(**given | changes)


def lines_of(told, width=None, **options):
    return lay_out(told.to_sheet(**options), Page(width=width))[0]


def test_what_the_law_does_not_say_is_said():
    told = simulation(predicted=np.full((3, 2), np.nan))
    assert "none" in lines_of(told)[4]
    assert "  law         none" in lines_of(told, 40)


def test_a_difference_that_is_nothing_has_no_sign():
    told = simulation()
    told = replace(told, predicted=told.time * (1 - 1e-6))
    assert " 0.0 " in lines_of(told)[4]


def test_many_points_are_some_unless_all_are_asked_for():
    told = simulation(p=range(1, 101))
    lines, left_out = lay_out(told.to_sheet(), Page())
    assert left_out == ("60 of 200 points are shown. All of them: to_document().")
    assert str(told).endswith(left_out)
    assert len(lines_of(told, show_all=True)) == len(lines) + 140
