"""The chosen plan against a simulation, event by event, of the schedule that runs it."""

import pytest

from parcast.pipeline.planning.plan import plan_pipeline
from parcast.pipeline.simulation.replications import simulate_pipeline
from parcast.pipeline.simulation.scenario import Scenario

COSTS = {"task": 2e-3, "merge": 2e-4, "overhead": 2e-4, "latency": 5e-5, "fetch": 2e-5}


def simulated(costs, ranks, **plan):
    """Simulated time of a run [s]."""
    known = {name: getattr(costs, name) for name in (*COSTS, "items")}
    scenario = Scenario(
        ranks=ranks, prefetch=True, service=costs.message / 1e9, is_shared=True, **known, **plan
    )
    return simulate_pipeline(scenario).time


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize("ranks", [4, 16])
def test_the_time_of_the_chosen_plan_is_that_of_the_simulation(ranks):
    plan = plan_pipeline(items=4000, message="20 kB", bandwidth="1 GB/s", **COSTS, ranks=ranks)
    found = simulated(plan.costs, **plan.arguments)
    assert plan.best.time == pytest.approx(found, rel=0.05)
    # No plan beside it is much better: another batch, another fan-in, half the ranks.
    chosen = plan.arguments
    others = [
        chosen | {"batch": 1},
        chosen | {"batch": max(chosen["batch"] // 4, 1)},
        chosen | {"batch": chosen["batch"] * 4},
        chosen | {"fan_in": 4, "batch": 16},
        chosen | {"ranks": chosen["ranks"] // 2},
    ]
    assert min(simulated(plan.costs, **other) for other in others) >= 0.95 * found


def test_the_published_schedule_is_planned_as_it_is_simulated():
    plan = plan_pipeline(
        items=4096, task="5 ms", merge="1 ms", latency="0.1 ms", ranks=16, schedule="source"
    )
    found = simulated(plan.costs, **plan.arguments)
    assert plan.best.time == pytest.approx(found, rel=0.05)
