"""`plan_io`: what it understands, what limits each plan, why the best is it, and its settings."""

import re
import xml.etree.ElementTree as ET
from math import prod

import numpy as np
import pytest

import parcast
from parcast.arrays.geometry.chunks import mesh_chunks
from parcast.arrays.law import request as law
from parcast.arrays.law.costs import ClientCosts, Costs, ServerCosts
from parcast.arrays.law.parameters import ILLUSTRATIVE, read_costs, read_parameters
from parcast.arrays.law.request import Options
from parcast.arrays.planning.given import given_setting
from parcast.arrays.planning.plan import plan_request
from parcast.arrays.planning.plan_io import TYPES, element_size
from parcast.arrays.planning.settings import STRIPE, settings_of
from parcast.deciding.picture import figure_of
from parcast.errors import FileProblems, ParameterError
from parcast.files.document import csv_pieces
from tests.arrays.law.test_request import SP2, with_servers
from tests.conftest import ROOT

SMALL = {"shape": "32x16x16", "clients": "3x4x2", "arrays": 2048}
FILE = ROOT / "examples" / "arrays" / "sp2_like.toml"


def test_costs_that_come_with_the_package_are_those_of_the_example():
    assert ILLUSTRATIVE.read_bytes() == FILE.read_bytes()


def test_plans_are_those_of_plan_request():
    result = parcast.plan_io(**SMALL, costs=FILE, batch=True, operation="read", writer="sync")
    options = Options(batch=True, operation="read", writer="sync")
    chunks = mesh_chunks((32, 16, 16), (3, 4, 2))
    same = plan_request(chunks, SP2, itemsize=8, number=2048, options=options)
    assert list(result.rows()) == list(same.rows())
    assert result.machine == "like the IBM SP2 at NASA Ames"
    assert result.warnings == same.warnings


