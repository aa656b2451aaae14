"""`calibration.machine_file`: what is written is read again, and says where it comes from."""

import math
import tomllib
from dataclasses import replace
from itertools import pairwise

import pytest

from parcast.calibration.benchmarks.machine_figures import MachineFigures, SourcedFigure
from parcast.calibration.machine_file import machine_figures, machine_keys
from parcast.calibration.notes import _pair
from parcast.calibration.primitives import primitive_formulas
from parcast.calibration.primitives_file import line_words, with_spread
from parcast.calibration.result import Segment
from parcast.calibration.sheet import counts_words
from parcast.descriptions.toml_files import read_machine
from tests.calibration.calibrated import HOST, INTERRUPTED, VALUES, WHOLE, line, measured

TOLD = MachineFigures(
    source="OSU Micro-Benchmarks: osu_latency.txt",
    figures=(
        SourcedFigure(key="network.latency", text="9 us", source="osu_latency, 2 processes"),
        SourcedFigure(key="primitives.reduce.startup", text="8 us", source="osu_reduce"),
        SourcedFigure(key="primitives.reduce.bandwidth", text="1 GB/s", source="osu_reduce"),
    ),
    remarks=("allgather: startup 2 us; too short for a rate",),
    notes=("The processes are taken from the names of files.",),
)


@pytest.fixture
def machine(tmp_path):
    """Write a machine file and read it as any other."""

    def read(figures):
        path = tmp_path / "machine.toml"
        path.write_text(figures.to_toml(), encoding="utf-8")
        return read_machine(path)

    return read


def test_ranks_that_may_be_on_other_hosts_leave_the_processors_open(machine):
    free = replace(WHOLE, host=replace(HOST, placement={8: "free"}))
    assert machine(machine_figures(free)).processors is None


@pytest.mark.parametrize(
    ("cores", "placement", "why"),
    [(2, "own", "as no more had a core each"), (64, "own", "(-np)"), (2, "free", "(-np)")],
)
def test_a_saturation_of_one_pair_says_why_there_was_one(cores, placement, why):
    saturation = replace(VALUES[0], key="network.saturation", ranks=2)
    host = replace(HOST, cores=cores, placement={2: placement})
    (said,) = _pair([saturation], host)
    assert why in said


def test_the_values_come_back_with_their_spread(machine):
    told = machine(machine_figures(WHOLE))
    assert (told.name, told.processors, told.storage.servers) == ("node7", 8, 1)
    assert told.node.processors == 8
    amounts = dict(told.amounts())
    for each in VALUES:
        if each.key in machine_keys():
            amount = amounts[each.key]
            assert float(amount({})) == pytest.approx(each.value, rel=1e-3)
            assert amount.spread >= each.upper / each.value - 1.0001
            assert amount.spread == pytest.approx(each.upper / each.value - 1, rel=0.1)


def test_each_value_stands_below_its_origin():
    lines = machine_figures(WHOLE).to_toml().splitlines()
    above = {}
    for before, text in pairwise(lines):
        above.setdefault(text.split(" = ")[0], before)
    assert above["memory_bandwidth"] == (
        "# way to compute.memory_bandwidth, 2026-11-21, 5 launches, 500 timings, 3 outliers, the "
        "slowest 7x the median"
    )
    assert above["saturation"].endswith("5 launches, 500 timings")
    assert above["servers"] == "# /scratch is described as one server, whatever its hardware"
    assert lines[0] == 'name = "node7"'
    assert lines[1] == (
        'source = "parcast calibrate on node7, 2026-11-21 10:15, A processor, 8 cores, MPICH '
        "5.0.2, 2, 4 and 8 ranks with one core each, 16 and 32 ranks sharing one core, load 0.25 "
        'before and 2 after, governor performance"'
    )
    assert lines[-2:] == [
        "# Warnings of the measurement:",
        "# 16 and 32 ranks share one core: their times are those of taking turns.",
    ]


def test_one_launch_is_never_exact_and_says_so():
    one = measured("network.latency", 1e-6, "time", launches=1, settled=False)
    one = replace(one, lower=math.nan, upper=math.nan)
    told = machine_figures(replace(WHOLE, measured=(one,), tables=(), lines=()))
    figure = told.figures[-1]
    assert (figure.key, figure.text) == ("network.latency", "1 us +- 100%")
    said = "1 launch, 500 timings, +- set to 100% (one launch), not converged"
    assert figure.source.endswith(said)


def test_no_key_of_one_launch_is_exact():
    nothing = {"startup_lower": math.nan, "startup_upper": math.nan}
    nothing |= {"rate_lower": math.nan, "rate_upper": math.nan}
    once = replace(
        WHOLE,
        measured=tuple(replace(x, launches=1, lower=math.nan, upper=math.nan) for x in VALUES),
        tables=tuple(
            replace(
                x,
                samples=tuple(
                    replace(y, launches=1, lower=math.nan, upper=math.nan) for y in x.samples
                ),
            )
            for x in WHOLE.tables
        ),
        lines=tuple(replace(x, **nothing) for x in WHOLE.lines),
    )
    figures = machine_figures(once).figures
    exact = [x.key for x in figures if "+- 100%" not in x.text]
    assert exact == ["processors", "oversubscribed_from", "node.processors", "storage.servers"]
    assert {counts_words(x) for x in primitive_formulas(once)} == {
        "2, 4, 8 (one launch)",
        "16, 32 on one core (one launch)",
    }


