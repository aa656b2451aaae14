"""Random programs and machines, and their times where the descriptions themselves are changed."""

import numpy as np

import parcast

SPEEDS = {  # amounts of the machine: unit, and power of 2 that makes them twice as good
    "compute.rate": ("flop/s", 1),
    "network.latency": ("s", -1),
    "network.bandwidth": ("B/s", 1),
    "network.saturation": ("B/s", 1),
    "storage.latency": ("s", -1),
    "storage.bandwidth": ("B/s", 1),
}
OF = {"compute": "compute", "network": "communication", "storage": "io"}


def machine_of(speeds, **servers):
    tables = {}
    for name, value in speeds.items():
        table, key = name.split(".")
        tables.setdefault(table, {})[key] = f"{float(value)!r} {SPEEDS[name][0]}"
    tables.setdefault("storage", {}).update(servers)
    return parcast.Machine(**tables)


def random_question(seed):
    """Give a program, the speeds of a machine, its disks, and a count."""
    random = np.random.default_rng(seed)

    def some(low, high):
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    phase = {
        "law": "spmd",
        "cycles": float(random.integers(1, 50)),
        "bursts_per_io": float(random.integers(1, 8)),
        "compute": {
            "parallel": f"{some(1e8, 1e11)!r} flop",
            "serial": f"{some(1e5, 1e8)!r} flop",
            "variability": ["none", "exponential"][random.integers(2)],
        },
        "communication": {
            "messages": f"{some(1, 20)!r} * p^0.3",
            "volume": f"{some(1e4, 1e7)!r} B",
        },
    }
    if random.random() < 0.7:
        phase["io"] = {"kind": "synchronous", "volume": f"{some(1e5, 1e8)!r} B"}
    loops = {
        "law": "regions",
        "region": [
            {
                "kind": "loop",
                "name": "a",
                "iterations": 1e6,
                "iteration": f"{some(1, 1e5)!r} flop",
            },
            {"kind": "halo", "name": "b", "calls": 100, "volume": f"{some(1e3, 1e7)!r} B"},
            {"kind": "write", "name": "c", "volume": f"{some(1e6, 1e9)!r} B"},
        ],
    }
    phases = [[phase], [loops], [phase | {"name": "first"}, loops | {"name": "then"}]]
    program = parcast.Program(phase=phases[random.integers(3)])
    pair = some(1e7, 1e10)
    speeds = {
        "compute.rate": some(1e8, 1e10),
        "network.latency": some(1e-6, 1e-3),
        "network.bandwidth": pair,
        "network.saturation": pair * some(1.5, 100),
        "storage.latency": some(1e-4, 1e-2),
        "storage.bandwidth": some(1e7, 1e9),
    }
    p = int(2 ** random.integers(0, 11))
    return program, speeds, int(random.integers(1, 9)), p


def time_of(program, speeds, servers, p):
    """Predict with other descriptions."""
    machine = machine_of(speeds, servers=servers)
    return float(parcast.predict(program, machine, p=p, interval=False, bounds=False).time[0])


def saved_by_predicting(program, speeds, servers, p):
    """What each thing twice as good saves, by its name."""
    before = time_of(program, speeds, servers, p)
    saved = {
        name: 1 - time_of(program, speeds | {name: speeds[name] * 2.0**power}, servers, p) / before
        for name, (_, power) in SPEEDS.items()
    }
    saved["d"] = 1 - time_of(program, speeds, 2 * servers, p) / before
    saved["p"] = 1 - time_of(program, speeds, servers, 2 * p) / before
    return saved


def elasticity_by_predicting(program, speeds, servers, p, name):
    """Elasticity by differences of the eighth order of predicted times."""
    step = 0.01
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    logs = {
        k: np.log(time_of(program, speeds | {name: speeds[name] * np.exp(k * step)}, servers, p))
        for i in weights
        for k in (i, -i)
    }
    return sum(w * (logs[k] - logs[-k]) for k, w in weights.items()) / step


def resource_by_predicting(program, speeds, servers, p):
    """Resource of which 0.1% more speed saves most."""
    saved = {}
    for table, resource in OF.items():
        faster = {
            name: value * 1.001 ** SPEEDS[name][1] if name.startswith(table) else value
            for name, value in speeds.items()
        }
        saved[resource] = -time_of(program, faster, servers, p)
    return max(saved, key=saved.__getitem__)