def test_batches_fill_the_largest_subchunk():
    one = SMALL | {"costs": FILE, "batch": True, "servers": [1]}
    messages = [parcast.plan_io(**one, subchunk=size).best.messages for size in (2**16, 2**20)]
    assert messages == [(n, n) for n in (2048 * 24, 2048 * 24 // 16)]
    default = parcast.plan_io(**one)
    assert default.best.messages == messages[1]
    compared = parcast.plan_io(**one, compare="cb_nodes 1;cb_buffer_size 65536").compared
    assert compared.plan.messages == messages[0]


def test_without_costs_a_warning_says_whose_the_times_are():
    one = SMALL | {"servers": [1]}
    result = parcast.plan_io(**one)
    assert result.best == parcast.plan_io(**one, costs=SP2).best
    [warning] = result.warnings
    assert warning.startswith("No costs of a machine were given: the times are those of an illu")
    assert "like the IBM SP2 at NASA Ames, with a file system of 2.23 MB/s" in warning
    for costs in (FILE, SP2, read_parameters(FILE)):
        assert not parcast.plan_io(**one, costs=costs).warnings


def test_texts_and_sequences_are_the_same():
    text = parcast.plan_io("64 x 64", "2x2", storage="16x64", inner="8x64", subchunk="64 KiB")
    given = parcast.plan_io(
        (64, 64), np.array([2, 2]), storage=[16, 64], inner=(8, 64), subchunk=65536
    )
    assert text.to_document() == given.to_document()
    assert text.storage == (16, 64)
    assert text.buffer == 8 * 64 * 8
    assert parcast.plan_io("64x64", "2x2", subchunk="64 KiB").buffer == 65536


def test_every_type_counts_its_bytes():
    for name in TYPES:
        assert element_size(name) == np.dtype(name).itemsize
    assert parcast.plan_io("8", "2", dtype=float, servers=[1]).size == 64


def test_each_plan_says_what_limits_it():
    result = parcast.plan_io(**SMALL)
    limits = {plan.limited_by for plan in result.plans}
    assert limits == {"file system", "computation"}
    for plan in result.plans:
        assert sum(plan.parts.values()) == pytest.approx(1)
    assert result.best.limited_by == result.simulation.limited_by
    worst = next(plan for plan in result.plans if plan.mesh == (8, 1, 1))
    assert (worst.limited_by, worst.unbalanced) == ("computation", 2)
    slow = parcast.plan_io(**SMALL, costs=with_servers(SP2, write_rate=1e4))
    assert {plan.limited_by for plan in slow.plans} == {"file system"}


# Why


def test_reasons_name_the_next_numbers_of_servers_and_the_worst_schema():
    best, aligned, schema, fewer, more = parcast.plan_io(**SMALL).reasons
    assert best == "the least time of 38 plans"
    assert aligned == "aligned: each client block is sent whole, without packing"
    assert re.fullmatch(
        r"with 8x1x1 B\*\* the same servers take 132% longer: a subchunk overlaps 8 to 16 clients "
        "instead of 3, a server has 16384 to 32768 messages instead of 6144",
        schema,
    )
    assert fewer == "7 servers: 14.5 s, 92% longer"
    assert more == "more than 8 servers may be faster, and were not evaluated"


def test_reasons_of_the_other_objectives_name_the_fastest():
    [first, *_] = parcast.plan_io(**SMALL, objective="utilisation").reasons
    assert first.startswith("the file systems are used for 100%, the most of 38 plans; the fast")
    [first, *_] = parcast.plan_io(**SMALL, objective="fewest").reasons
    assert first == "the fewest servers within 10% of the least time of 38 plans; none is faster"
    assert parcast.plan_io("8x8", "2x2", servers=[1]).reasons == ("the least time of 1 plan",)


def test_a_schema_that_matters_little_is_said_so():
    reasons = parcast.plan_io("128x128x128", "2x2x2", servers=[2]).reasons
    assert any("the schema matters little" in text for text in reasons)


def test_the_evidence_of_the_limit_is_the_rule_of_the_simulation():
    for costs in (SP2, with_servers(SP2, write_rate=1e9)):
        result = parcast.plan_io("64x64x64", "2x2x2", costs=costs, servers=[8])
        normal, disks, network = (x.time for x in result.simulation.times.values())
        used = result.simulation.normal.utilisation.max() >= 0.9
        said = " ".join(str(result.to_sheet(show_all=True)).split())
        assert ("a disk is used for at least 90%" in said) == used
        assert ("save at least 20%" in said) == (not used and disks >= 1.25 * network)
        assert ("save less than 20%" in said) == (not used and disks < 1.25 * network)
        assert normal >= disks >= network


# Settings


def test_settings_are_the_servers_and_the_buffer():
    settings = parcast.plan_io(**SMALL, objective="fewest", within=0.4).settings
    hints = {
        "cb_nodes": 6,
        "cb_buffer_size": 1048576,
        "striping_factor": 6,
        "striping_unit": 1048576,
    }
    assert {name: each.values for name, each in settings.items()} == {
        "romio": hints,
        "pio": {"num_iotasks": 6, "stride": 4, "base": 0},
        "adios2": {"NumAggregators": 6},
        "pnetcdf": hints,
        "ufs": {"write_groups": 1, "write_tasks_per_group": 6},
        "xios": {"servers": 6},
    }


def test_aggregators_are_ranks_of_the_program():
    values = {name: each.values for name, each in settings_of(8, 4, 1 << 20).items()}
    assert values["romio"]["cb_nodes"] == values["pnetcdf"]["striping_factor"] == 4
    assert values["adios2"]["NumAggregators"] == values["pio"]["num_iotasks"] == 4
    assert (values["ufs"]["write_tasks_per_group"], values["xios"]["servers"]) == (8, 8)
    for setting in ("cb_nodes=64", "NumAggregators=64", "num_iotasks=64"):
        assert given_setting(setting, 4).servers == 4
    assert given_setting("write_tasks_per_group: 64", 4).servers == 64


def test_lines_have_the_form_that_each_tool_reads():
    settings = settings_of(6, 24, 1 << 20)
    hints = [line for line in settings["romio"].lines if not line.startswith("#")]
    assert dict(line.split(" ") for line in hints) == {
        "romio_cb_write": "enable",
        "romio_cb_read": "enable",
        **{name: str(value) for name, value in settings["romio"].values.items()},
    }
    [line] = settings["pnetcdf"].lines
    text = re.fullmatch(r'export PNETCDF_HINTS="(.*)"', line)[1]
    assert dict(pair.split("=") for pair in text.split(";"))["cb_nodes"] == "6"
    engine = ET.fromstring("".join(settings["adios2"].lines[1:]))
    assert {x.get("key"): x.get("value") for x in engine} == {
        "AggregationType": "TwoLevelShm",
        "NumAggregators": "6",
    }
    variable = ET.fromstring(f"<context>{''.join(settings['xios'].lines)}</context>")[0]
    assert (variable.get("id"), variable.text) == ("using_server", "true")
    [start] = [line for line in settings["xios"].lines if "mpirun" in line]
    assert re.findall(r"-np (\d+) \./(\w+)\.exe", start) == [("24", "model"), ("6", "xios_server")]
    pairs = [line.split(":") for line in settings["ufs"].lines if not line.startswith("#")]
    assert {name: value.strip() for name, value in pairs} == {
        "quilting": ".true.",
        "write_groups": "1",
        "write_tasks_per_group": "6",
    }
    assert settings["pio"].lines[1] == "./xmlchange PIO_NUMTASKS=6,PIO_STRIDE=4"


@pytest.mark.parametrize(
    ("servers", "clients"), [(1, 1), (8, 1), (3, 5), (8, 24), (8, 25), (30, 24)]
)
def test_io_tasks_of_pio_are_among_the_clients(servers, clients):
    pio = settings_of(servers, clients, 1000)["pio"].values
    assert 1 <= pio["num_iotasks"] <= min(servers, clients)
    assert pio["base"] + (pio["num_iotasks"] - 1) * pio["stride"] < clients
    hints = settings_of(servers, clients, 1000)["romio"].values
    assert hints["striping_unit"] == STRIPE
    assert hints["cb_buffer_size"] == 1000


# How it is shown


def test_rows_and_documents_have_the_same_figures(tmp_path):
    result = parcast.plan_io(**SMALL, servers=[1, 2])
    assert result.to_pandas()["time_s"].tolist() == [x.time for x in result.plans]
    [header, *rows] = "".join(csv_pieces(result.rows())).splitlines()
    assert len(rows) == len(result.plans)
    assert "limited_by" in header.split(",")
    result.save(tmp_path / "plan.svg")
    assert "share of the time" in (tmp_path / "plan.svg").read_text(encoding="utf-8")
    assert "<table" in result._repr_html_()


def test_the_picture_has_every_plan_and_the_parts_of_the_best():
    result = parcast.plan_io(**SMALL, objective="fewest", within=0.4)
    above, below = figure_of(result).axes
    points = {line.get_label(): line.get_xydata() for line in above.lines}
    assert len(points["other alternatives"]) == 38 - 8
    assert len(points["best plan"]) == 8
    [(place, time)] = points["recommended: 6 servers, 10.4 s"]
    assert (place, time) == (6, result.best.time)
    heights = [[bar.get_height() for bar in bars] for bars in below.containers]
    assert np.sum(heights, axis=0) == pytest.approx([100] * 8)
    assert heights[0][5] == pytest.approx(100 * result.best.parts["file system"])
    assert "computation" in [text.get_text() for text in figure_of(result).legends[0].texts]


def test_the_picture_of_storage_chunks_and_of_one_plan():
    result = parcast.plan_io("64x64", "2x2", storage="16x64", servers=[2])
    above, _ = figure_of(result).axes
    assert "other alternatives" not in [line.get_label() for line in above.lines]
    assert [text.get_text() for text in above.get_xticklabels()] == ["2"]
    with pytest.raises(ParameterError, match="panels"):
        figure_of(result, ax=above)


def test_a_file_with_a_rate_is_used(file):
    path = file('name = "box"\n[servers]\nwrite_rate = "2 GB/s"\n', "fast.toml")
    result = parcast.plan_io("128x128x128", "2x2x2", costs=path, servers=[1])
    assert result.best.time == pytest.approx(128**3 * 8 / 2e9)  # in 16 subchunks
    assert result.machine == "box"
    assert float(read_costs(path).servers.write_rate) == 2e9


LEAST = "must be a whole number of at least 1, got 0."
CUBE = "Write for example 512x512x512."
FIXED = (
    "must be a type of fixed size: bool, int8 to int64, uint8 to uint64, float16 to float64, "
    "complex64 or complex128"
)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"shape": "64by64"},
            f"shape must be whole numbers with x between them, got '64by64'. {CUBE}",
        ),
        ({"shape": "0x4"}, f"shape {LEAST} {CUBE}"),
        ({"clients": (0, 2)}, f"clients {LEAST} Write for example 3x4x2."),
        (
            {"clients": "2x2x2"},
            "mesh must have one number for each of the 2 dimensions, got 2x2x2. Give the "
            "positions in each dimension, such as 2, 4 and 1.",
        ),
        ({"dtype": "floot32"}, f"dtype {FIXED}, got 'floot32'. Did you mean float32?"),
        ({"dtype": object}, f"dtype {FIXED}, got 'object'. float64 is usual."),
        (
            {"within": 0.2},
            "within must be left out unless objective is fewest, got 0.2. Leave one out.",
        ),
        (
            {"inner": "2x2"},
            "inner must be left out without storage, got 2x2. Give the extents of the storage "
            "chunks.",
        ),
        ({"arrays": 0}, f"arrays {LEAST} Count equal arrays from 1."),
    ],
)
def test_what_cannot_be_planned_is_refused(changes, says):
    with pytest.raises(ParameterError) as caught:
        parcast.plan_io(**{"shape": "8x8", "clients": "2x2"} | changes)
    assert str(caught.value) == says