def test_a_time_that_does_not_grow_has_no_rate():
    flat = replace(
        line("send", 2), rate=math.inf, segments=(Segment(first=0, startup=1e-6, rate=math.inf),)
    )
    assert line_words(flat) == "send, p = 2: 1 us, fit error 4%"
    endless = measured("network.bandwidth", math.inf, "rate")
    told = machine_figures(replace(WHOLE, measured=(endless,)))
    assert "network.bandwidth" not in {figure.key for figure in told.figures}
    assert any(remark.startswith("network.bandwidth = inf") for remark in told.remarks)


def test_few_counts_and_what_did_not_settle_is_said():
    tables = tuple(
        replace(x, samples=tuple(replace(y, settled=False, outliers=1) for y in x.samples))
        for x in WHOLE.tables
        if x.ranks == 2
    )
    figures = machine_figures(replace(WHOLE, tables=tables)).figures
    source = {x.key: x.source for x in figures}["primitives.barrier.startup"]
    assert source == (
        "p = 2, with one core each, 2026-11-21, 5 launches, fit error less than 1%, used for "
        "every p, 1 outlier, not converged"
    )
    two = tuple(x for x in WHOLE.tables if x.ranks < 8)
    told = machine_figures(replace(WHOLE, tables=two))
    sources = {x.key: x.source for x in told.figures}
    assert "the largest used for every p" in sources["primitives.send.startup"]
    assert told.notes[0].startswith(
        "Primitives were measured only at p = 2 and 4; the values at the largest are used for "
        "every p. "
    )


def test_a_primitive_without_a_rate_is_no_key(machine):
    short = tuple(
        replace(x, samples=x.samples[:1]) for x in WHOLE.tables if x.bench in ("send", "barrier")
    )
    figures = machine_figures(replace(WHOLE, tables=short, lines=()))
    told = machine(figures)
    assert told.primitives.send.startup is None
    assert told.primitives.barrier.startup is not None
    assert figures.remarks[3].startswith(
        "send: startup 1 us +- 2.1%; p = 2, 4, 8, with one core each"
    )
    assert figures.remarks[3].endswith(", messages too short to determine a bandwidth")


def test_ranks_that_share_a_core_have_a_part_of_the_formula():
    figures = {x.key: x for x in machine_figures(WHOLE).figures}
    startup = figures["primitives.broadcast.startup"]
    assert startup.text == "2 us*log2(p) if p <= 8 else 100 us +- 6.6%"
    assert "; for p > 8: p = 16, 32, sharing one core, 2026-11-21, 5 launches" in startup.source
    assert startup.source.endswith("the largest used for every such p")
    flat = tuple(
        replace(x, samples=tuple(replace(y, time=1.0) for y in x.samples)) if x.ranks > 8 else x
        for x in WHOLE.tables
    )
    level = tuple(
        replace(x, startup=1.0, rate=math.inf) if x.ranks > 8 else x for x in WHOLE.lines
    )
    texts = {
        x.key: x.text for x in machine_figures(replace(WHOLE, tables=flat, lines=level)).figures
    }
    assert texts["primitives.send.startup"].startswith("1 us if p <= 8 else 1 s")
    assert texts["primitives.send.bandwidth"].startswith("5 GB/s +-")
    only = tuple(x for x in WHOLE.tables if x.ranks > 8)
    texts = {x.key: x.text for x in machine_figures(replace(WHOLE, tables=only)).figures}
    assert texts["primitives.send.startup"].startswith("10 us +-")


def test_the_file_says_from_which_p_ranks_shared_a_core(machine):
    assert machine(machine_figures(WHOLE)).oversubscribed_from == 9  # 8 cores
    own = replace(WHOLE, tables=tuple(x for x in WHOLE.tables if x.ranks <= 8))
    assert machine(machine_figures(own)).oversubscribed_from is None
    alone = replace(HOST, cores=1, placement={1: "own", 2: "one"})
    network = replace(WHOLE, host=alone, tables=(), lines=())
    assert machine(machine_figures(network)).oversubscribed_from == 2


def test_what_files_tell_takes_the_place_of_what_was_measured(machine):
    figures = machine_figures(WHOLE, others=[TOLD], name="cluster")
    told = machine(figures)
    assert told.name == "cluster"
    assert float(told.network.latency({})) == 9e-6
    assert float(told.primitives.reduce.startup({})) == 8e-6
    assert told.source.endswith("; other values from OSU Micro-Benchmarks: osu_latency.txt")
    assert figures.notes == TOLD.notes
    assert figures.remarks[-1] == TOLD.remarks[0]
    assert not any(remark.startswith("reduce, p") for remark in figures.remarks)
    assert "# osu_latency, 2 processes\nlatency" in figures.to_toml()


def test_an_interrupted_calibration_is_a_file_of_what_there_is(machine):
    told = machine(machine_figures(INTERRUPTED))
    assert told.compute.rate is not None
    assert told.network.latency is None
    assert told.storage.servers is None
    assert told.source == (
        "parcast calibrate on node7, 2026-11-21 10:15, A processor, 8 cores, interrupted"
    )


def test_a_name_cannot_break_the_file(machine):
    odd = replace(HOST, name='a"\n[network]\\', model="é\x7f")
    figures = machine_figures(replace(WHOLE, host=odd, name='x"y\n'))
    assert '"' in machine(figures).name
    assert tomllib.loads(figures.to_toml())


@pytest.mark.parametrize(
    ("spread", "text"),
    [
        (0.0312, "3.2%"),
        (0.5, "50%"),
        (0.1234, "13%"),
        (3.456, "350%"),
        (99.0, "1000%"),
        (math.inf, "1000%"),
        (1e-6, "0.01%"),
    ],
)
def test_a_spread_is_rounded_up(spread, text):
    assert with_spread("1 us", spread) == f"1 us +- {text}"
