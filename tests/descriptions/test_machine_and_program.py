"""Descriptions: what can be built, what cannot, and their JSON Schemas."""

import json

import pytest

from parcast.descriptions.description import DescriptionError
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import LAWS, Phase, Program, law_named
from parcast.errors import ParameterError


def refused(kind, **keys):
    with pytest.raises(DescriptionError) as refusal:
        kind(**keys)
    return [(problem.field, problem.message) for problem in refusal.value.problems]


def spmd(**keys):
    return {"law": "spmd", "compute": {"parallel": "8 s"}, **keys}


def test_all_faults_come_back_together():
    found = refused(
        Machine, nam="x", network={"latency": "5 MB", "bandwith": "3 MB/s"}, processors=0
    )
    assert [field for field, _ in found] == [
        "processors",
        "network.latency",
        "network.bandwith",
        "nam",
    ]
    assert found[1][1] == 'must be a time such as "150 us", got "5 MB", which is a size.'
    assert found[2][1] == "is not a known key. Did you mean bandwidth?"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"processors": "4"}, "must be a whole number, got '4'"),
        ({"storage": {"servers": 1.5}}, "must be a whole number, got 1.5"),
        ({"storage": {"servers": 0}}, "must be at least 1, got 0. Count from 1."),
        ({"network": 3}, "must be a table of keys, got 3. Write [network]"),
        ({"name": 3}, "must be text, got 3. Put it in quotes."),
        ({"xyz": 3}, "is not a known key. Known keys: compute, fit, name"),
    ],
)
def test_each_fault_says_what_to_do(keys, message):
    ((_, found),) = refused(Machine, **keys)
    assert found.startswith(message)


def test_saturation_and_contention_are_one_too_many():
    network = {"bandwidth": "9 MB/s", "saturation": "9 MB/s", "contention": 0.3}
    ((field, message),) = refused(Machine, network=network)
    assert field == "network"
    assert "must be left out if saturation is given" in message


def test_a_fault_in_a_phase_names_the_phase():
    found = refused(Program, phase=[spmd(), spmd(io={"volume": "3 s"}, bursts="x")])
    assert [field for field, _ in found] == ["phase 2, bursts", "phase 2, io.volume"]


def test_a_missing_rate_says_where_to_add_it():
    with pytest.raises(ParameterError) as refusal:
        Machine(name="SP").need("compute.rate", {}, why="compute.parallel")
    assert str(refusal.value) == (
        "compute.rate must be given in the description of SP: compute.parallel needs it. "
        "Add it to [compute]."
    )


def test_a_rate_of_zero_is_refused():
    with pytest.raises(ParameterError, match=r"network\.bandwidth must be above 0, got 0"):
        Machine(network={"bandwidth": "0 MB/s"}).need("network.bandwidth", {}, why="volume")


def test_contention_follows_from_the_rates():
    network = {"bandwidth": "30 MB/s", "saturation": "120 MB/s"}
    assert float(Machine(network=network).contention({})) == 0.25
    assert float(Machine(network=network).contention({"network.bandwidth": 2.4e8})) == 1
    assert float(Machine(network={"contention": 0.4}).contention({})) == 0.4
    assert float(Machine(network={"contention": 0.4}).contention({"network.contention*": 9})) == 1
    assert float(Machine().contention({})) == 0


def test_a_level_of_contention_above_one_is_refused():
    with pytest.raises(ParameterError, match="must lie in"):
        Machine(network={"contention": 1.4}).contention({})


def test_parameters_of_several_phases_have_their_names():
    program = Program(phase=[spmd(name="solve"), spmd()])
    assert "solve.compute.parallel" in program.parameters()
    assert "phase 2.compute.parallel" in program.parameters()
    time = program.times(Machine(), {"p": 1.0, "phase 2.compute.parallel": 1.0}).time
    assert float(time) == 9
    assert "compute.parallel" in Program(phase=[spmd()]).parameters()


class Silent(Phase):
    """A law that says nothing of its work and warns of nothing."""

    def cycle(self, machine, at):
        return law_named("spmd")(**spmd()).cycle(machine, at)


def test_a_law_need_not_know_its_work():
    program = Program(phase=[Silent(law="silent")])
    assert program.work(Machine(), {"p": 2.0}) is None
    assert not list(program.phase[0].warnings(Machine()))
    assert float(program.times(Machine(), {"p": 2.0}).time) == 4


@pytest.mark.parametrize("kind", [Machine, Program])
def test_the_schema_describes_every_key(kind):
    schema = json.loads(json.dumps(kind.model_json_schema()))
    assert schema["additionalProperties"] is False
    for definition in [schema, *schema["$defs"].values()]:
        for key, described in definition["properties"].items():
            if "$ref" not in described:
                assert described.get("description"), f"{definition['title']}.{key}"


def test_the_schema_of_a_program_knows_the_keys_of_its_laws():
    schema = Program.model_json_schema()
    assert "bursts_per_io" in schema["$defs"]["SpmdPhase"]["properties"]
    phases = {"anyOf": [{"$ref": f"#/$defs/{law_named(law).__name__}"} for law in LAWS]}
    assert schema["properties"]["phase"]["items"] == phases
    assert "merge" in schema["$defs"]["SortPhase"]["properties"]
    assert "region" in schema["$defs"]["RegionsPhase"]["properties"]


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        ([{"cycles": 3}], 'must be given. Add law = "spmd".'),
        ([3], 'must be given. Add law = "spmd".'),
        ([{"law": "smpd"}], "must be the name of a law, got 'smpd'. Did you mean \"spmd\"?"),
        ([{"law": "spmd", "io": {"kind": "both"}}], "'striped' or 'clustered', got 'both'"),
        ([{"law": "matmul", "broadcast": "yes"}], "must be true or false, got 'yes'. Write it"),
        ([{"law": 3}], "got 3. Known laws: "),
        ([{"law": ["spmd"]}], "got ['spmd']."),
    ],
)
def test_a_program_has_phases_with_laws(phases, message):
    ((_, found),) = refused(Program, phase=phases)
    assert message in found
