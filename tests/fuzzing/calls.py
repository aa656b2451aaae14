"""Random calls of public functions within their stated limits, and what must hold of each answer.

A call is a document as those of the readers are: its arguments in JSON. Answered or refused in
parcast's words, within the limits of time and memory; times lie within their intervals and are
numbers; and what gets better (more processors or servers, looser limits, faster resources) makes
no answer worse.
"""

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

import parcast
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.pipeline.planning.result import PipelinePlan

HAIR: Final = 1e-9  # of a number, by which rounding may change it
CLOSE: Final = 0.05  # of the least time, within which fewer ranks are taken
EXAMPLES: Final = Path(__file__).parents[2] / "examples"
ARRAYS: Final = str(EXAMPLES / "arrays" / "sp2_like.toml")

EDGES: Final = ("1e308", "1e300", "1e30", "1e-30", "5e-324", "0", "-1", "1e15")
NUMBER: Final = re.compile(r"(?<![-\w.])[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?(?![\w.])")

Arguments = dict[str, Any]
Make = Callable[[Random], Arguments]
Call = Callable[[Arguments], None]


def written(make: Make) -> Callable[[Random], bytes]:
    """Write random arguments as a document."""
    return lambda random: json.dumps(make(random)).encode()


def reading(call: Call) -> Callable[[Path], None]:
    return lambda path: call(json.loads(path.read_bytes()))


def spread(random: Random, low: float, high: float) -> float:
    """Draw a number of any magnitude between two."""
    return float(f"{np.exp(random.uniform(np.log(low), np.log(high))):.3g}")


def whole(random: Random, most: int) -> int:
    """Draw a whole number of any magnitude, from 1."""
    return min(max(round(spread(random, 0.6, most * 1.2)), 1), most)


def sometimes(random: Random, make: Callable[[], Any], share: float = 0.5) -> Any:
    return make() if random.random() < share else None


def given(arguments: Arguments) -> Arguments:
    """Leave out what is None."""
    return {name: value for name, value in arguments.items() if value is not None}


def require_within(lower: Any, value: Any, upper: Any) -> None:
    """Require finite numbers, each within its interval."""
    low, middle, high = (np.asarray(x, dtype=np.float64) for x in (lower, value, upper))
    assert np.isfinite(middle).all(), "a number that is none"
    assert not np.isnan([*low.flat, *high.flat]).any(), "an end that is no number"
    assert (low <= middle * (1 + HAIR)).all(), "below its interval"
    assert (middle <= high * (1 + HAIR)).all(), "above its interval"


def require_no_worse(better: Any, before: Any, slack: float = HAIR) -> None:
    """Require that times with more to work with are not longer than before."""
    after, first = np.asarray(better, np.float64), np.asarray(before, np.float64)
    allowed = first + slack * np.abs(first)
    assert (after <= allowed).all(), f"worse with more: {after} after {first}"


# match


def match_of(random: Random) -> Arguments:
    """Tables of 1 to 5 machines, each run at 1 to 6 counts, and limits."""
    shared = sorted(random.sample((1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 100, 128), 6))
    machines = [f"m{i}" for i in range(random.randint(1, 5))]
    rows: dict[str, list[Any]] = {name: [] for name in ("machine", "p", "time")}
    size = sometimes(random, lambda: rows.setdefault("n", []), 0.25)
    sizes: Callable[[int], int] = random.choice(
        (lambda _: 100, lambda p: 100 * p, lambda p: p % 7)
    )
    for machine in machines:
        own = shared if random.random() < 0.6 else [whole(random, 512) for _ in range(6)]
        first, serial = spread(random, 1e-3, 1e5), random.choice((0.0, 0.01, 0.2, 1.0))
        for p in sorted({random.choice(own) for _ in range(random.randint(1, 6))}):
            for _ in range(random.choice((1, 1, 1, 2, 3))):
                scatter = 1 + random.choice((0.0, 0.02, 0.3)) * random.random()
                rows["machine"].append(machine)
                rows["p"].append(p)
                rows["time"].append(first * (serial + (1 - serial) / p) * scatter)
                if size is not None:
                    size.append(1 + sizes(p))
    prices, costs = {name: spread(random, 1e-3, 10) for name in machines}, random.random() < 0.6
    typical = float(np.median(rows["time"]))
    return {"table": rows} | given(
        {
            "prices": prices if costs else None,
            "goal": random.choice(("time", "time", "cost" if costs else "time", "efficiency")),
            "within": sometimes(random, lambda: typical * spread(random, 0.1, 10)),
            "budget": sometimes(random, lambda: typical * spread(random, 1e-4, 1), 0.5 * costs),
            "certainty": sometimes(random, lambda: random.choice((0.5, 0.9, 0.99)), 0.3),
            "p": sometimes(random, lambda: sorted({whole(random, 1024) for _ in range(4)}), 0.3),
            "beyond": random.random() < 0.2,
            "scaling": random.choice(("auto", "auto", "strong", "weak")),
        }
    )