# A setting beside the best


def test_fewer_messages_are_no_reason_for_a_longer_time():
    reasons = parcast.plan_io("384x256x64", "2x2x1", dtype="float32").reasons
    assert "with 1x2x4 *BB the same servers take 7% longer" in reasons


def test_a_setting_that_is_faster_than_the_best_plan_says_why():
    compared = parcast.plan_io(**SMALL, costs=FILE, servers=[1], compare="servers=2")
    text = " ".join(str(compared).split())
    assert "shorter than the best plan (of other numbers of servers, or of another subch" in text


@pytest.mark.parametrize(
    ("setting", "servers", "mesh", "buffer"),
    [
        ("cb_nodes=4", 4, None, None),
        ("cb_nodes 4;cb_buffer_size 65536", 4, None, 65536),
        ("servers=4 mesh=2x1x2", 4, (2, 1, 2), None),
        ("num_iotasks = 400, stride = 1", 24, None, None),
        ("&pio_inparm\n pio_numiotasks = -99\n pio_stride = 6 ! of 24\n/", 4, None, None),
        ('<parameter key="NumAggregators" value="6"/>', 6, None, None),
        ("write_groups: 2\nwrite_tasks_per_group: 6\n#write_tasks_per_group: 9", 6, None, None),
        ("./xmlchange PIO_NUMTASKS=3,PIO_STRIDE=8", 3, None, None),
        ("pio_numiotasks = 8, pio_stride = 8", 8, None, None),
        ("pio_numiotasks = 400, pio_stride = 8", 3, None, None),
        ("pio_stride = 6", 4, None, None),
        ("./xmlchange -id PIO_NUMTASKS -val 2", 2, None, None),
        ("mesh=2X1x2", 4, (2, 1, 2), None),
        ("stride = 0, num_iotasks = 5", 5, None, None),
        ("cb_nodes 2, stride = 6.5, stride 7", 2, None, None),  # of something else
        ("servers=4 subchunk=64 KiB", 4, None, 65536),
        ("cb_nodes 2\ncb_buffer_size 2MiB", 2, None, 2 << 20),
        ("subchunk=64  KiB mesh=1x2x1 servers=2", 2, (1, 2, 1), 65536),
        ('<!-- "NumAggregators"\n value="3" --> "NumAggregators" value="2"', 2, None, None),
        ("cb_nodes=4 mesh: 1.9x2.5", 4, None, None),  # of a model, not of servers
        ('MPI_Info_set(info, "cb_nodes", "2");', 2, None, None),
    ],
)
def test_a_setting_names_servers_in_the_words_of_its_tool(setting, servers, mesh, buffer):
    found = given_setting(setting, 24)
    assert (found.servers, found.mesh, found.buffer) == (servers, mesh, buffer)


