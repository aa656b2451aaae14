"""A prediction does not depend on how units are written, on the order of keys, or on names."""

import re
from decimal import Decimal

import numpy as np
import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.fitting.runs import runs_of
from parcast.prediction.predict import predict
from parcast.simulation.simulate import simulate
from parcast.timings.measurements import Measurements
from tests.conftest import ROOT
from tests.invariance.tables import differences, plain

pytestmark = pytest.mark.usefixtures("uncovered")
EXAMPLES = [
    ("btio/program.toml", "btio/sp2.toml", {"d": [1, 4]}),
    ("checkpoint/program.toml", "checkpoint/nfs.toml", {}),
    ("qcrd/program.toml", "qcrd/machine.toml", {}),
    ("laws/sort.toml", "laws/machine.toml", {"n": [1e6]}),
    ("laws/gauss.toml", "laws/machine.toml", {"n": [1000]}),
    ("stencil/program.toml", "stencil/machine.toml", {"n": [2000]}),
]
A_TIME = re.compile(r"([\d.]+)(\s*)(s|ms|us)\b(?!/)")
A_RATE = re.compile(r"([\d.]+)(\s*)([kMG]?)(B|flop|op)/s\b")
SMALLER = {"s": "ms", "ms": "us", "us": "ns"}
LARGER = {"": "k", "k": "M", "M": "G", "G": "T"}


def read(path):
    return tomlkit.parse((ROOT / "examples" / path).read_text()).unwrap()


def everywhere(keys, change):
    """The same keys with every text changed, in the opposite order."""
    if isinstance(keys, dict):
        return {name: everywhere(x, change) for name, x in reversed(keys.items())}
    if isinstance(keys, list):
        return [everywhere(x, change) for x in keys]
    return change(keys) if isinstance(keys, str) else keys


def written_otherwise(text):
    """The same amounts in other units."""
    text = A_TIME.sub(lambda x: f"{Decimal(x[1]) * 1000}{x[2]}{SMALLER[x[3]]}", text)
    return A_RATE.sub(lambda x: f"{Decimal(x[1]) / 1000}{x[2]}{LARGER[x[3]]}{x[4]}/s", text)


def a_thousand_times_faster(text):
    """Amounts of a world in which everything takes a thousandth of the time."""
    text = A_TIME.sub(lambda x: f"{x[1]}{x[2]}{SMALLER[x[3]]}", text)
    return A_RATE.sub(lambda x: f"{x[1]}{x[2]}{LARGER[x[3]]}{x[4]}/s", text)


def facts_of(told, *, factor=1.0, names=None):
    """Numbers and words of a prediction, times over a factor."""
    parts = dict(told.breakdown.components())
    times = {"time": told.time, "lower": told.lower, "upper": told.upper, **parts}
    times |= {"free": told.contention_free, "bus": told.single_bus}
    numbers = {name: x / factor for name, x in times.items() if x is not None}
    numbers |= {"speedup": told.speedup, "efficiency": told.efficiency}
    texts = (*told.limits, *told.fastest, *told.warnings)
    return numbers, {"words": [plain(x, names) for x in texts]}


def predicted(program, machine, at, **options):
    """What is predicted of two descriptions, which are given by their keys."""
    told = predict(Program(**program), Machine(**machine), p=[1, 4, 64], samples=32, **at)
    return facts_of(told, **options)


@pytest.mark.parametrize(("program", "machine", "at"), EXAMPLES, ids=lambda x: str(x)[:12])
def test_neither_units_nor_the_order_of_keys_change_a_prediction(program, machine, at):
    both = read(program), read(machine)
    known = predicted(*both, at)
    other = predicted(*(everywhere(x, written_otherwise) for x in both), at)
    assert not differences(known, other)
    faster = predicted(*(everywhere(x, a_thousand_times_faster) for x in both), at, factor=1e-3)
    assert not differences(known, faster)


amounts = st.floats(1e-3, 1e3).map(lambda x: f"{x:.3g}")
spreads = st.sampled_from(["", " +- 10%"])


@st.composite
def described(draw):
    """Keys of a program in two phases, and of a machine."""

    def amount(unit, of=""):
        return f"{draw(amounts)} {unit}{of}{draw(spreads)}"

    phases = [
        {
            "law": "spmd",
            "name": name,
            "cycles": draw(st.integers(1, 40)),
            "compute": {"parallel": amount("Gflop"), "serial": amount("ms")},
            "communication": {"messages": "6 * sqrt(p)", "volume": amount("MB", " / p")},
            "io": {
                "kind": draw(st.sampled_from(["synchronous", "striped"])),
                "volume": amount("MB"),
            },
        }
        for name in ("rona", "ilmo")
    ]
    machine = {
        "name": "Hirt",
        "compute": {"rate": amount("Mflop/s")},
        "network": {"latency": amount("us"), "bandwidth": amount("MB/s")},
        "storage": {"bandwidth": amount("MB/s"), "servers": draw(st.integers(1, 8))},
    }
    if draw(st.booleans()):
        machine["network"]["saturation"] = amount("MB/s")
    return {"phase": phases}, machine


@settings(max_examples=4)
@given(both=described())
def test_neither_units_nor_names_change_a_prediction_of_what_is_made_up(both):
    program, machine = both
    known = predicted(program, machine, {})
    faster = predicted(*(everywhere(x, a_thousand_times_faster) for x in both), {}, factor=1e-3)
    assert not differences(known, faster)
    names = {"rona": "tafo", "ilmo": "yxe", "Hirt": "Qavo"}
    called = predicted(
        *(everywhere(x, lambda text: names.get(text, text)) for x in both),
        {},
        names={new: old for old, new in names.items()},
    )
    assert not differences(known, called)


def test_the_unit_of_time_does_not_change_a_simulation():
    both = read("checkpoint/program.toml"), read("checkpoint/nvme.toml")

    def times(program, machine):
        told = simulate(Program(**program), Machine(**machine), p=[4], precision=0.5)
        return np.concatenate([told.time, told.lower, told.upper])

    known = times(*both)
    faster = times(*(everywhere(x, a_thousand_times_faster) for x in both))
    np.testing.assert_allclose(faster, 1e-3 * known, rtol=1e-9)


def test_the_columns_of_runs_may_have_any_order_in_a_fit():
    """Guards: which sets of constants a fit wrote hung on the order of d and n in the table."""
    program = Program(phase=[{"law": "spmd", "compute": {"parallel": "1 ms * n"}}])
    columns = {"p": [1, 2, 1, 2], "d": [1, 2, 2, 1], "n": [9, 8, 8, 9], "time": [4.0, 3, 2, 1]}
    one, other = (
        runs_of(Measurements(**{x: columns[x] for x in order}), program, Machine())
        for order in (("p", "d", "n", "time"), ("p", "n", "d", "time"))
    )
    assert one.measured.tolist() == other.measured.tolist()