def call_match(arguments: Arguments) -> None:
    """Rank machines, once more with twice the limits."""
    table = {name: np.array(values) for name, values in arguments.pop("table").items()}
    matched = parcast.match(table, **arguments)
    str(matched)
    for each in matched.candidates:
        require_within(each.lower, each.time, each.upper)
        if each.cost is not None:
            require_within(each.cost_lower, each.cost, each.cost_upper)
        assert ((each.holds >= 0) & (each.holds <= 1)).all()
        assert each.best is None or 0 <= each.best <= 1
    limits = {name: 2 * arguments[name] for name in ("within", "budget") if name in arguments}
    if not limits:
        return
    looser = {x.machine: x for x in parcast.match(table, **arguments | limits).candidates}
    for each in matched.candidates:
        more = looser[each.machine]
        assert more.fits or not each.fits, "no count within larger limits"
        require_no_worse(-more.holds, -each.holds)
        if each.fits and arguments["goal"] == "cost":
            assert each.cost is not None
            assert more.cost is not None
            require_no_worse(more.cost[more.chosen], each.cost[each.chosen])


# programs and machines


def machine_of(random: Random) -> Arguments:
    """Describe a machine of ordinary figures."""
    machine: Arguments = {
        "compute": {"rate": f"{spread(random, 1e6, 1e11)} flop/s"},
        "network": {
            "latency": f"{spread(random, 1e-7, 1e-2)} s",
            "bandwidth": f"{spread(random, 1e5, 1e11)} B/s",
        },
        "storage": {
            "servers": whole(random, 64),
            "bandwidth": f"{spread(random, 1e6, 1e10)} B/s",
            "latency": f"{spread(random, 1e-5, 1e-1)} s",
        },
    }
    if random.random() < 0.5:
        machine["network"]["saturation"] = f"{spread(random, 1e6, 1e13)} B/s"
    if random.random() < 0.3:
        machine["compute"]["rate"] += f" +- {random.choice((1, 10, 50))}%"
    return machine


def spmd_of(random: Random) -> Arguments:
    """Describe a phase that computes, and may communicate and do I/O."""
    phase: Arguments = {"law": "spmd", "cycles": whole(random, 1000)}
    phase["bursts_per_io"] = whole(random, 100)
    phase["compute"] = {"parallel": f"{spread(random, 1e-2, 1e6)} s"}
    if random.random() < 0.5:
        phase["compute"]["serial"] = f"{spread(random, 1e-6, 1)} s"
    if random.random() < 0.3:
        phase["compute"]["parallel"] = f"{spread(random, 1, 100)} flop * n^2"
    if random.random() < 0.7:
        volume = random.choice(("{} B", "{} B * (p/4)^(-1/6)", "{} B * log2(p)", "{} B / p"))
        phase["communication"] = {
            "messages": random.choice((1, 6, "6*sqrt(p)", "min(2, p - 1) + ceil(log2(p))")),
            "volume": volume.format(spread(random, 1, 1e9)),
        }
    if random.random() < 0.7:
        phase["io"] = {
            "kind": random.choice(("synchronous", "striped", "clustered")),
            "volume": f"{spread(random, 1e3, 1e12)} B",
        }
    if random.random() < 0.3:
        phase["compute"]["parallel"] += " +- 10%"
    return phase


def array_io_of(random: Random) -> Arguments:
    """Describe a phase whose I/O are collective requests of arrays."""
    shape = [whole(random, 256) for _ in range(random.randint(1, 4))]
    io = {"law": "array_io", "shape": shape, "dtype": "float64", "costs": ARRAYS}
    io["operation"] = random.choice(("write", "read"))
    io["arrays"] = whole(random, 1000)
    compute = {"parallel": f"{spread(random, 1, 1e6)} s"}
    return {"law": "spmd", "cycles": 10, "compute": compute, "io": io}