@pytest.mark.parametrize(
    ("setting", "mesh", "buffer"),
    [
        ("cb_nodes 4;cb_buffer_size 65536", (4, 1, 1), 65536),
        ("servers=4 mesh=2x1x2", (2, 1, 2), None),
    ],
)
def test_a_setting_is_evaluated_as_the_servers_that_it_names(setting, mesh, buffer):
    alone = parcast.plan_io(**SMALL, costs=FILE, servers=[1])
    result = parcast.plan_io(**SMALL, costs=FILE, servers=[1], compare=setting)
    compared = result.compared
    assert (compared.plan.servers, compared.plan.mesh) == (4, mesh)
    assert compared.buffer == (buffer or 1 << 20)
    size = {"subchunk": buffer} if buffer else {}
    same = parcast.plan_io(**SMALL, costs=FILE, servers=[4], **size)
    assert compared.plan == next(plan for plan in same.plans if plan.mesh == mesh)
    assert result.plans == alone.plans


def test_a_setting_may_be_in_a_file(file):
    path = file("# mine\nromio_cb_write enable\ncb_nodes 4\n", "hints")
    result = parcast.plan_io(**SMALL, costs=FILE, compare=path)
    assert result.compared.setting == "cb_nodes 4"
    assert result.to_document()["compared"]["time_s"] == result.compared.plan.time
    text = " ".join(str(result).split())
    assert "cb_nodes 4: 4 servers as 4x1x1 B**, 19.18 s, 154% longer than the best plan" in text
    assert re.search(r"yours 4 4x1x1 B\*\* 19.18", text)


