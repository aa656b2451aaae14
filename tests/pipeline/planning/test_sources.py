"""Costs from program and machine files."""

import pytest

import parcast
from parcast.pipeline.planning.plan import plan_pipeline

PROGRAM = """
name = "features"
[[phase]]
law = "pipeline"
{more}
items = "n"
task = "5 ms +- 20%"
merge = "0.1 ms"
message = "20 kB"
overhead = "50 us"
"""
MACHINE = 'name = "box"\n[network]\nbandwidth = "1 GB/s"\nlatency = "10 us"\n'


@pytest.fixture
def files(tmp_path):
    """Write a program file with further lines, and a machine file."""

    def write(more="", program=PROGRAM):
        paths = tmp_path / "program.toml", tmp_path / "machine.toml"
        paths[0].write_text(program.format(more=more), encoding="utf-8")
        paths[1].write_text(MACHINE, encoding="utf-8")
        return paths

    return write


def test_a_program_and_a_machine_give_the_costs(files):
    plan = plan_pipeline(*files("prefetch = true\nfetch = '2 us'"), n=10_000, ranks=32)
    costs = plan.costs
    assert (costs.items, costs.task, costs.merge, costs.message) == (10_000, 5e-3, 1e-4, 2e4)
    assert (costs.bandwidth, costs.latency, costs.overhead) == (1e9, 1e-5, 5e-5)
    assert (costs.prefetch, costs.fetch, costs.shares_channel) == (True, 2e-6, False)
    assert costs.spreads == {"task": 0.2}
    assert plan.best.lower < plan.best.time < plan.best.upper
    assert plan.origins == ("program features", "network of box")
    best = plan.plans[-1]
    more = f"prefetch = true\nfetch = '2 us'\nbatch = {best.batch}\npipelines = {best.pipelines}"
    law = parcast.predict(*files(more), p=32, n=10_000)
    assert best.time == pytest.approx(law.time.item(), rel=1e-4)


def test_the_forms_of_the_published_schedule_are_planned_as_such(files):
    for form in ("serial", "overlapped"):
        plan = plan_pipeline(*files(f'form = "{form}"'), n=10_000, ranks=32)
        assert plan.schedule == "source"
    assert plan_pipeline(*files(), n=1000, ranks=4, schedule="source").schedule == "source"


def test_a_measured_message_is_kept_unless_a_channel_is_given(files):
    program, _ = files("communication = '3 ms'")
    assert plan_pipeline(program, n=1000, ranks=4).costs.communication == 3e-3
    given = plan_pipeline(program, n=1000, ranks=4, bandwidth="1 GB/s")
    assert given.costs.communication is None


def test_items_may_be_given_in_place_of_n(files):
    assert plan_pipeline(files()[0], items=500, ranks=4).costs.items == 500


@pytest.mark.parametrize(
    ("more", "program", "message"),
    [
        ("batch = '4'\nfetch = '1 us * p'", PROGRAM, "must be one value for all plans"),
        (
            "",
            'name = "x"\n[[phase]]\nlaw = "amdahl"\nt1 = "1 s"\nserial = 0.1\n',
            'law = "pipeline"',
        ),
        ("", PROGRAM + PROGRAM.partition("[[phase]]")[2].join(["[[phase]]", ""]), "got 2 of 2"),
    ],
)
def test_other_programs_are_refused(files, more, program, message):
    with pytest.raises(parcast.ParcastError) as refusal:
        plan_pipeline(files(more, program)[0], n=100, ranks=4)
    assert message in str(refusal.value)


def test_n_is_asked_for(files):
    with pytest.raises(parcast.ParameterError, match="items must be given"):
        plan_pipeline(files()[0], ranks=4)


def test_a_machine_without_a_network_is_refused(files, file):
    machine = file('name = "box"\n[compute]\nrate = "1 Gflop/s"\n', "other.toml")
    with pytest.raises(parcast.ParameterError, match=r"must have network.bandwidth or"):
        plan_pipeline(files()[0], machine, n=100)