def other_of(random: Random) -> Arguments:
    """Describe a phase of another law."""
    t1, share = f"{spread(random, 1e-3, 1e6)} s", random.random()
    return random.choice(
        (
            {"law": "amdahl", "t1": t1, "serial": share},
            {"law": "gustafson", "time": t1, "serial": share},
            {"law": "usl", "t1": t1, "contention": 0.01 * share, "coherency": 1e-4 * share},
            {"law": "power", "t1": t1, "exponent": share},
            {"law": "gauss", "exchange": random.choice(("pivot", "rows"))},
            {"law": "matmul", "kappa": random.choice((0, 1))},
            {"law": "sort"},
            {"law": "sample_sort"},
            {"law": "stencil"},
            {"law": "fractal", "alpha": whole(random, 10**5), "beta": "8 B"},
            {"law": "pipeline", "items": whole(random, 10**6), "task": t1, "merge": "1 ms"},
        )
    )


def program_of(random: Random) -> Arguments:
    """Describe a program of one phase or two."""
    kinds = random.choices((spmd_of, array_io_of, other_of), (6, 1, 5), k=random.choice((1, 1, 2)))
    return {"phase": [make(random) for make in kinds]}


def described(arguments: Arguments) -> tuple[Program, Machine]:
    """Build the program and the machine of a call."""
    return Program(**arguments.pop("program")), Machine(**arguments.pop("machine"))


def prediction_of(random: Random) -> Arguments:
    """Ask for times at counts up to 10^9."""
    most = random.choice((16, 1024, 10**6, 10**9))
    return given(
        {
            "program": program_of(random),
            "machine": machine_of(random),
            "p": sorted({whole(random, most) for _ in range(random.randint(1, 8))}),
            "d": sometimes(random, lambda: whole(random, 64), 0.3),
            "n": whole(random, 10**5),
            "faster": random.choice(("network.bandwidth", "compute.rate", "storage.bandwidth")),
            "interval": random.random() < 0.8,
            "seed": random.randint(0, 9),
        }
    )


def call_predict(arguments: Arguments) -> None:
    """Predict, once more with a resource that is ten times as fast."""
    program, machine = described(arguments)
    faster = arguments.pop("faster")
    predicted = parcast.predict(program, machine, **arguments)
    str(predicted)
    assert np.isfinite(predicted.time).all()
    if predicted.lower is not None:
        require_within(predicted.lower, predicted.time, predicted.upper)
    amount = machine.parameters()[faster]
    rates = [float(amount({"p": np.ones(())})) * factor for factor in (1, 10)]
    asked = arguments | {"interval": False, "bounds": False, "vary": {faster: rates}}
    slow, fast = np.moveaxis(parcast.predict(program, machine, **asked).time, -1, 0)
    require_no_worse(fast, slow, 1e-6)


def fastest_of(random: Random) -> Arguments:
    """Ask for the fastest count up to 10^9."""
    machine, most = machine_of(random), random.choice((100, 10**4, 10**6, 10**9))
    n = whole(random, 10**5)
    return {"program": program_of(random), "machine": machine, "n": n, "upto": whole(random, most)}


def call_best_processors(arguments: Arguments) -> None:
    """Look for the fastest count, once more up to twice as far."""
    program, machine = described(arguments)
    best = parcast.best_processors(program, machine, **arguments)
    str(best)
    upto = arguments["upto"]
    assert 1 <= best.p <= upto
    require_no_worse(best.time, best.alone)
    further = parcast.best_processors(program, machine, **arguments | {"upto": 2 * upto})
    require_no_worse(further.time, best.time)


# fit


def fit_of(random: Random) -> Arguments:
    """Make runs of a law with other constants than are described, with scatter."""
    phase = spmd_of(random)
    phase["compute"] = {
        name: text.split(" +-")[0].replace("flop * n^2", "s")
        for name, text in phase["compute"].items()
    }
    truth = json.loads(json.dumps(phase))
    for table in ("compute", "communication", "io"):
        for key, value in truth.get(table, {}).items():
            if isinstance(value, str) and key not in {"kind", "messages"}:
                number, unit, *rest = value.split(" ", 2)
                changed = float(number) * spread(random, 0.2, 5)
                truth[table][key] = " ".join([f"{changed:.4g}", unit, *rest])
    counts = sorted({whole(random, random.choice((8, 64, 1024))) for _ in range(9)})
    return {
        "program": {"phase": [phase]},
        "truth": {"phase": [truth]},
        "machine": machine_of(random),
        "p": [p for p in counts for _ in range(random.choice((1, 1, 2)))],
        "scatter": random.choice((0.0, 0.0, 0.01, 0.1, 0.5)),
        "seed": random.randint(0, 9),
    }