def test_lines_of_every_tool_are_read_as_the_plan_that_made_them():
    planned = parcast.plan_io(**SMALL, costs=FILE, servers=[6])
    for name in ("romio", "pio", "adios2", "pnetcdf", "ufs"):
        assert given_setting("\n".join(planned.settings[name].lines), 24).servers == 6, name


def test_fewer_rows_than_servers_are_cut_in_the_next_dimension():
    result = parcast.plan_io("2x8x8", "2x2x1", compare="cb_nodes=4")
    assert result.compared.plan.mesh == (2, 2, 1)
    result = parcast.plan_io("64x64", "2x2", storage="16x64", servers=[2], compare="cb_nodes=4")
    assert (result.compared.plan.servers, result.compared.plan.mesh) == (4, ())


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("nothing", "compare must name one number of servers, as cb_nodes, num_iotasks"),
        ("cb_nodes=3, num_iotasks=4", "got cb_nodes 3, num_iotasks 4. Write for example cb_nodes"),
        ("cb_nodes=0", "got 'cb_nodes=0', in which there is none above 0"),
        ("num_iotasks=0", "in which there is none above 0"),
        ("pio_numiotasks = -99 pio_stride = -99", "CESM has one I/O task on each node: write ser"),
        ("pio_numiotasks = 400", "CESM has one I/O task on each node: write servers="),
        ("num_iotasks=3, PIO_NUMTASKS=8", "got num_iotasks 3, PIO_NUMTASKS 8"),
        ("cb_nodes 4 subchunk=64 M", "must be a size such as"),
        ("hints.txt", "got 'hints.txt', in which there is none, and no file has this name"),
        ("cb_nodes=4.5", "compare must have a whole number up to 1e+15 as cb_nodes, got 4.5"),
        ("cb_nodes 4, CB_NODES 8", "compare must have one value of cb_nodes, got 4 and 8"),
        ("cb_nodes 4 cb_buffer_size 4.5", "cb_buffer_size must be a size with its unit"),
        ("cb_nodes 4 cb_buffer_size 0", "must have a size from 1 B up to 1e+15 as cb_buffer_size"),
        ("servers=1000000000000", "servers must be at most 65,536, got 1e+12"),
        ("# cb_nodes=4", "in which there is none"),
        ("servers=4 mesh=3x1x1", "compare must name a mesh of 4 servers: 1x1x4, 1x2x2, 1x4x1,"),
    ],
)
def test_a_setting_without_a_number_of_servers_is_refused(setting, says, refusal):
    assert says in refusal(ParameterError, parcast.plan_io, **SMALL, compare=setting)