def call_fit(arguments: Arguments) -> None:
    program, machine = described(arguments)
    truth = Program(**arguments.pop("truth"))
    random = np.random.default_rng(len(arguments["p"]))
    p = np.array(arguments.pop("p"), dtype=np.float64)
    time = parcast.predict(truth, machine, p=p, interval=False, bounds=False).time
    time = time * np.exp(min(arguments.pop("scatter"), 1) * random.standard_normal(len(p)))
    fitted = parcast.fit(program, {"p": p, "time": time}, machine, **arguments)
    str(fitted)
    for each in fitted.parameters:
        require_within(each.lower, each.factor, each.upper)
    assert np.isfinite(fitted.fitted).all()


# plan io


def io_plan_of(random: Random) -> Arguments:
    """Ask for the servers of arrays of up to 6 dimensions over up to 10^9 clients."""
    dimensions = random.randint(1, random.choice((2, 3, 6)))
    small = random.choice((16, 100, 1000, 10**6, 10**9))
    shape = [whole(random, small) for _ in range(dimensions)]
    clients = [whole(random, random.choice((2, 8, 64, small))) for _ in range(dimensions)]
    servers = sorted({whole(random, random.choice((8, 64, 65536))) for _ in range(3)})
    return given(
        {
            "shape": shape,
            "clients": clients,
            "servers": sometimes(random, lambda: servers),
            "dtype": random.choice(("uint8", "float32", "float64")),
            "arrays": whole(random, random.choice((1, 10, 10**6, 10**9))),
            "subchunk": sometimes(random, lambda: whole(random, 2**30), 0.4),
            "storage": sometimes(random, lambda: [whole(random, x) for x in shape], 0.3),
            "policy": random.choice(("balanced", "hpf")),
            "objective": random.choice(("time", "utilisation", "fewest")),
            "operation": random.choice(("write", "read")),
            "writer": random.choice(("write-behind", "double-buffer", "sync")),
            "batch": random.choice((False, True)),
            "contention": random.random() < 0.3,
        }
    )


def call_plan_io(arguments: Arguments) -> None:
    """Plan array I/O, once more with fewer numbers of servers."""
    plan = parcast.plan_io(**arguments)
    str(plan)
    assert all(np.isfinite(x.time) and x.time > 0 for x in plan.plans)
    assert all(0 <= x.utilisation <= 1 + HAIR for x in plan.plans)
    if len(servers := list(arguments.get("servers", range(1, 9)))) > 1:
        fewer = parcast.plan_io(**arguments | {"servers": servers[:-1]})
        require_no_worse(plan.fastest.time, fewer.fastest.time)
        if arguments["objective"] == "utilisation":
            require_no_worse(-plan.best.utilisation, -fewer.best.utilisation)


# plan pipeline


def pipeline_plan_of(random: Random) -> Arguments:
    """Ask for the ranks of a pipeline, and for those with something better."""
    task = spread(random, 1e-6, 100)

    def part(most: float = 10) -> float:
        return task * spread(random, 1e-5, most)

    uncertain = random.random() < 0.2
    arguments = given(
        {
            "items": whole(random, random.choice((10, 1000, 10**6, 10**12))),
            "task": f"{task} s +- 10%" if uncertain else task,
            "merge": sometimes(random, part),
            "message": sometimes(random, lambda: spread(random, 1, 1e9)),
            "growth": sometimes(random, lambda: random.choice((0, 0.5, 0.9, 1, 2)), 0.3),
            "fetch": sometimes(random, part),
            "overhead": sometimes(random, lambda: part(1)),
            "startup": sometimes(random, part, 0.2),
            "bandwidth": sometimes(random, lambda: spread(random, 1e5, 1e11)),
            "latency": sometimes(random, part),
            "cores": sometimes(random, lambda: whole(random, 64), 0.2),
            "channel": sometimes(random, lambda: random.choice(("own", "shared"))),
            "schedule": random.choice(("adaptive", "adaptive", "source")),
            "ranks": whole(random, random.choice((4, 64, 2000, 50_000))),
            "per_node": sometimes(random, lambda: whole(random, 64), 0.2),
            "efficiency": sometimes(random, lambda: random.uniform(0.1, 1), 0.2),
        }
    )
    if random.random() < 0.3:
        arguments["within"] = task * arguments["items"] * spread(random, 1e-3, 2)
    return arguments


def call_plan_pipeline(arguments: Arguments) -> None:
    """Plan a pipeline, once more with each thing better that can be."""
    plan = parcast.plan_pipeline(**arguments)
    str(plan)
    for each in plan.plans:
        require_within(each.lower, each.time, each.upper)
        figures = (*each.stages.values(), each.utilisation, each.memory, each.speedup)
        assert np.isfinite(figures).all()
    for better in better_than(arguments):
        require_better(parcast.plan_pipeline(**arguments | better), plan)


def better_than(arguments: Arguments) -> Iterable[Arguments]:
    """What there is more of, or what is faster, one at a time; a task is no resource."""
    yield {"ranks": min(2 * arguments["ranks"], 100_000)}
    yield {"ranks": min(arguments["ranks"] + 1, 100_000)}
    factors = {"within": 2.0, "efficiency": 0.5}
    if "efficiency" not in arguments:  # one rank, to which it compares, becomes faster as well
        halved = dict.fromkeys(("latency", "overhead", "fetch", "startup"), 0.5)
        factors |= {"bandwidth": 2.0} | halved
    for name, factor in factors.items():
        if name in arguments:
            yield {name: arguments[name] * factor}


def require_better(better: PipelinePlan, plan: PipelinePlan) -> None:
    """Require a plan where there was one, within what fewer ranks may cost."""
    if plan.best is not None:
        assert better.best is not None, "no plan with more"
        assert better.fastest is not None
        assert plan.fastest is not None
        slack = CLOSE if plan.limits.within is None else np.inf  # then the fewest ranks are best
        require_no_worse(better.best.time, plan.plans[plan.fastest].time, slack)
        require_no_worse(better.plans[better.fastest].time, plan.plans[plan.fastest].time, 1e-2)


# explain pipeline


def schedule_of(random: Random) -> Arguments:
    """Ask for a schedule, sometimes for what is none."""
    odd = (2.5, 0, -1, True, "4", None, 1e300, float("inf"))
    ranks = whole(random, 300) if random.random() < 0.9 else random.choice(odd)
    arguments: Arguments = {"ranks": 2 ** random.randint(0, 8) if random.random() < 0.3 else ranks}
    for name, most in (("pipelines", 100), ("cycles", 10), ("items", 5000)):
        if random.random() < 0.4:
            is_odd = random.random() < 0.1
            arguments[name] = random.choice(odd) if is_odd else whole(random, most)
    schedule = sometimes(random, lambda: random.choice(("source", "adaptive")))
    return given(arguments | {"schedule": schedule})


def call_explain(arguments: Arguments) -> None:
    """Follow a schedule: every item has one task, and all have one result."""
    ranks = arguments.pop("ranks", None)
    explained = parcast.explain_pipeline(ranks, **arguments)
    str(explained)
    explained.to_document()
    assert 0 <= explained.busy <= 1 + HAIR
    if explained.items is not None:
        taken = sorted(x.items.first for x in explained.activities if x.kind == "task")
        assert taken == list(range(explained.items)), "an item without its task"


OF_CALLS: Final[dict[str, tuple[Make, Call]]] = {
    "match": (match_of, call_match),
    "fit": (fit_of, call_fit),
    "plan-io": (io_plan_of, call_plan_io),
    "plan-pipeline": (pipeline_plan_of, call_plan_pipeline),
    "predict": (prediction_of, call_predict),
    "explain": (schedule_of, call_explain),
    "best-processors": (fastest_of, call_best_processors),
}


# amounts at the edges of what a float holds


def edges_of(random: Random) -> Arguments:
    """Make a call in which some numbers are the largest or the smallest there are."""
    name = random.choice([*OF_CALLS])
    text = json.dumps(OF_CALLS[name][0](random))
    places = [found.span() for found in NUMBER.finditer(text)]
    for start, stop in sorted(
        random.sample(places, min(random.choice((1, 1, 2)), len(places))), reverse=True
    ):
        text = f"{text[:start]}{random.choice(EDGES)}{text[stop:]}"
    return {"call": name, "arguments": json.loads(text)}


def call_with_edges(arguments: Arguments) -> None:
    """Call with such numbers: whether they make an answer worse is no question."""
    with suppress(AssertionError):
        OF_CALLS[arguments["call"]][1](arguments["arguments"])


CALLS: Final = {
    f"call-{name}": (written(make), reading(call))
    for name, (make, call) in (OF_CALLS | {"edges": (edges_of, call_with_edges)}).items()
}