def test_a_mesh_is_refused_where_servers_have_storage_chunks():
    with pytest.raises(ParameterError, match="must have no mesh where servers have whole storage"):
        parcast.plan_io("64x64", "2x2", storage="16x64", compare="servers=2 mesh=2x1")


def test_a_file_that_is_no_text_is_refused(file):
    path = file(b"CDF\0cb_nodes 4", "a.nc")
    with pytest.raises(FileProblems, match="must be a text of up to 1 MiB with settings"):
        parcast.plan_io(**SMALL, compare=path)


@pytest.mark.parametrize(
    ("shape", "clients"), [("16x7", "7x1000000"), ("1000x1000", "1000000000x1")]
)
def test_clients_that_hold_nothing_take_no_memory(shape, clients):
    """These took 33 s and 4 GB, and 7.5 GiB."""
    plan = parcast.plan_io(shape, clients, servers=[1, 2])
    count = prod(map(int, clients.split("x")))
    assert plan.clients == plan.simulation.normal.clients == count
    assert len(plan.simulation.normal.closing) == 2
    assert plan.simulation.normal.closing.max() > 1e-6 * count  # each is told one after the other


def test_closing_of_many_clients_is_that_of_each(monkeypatch):
    every = parcast.plan_io("64", "300", servers=[3]).simulation.normal
    monkeypatch.setattr(law, "ONE_BY_ONE", 10)
    ends = parcast.plan_io("64", "300", servers=[3]).simulation.normal
    assert ends.closing == pytest.approx(every.closing[[0, -1]], rel=1e-12)
    assert ends.time == pytest.approx(every.time, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"shape": "2000x2000", "clients": "2000x2000"}, r"clients that have .* 1,000,000"),
        ({"shape": "8", "clients": "2000000000"}, r"clients must be at most 1,000,000,000"),
        (
            {"subchunk": 8, "servers": [6]},
            r"array I/O must have at most 1,500,000 .* Give fewer numbers",
        ),
        ({"servers": range(1, 200)}, r"the plans must be at most 1,000, one for each mesh"),
        (
            {"servers": [5000], "storage": "64x64x64", "arrays": 10**6},
            r"array I/O must have at most 1,500,000",
        ),
        ({"arrays": 10**15}, r"arrays must have at most 4611686018427387904 bytes in all"),
    ],
)
def test_what_would_take_minutes_is_refused_with_what_to_do(arguments, says):
    given = {"shape": "64x64x64", "clients": "3x4x2", **arguments}
    with pytest.raises(ParameterError, match=says):
        parcast.plan_io(**given)


# Other libraries beside the best


def test_the_answer_and_the_fastest_library_do_not_contradict_each_other():
    cube = {"shape": "64x64x64", "clients": "3x4x2"}
    told = parcast.plan_io(**cube, costs=FILE, compare="libraries")
    assert told.libraries[0].title == "one file a rank"
    assert " with parcast.arrays; one file a rank may be faster" in str(told).splitlines()[0]


def test_libraries_are_compared_by_laws_of_their_own():
    result = parcast.plan_io(**SMALL, costs=FILE, compare="libraries")
    names = [plan.library for plan in result.libraries]
    assert sorted(names) == ["file-per-rank", "parcast", "pio-box", "pio-subset", "romio"]
    times = [plan.time for plan in result.libraries]
    assert times == sorted(times)
    own = result.libraries[names.index("parcast")]
    assert (own.time, own.setting) == (result.best.time, "servers=8 mesh=1x4x2")
    assert all(plan.lower < plan.time < plan.upper for plan in result.libraries)
    rows = result.to_document()["libraries"]
    assert [row["time_s"] for row in rows] == times
    assert rows[names.index("romio")]["setting"].startswith("romio_cb_write=enable;cb_nodes=8;")
    text = " ".join(str(result).split())
    assert "to set parcast.arrays: servers=8 mesh=1x4x2" in text
    assert "of [libraries]: the intervals are wider" in text
    assert result.compared is None
    assert "libraries" not in parcast.plan_io(**SMALL, costs=FILE).to_document()


def test_a_library_that_is_faster_beyond_the_intervals_is_said_to_be():
    slow = Costs(clients=ClientCosts(), servers=ServerCosts(write_rate=1e6, find=60.0))
    result = parcast.plan_io(**SMALL, costs=slow, compare="file-per-rank parcast")
    assert [plan.library for plan in result.libraries] == ["file-per-rank", "parcast"]
    assert [plan.may_be_fastest for plan in result.libraries] == [True, False]
    assert "one file a rank: its interval is below all others" in str(result)


def test_a_setting_of_a_library_is_priced_by_its_law_too():
    result = parcast.plan_io(**SMALL, costs=FILE, compare="cb_nodes 4;cb_buffer_size 65536")
    names = [plan.library for plan in result.libraries]
    assert names == ["parcast", "romio"]
    assert result.libraries[1].setting == ("romio_cb_write=enable;cb_nodes=4;cb_buffer_size=65536")
    assert "; by the law of ROMIO " in " ".join(str(result).split())
    pio = {"pio_numiotasks=6": "pio-box", "num_iotasks 6 rearr=2": "pio-subset"}
    for setting, name in pio.items():
        compared = parcast.plan_io(**SMALL, costs=FILE, compare=setting)
        assert compared.libraries[1].library == name
    assert not parcast.plan_io(**SMALL, costs=FILE, compare="servers=4").libraries


def test_hosts_limit_aggregators():
    one = SMALL | {"costs": FILE, "hosts": 2}
    [plan] = parcast.plan_io(**one, compare="romio").libraries
    assert "cb_nodes=2;" in plan.setting
    with pytest.raises(ParameterError, match="cb_nodes must be at most the 2 hosts"):
        parcast.plan_io(**one, compare="cb_nodes=3")


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("romio, pio_box", "compare must name libraries: parcast, romio, pio-box,"),
        ("romio, pio_box", "got 'pio_box'. Did you mean pio-box?"),
        ("romio ADIOS", "got 'ADIOS'. Write libraries for all of them."),
        ("romioo", "got 'romioo'. Did you mean romio?"),
        ("adios2", "or write libraries to compare with other libraries."),
        ("pio_numiotasks=2 pio_rearranger=3", "have 1 (box) or 2 (subset) as pio_rearranger"),
    ],
)
def test_a_library_that_has_no_law_is_refused(setting, says, refusal):
    assert says in refusal(ParameterError, parcast.plan_io, **SMALL, compare=setting)
