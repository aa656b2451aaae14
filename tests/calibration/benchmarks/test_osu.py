"""`calibration.benchmarks.osu`: what its tables tell of a network, and what is refused."""

import shlex
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from parcast.calibration.benchmarks.osu import read, recognises
from parcast.descriptions.toml_files import read_machine
from parcast.errors import FileProblems, ParameterError
from parcast.laws.primitives.measured import primitive_time
from tests.importers import refused

refusal = partial(refused.refusal, read=read)

ROOT = Path(__file__).parents[3]
DATA = Path(__file__).parents[2] / "importers" / "data"
HERE = Path(__file__).parent / "data"
EXAMPLES = ROOT / "examples" / "benchmarks"
OSU = sorted(EXAMPLES.glob("osu_*.txt"))
LATENCY = "# OSU MPI Latency Test v5.3\n# Size          Latency (us)\n"


def latency_table(times):
    return LATENCY + "".join(f"{size}  {time:.4f}\n" for size, time in times.items())


STRAIGHT = {size: 5 + size / 1000 for size in [0, *(4**k for k in range(12))]}  # 5 us, 1 GB/s


@pytest.fixture
def machine(tmp_path):
    """Read what was imported back as a machine."""

    def back(*paths):
        told = read(list(paths))
        path = tmp_path / "machine.toml"
        path.write_text(told.to_toml(), encoding="utf-8")
        return read_machine(path)

    return back


def texts(told):
    return {figure.key: figure.text for figure in told.figures}


# what is read


def test_the_examples_tell_the_machine_they_were_made_for(machine):
    told = machine(*OSU)  # 2 us, 10 GB/s; 60 GB/s together, less the start-up of an all-to-all
    assert float(told.network.latency({})) == pytest.approx(2e-6, rel=0.02)
    assert float(told.network.bandwidth({})) == pytest.approx(1e10, rel=0.02)
    assert 0.95 * 6e10 < float(told.network.saturation({})) < 6e10
    p = np.array([2.0, 16, 64])
    allreduce = told.primitives.allreduce
    assert allreduce.startup({"p": p}) == pytest.approx(4.1e-6 * np.log2(p), rel=0.02)
    assert np.all(np.abs(allreduce.bandwidth({"p": p}) / 2.5e9 - 1) < 0.02)


def test_full_tables_of_a_newer_release_and_what_lies_between_them():
    told = read([DATA / "osu_full.n4.txt"])
    assert texts(told) == {
        "network.latency": "2 us",  # the median, not the average of 9 us
        "network.bandwidth": "6.554 GB/s",  # 65536 B in each 10 us
        "network.saturation": "15 GB/s",
        "primitives.broadcast.startup": "2.992 us",  # of the slowest process: 3 us with 8 B
        "primitives.broadcast.bandwidth": "1 GB/s",
        "primitives.barrier.startup": "6 us",
    }
    assert told.figures[2].source == (
        "osu_mbw_mr, 4 processes in pairs, highest rate, at 1048576 B"  # twice those of [ pairs ]
    )
    assert (
        told.figures[-1].source == "osu_barrier (max), 4 processes, the largest used for every p"
    )
    assert told.remarks == ()
    assert "The number of processes is taken from the file name: osu_full.n4.txt." in told.notes
    assert (
        "Other tables are ignored: Init, Hello World, Non-blocking Allreduce Latency."
        in told.notes
    )


@pytest.mark.parametrize(
    "header",
    [
        "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n",
        "# OSU MPI-CUDA Latency Test v5.6.2\n# Size          Latency (us)\n",
        "# OMB Python MPI Latency Test\n# Size (B)      Latency (us)\n",
        "# OSU MPI Latency Test (Version 3.0)\n# Size\t\tLatency (us)\n",
        "# OSU MPI Latency Test v7.4\r\n# Size       Avg Latency(us)\r\n",
    ],
)
def test_headers_of_all_releases_are_understood(file, header):
    content = latency_table(STRAIGHT).replace(LATENCY, header)
    assert recognises(content.encode(), Path("x"))
    told = read([file(content)])
    assert texts(told) == {"network.latency": "5 us", "network.bandwidth": "1 GB/s"}


def test_a_switch_of_the_protocol_is_told(file):
    bent = {m: 1 + m / 1000 if m < 16384 else 200 + m / 5000 for m in STRAIGHT}
    told = read([file(latency_table(bent))])
    assert texts(told) == {"network.latency": "1 us", "network.bandwidth": "5 GB/s"}
    assert any("the protocol seems to switch at about 16384 B." in note for note in told.notes)


def test_a_bend_is_told_and_long_messages_decide_the_bandwidth(file):
    bent = {m: 100 + m / 1000 + max(m - 15_000, 0) / 12 for m in STRAIGHT}
    told = read([file(latency_table(bent))])
    assert texts(told) == {"network.latency": "100 us", "network.bandwidth": "11.86 MB/s"}
    (note,) = told.notes
    assert "bend at about 16384 B: shorter messages pass at 1 GB/s, longer ones pass at " in note
    flat = {m: 100 + max(m - 15_000, 0) / 12 for m in STRAIGHT}
    (note,) = read([file(latency_table(flat))]).notes
    assert "shorter messages take as long as empty ones, longer ones pass at 12 MB/s" in note


def test_messages_that_are_too_short_tell_no_rate(file):
    told = read([file(latency_table({m: t for m, t in STRAIGHT.items() if m < 2000}))])
    assert texts(told) == {"network.latency": "5 us"}
    assert "network.bandwidth is not determined by messages of up to 1024 B" in told.notes[0]
    title = "# OSU MPI All-to-All Personalized Exchange Latency Test v7.4\n"
    flat = file(title + "# Size       Avg Latency(us)\n8   50.0\n4096   60.0\n", "a.n8.txt")
    told = read([flat])
    assert set(texts(told)) == {"primitives.alltoall.startup", "primitives.alltoall.bandwidth"}
    assert any("network.saturation is not determined by messages of" in x for x in told.notes)


def test_a_saturation_below_a_pair_is_told(file):
    pairs = (
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n"
        "# [ pairs: 2 ] [ window size: 64 ]\n# Size    MB/s        Messages/s\n"
        "1  1.00  1000000.0\n1048576  300.00  286.1\n"
    )
    told = read([file(latency_table(STRAIGHT) + pairs)])
    assert texts(told)["network.saturation"] == "300 MB/s"
    assert any("network.saturation is less than network.bandwidth" in x for x in told.notes)


def test_a_collective_of_unknown_processes_is_left_out_and_told(file):
    bcast = (
        "# OSU MPI Broadcast Latency Test v7.4\n# Size       Avg Latency(us)\n8  2.0\n16  3.0\n"
    )
    told = read([file(latency_table(STRAIGHT) + bcast)])
    assert set(texts(told)) == {"network.latency", "network.bandwidth"}
    assert "as the number of processes is unknown: file." in told.notes[0]
    assert "as the number of processes is unknown: file." in refusal(file(bcast))


@pytest.mark.parametrize(
    ("name", "processes"),
    [
        ("osu_bcast.n8.txt", 8),
        ("osu_bcast.sp2.n32.txt", 32),
        ("bcast-np16.out", 16),
        ("bcast_p4", 4),
    ],
)
def test_the_name_of_a_file_tells_its_processes(file, name, processes):
    bcast = (
        "# OSU MPI Broadcast Latency Test v7.4\n# Size       Avg Latency(us)\n8  2.0\n16  3.0\n"
    )
    told = read([file(bcast, name)])
    assert f"osu_bcast, {processes} processes" in told.figures[0].source


def test_three_counts_of_processes_give_a_formula_and_two_do_not(file):
    def bcast(p):
        rows = "".join(f"{m}  {10 * p + m / 100:.3f}\n" for m in (1, 1000, 100000))
        title = "# OSU MPI Broadcast Latency Test v7.4\n# Size       Avg Latency(us)\n"
        return file(title + rows, f"bcast.n{p}.txt")

    told = texts(read([bcast(p) for p in (2, 4, 8)]))
    assert told["primitives.broadcast.startup"] == "10 us*p"
    assert told["primitives.broadcast.bandwidth"] == "100 MB/s"
    told = read([bcast(p) for p in (2, 4)])
    assert texts(told)["primitives.broadcast.startup"] == "40 us"  # of the larger count
    assert any(
        "the values of the largest are used for every p: broadcast (p = 4)." in x
        for x in told.notes
    )


def test_a_primitive_that_rests_on_little_is_told(file):
    title = "# OSU MPI Reduce Latency Test v7.4\n# Size       Avg Latency(us)\n"
    told = read([file(title + "8  2.0\n", "reduce.n4.txt")])
    assert told.figures == ()
    assert told.remarks == (
        "reduce: startup 2 us; osu_reduce, 4 processes, messages too short "
        "to determine a bandwidth",
    )
    assert any("only one size was measured: reduce." in note for note in told.notes)
    disturbed = "8  2.0\n64  90.0\n512  2.5\n4096  80.0\n32768  30.0\n262144  9000.0\n"
    told = read([file(title + disturbed, "reduce.n4.txt")])
    assert any("fit the times poorly, with errors of: reduce " in note for note in told.notes)


def test_the_volume_of_a_gather_is_what_one_rank_gives(file, machine):
    title = "# OSU MPI Gather Latency Test v7.4\n# Size       Avg Latency(us)\n"
    rows = "1  1.0\n1001  2.0\n"
    path = file(title + rows + LATENCY + "0  1.0\n", "g.n4.txt")
    told = read([path])
    assert told.to_toml().splitlines()[-3:] == [
        "# osu_gather, 4 processes, used for every p, fit error less than 1%",
        'startup = "999 ns"',
        'bandwidth = "1 GB/s"',
    ]
    assert machine(path).network.bandwidth is None
    time = primitive_time("gather", machine(path), {"p": np.array([4.0])}, np.array(1001.0))
    assert time == pytest.approx([2e-6])


# what the benchmark marks as failed


def test_a_row_of_wrong_data_is_left_out_and_counted():
    told = read([HERE / "osu_fail.n2.txt"])
    assert (
        "osu_fail.n2.txt: 1 row is left out, as the benchmark marked it as failed: validation"
        in (told.notes[0])
    )
    assert "startup 1.53 us" in told.remarks[0]


def test_a_size_of_wrong_data_is_left_out_where_the_row_does_not_say_so(file):
    error = "DATA VALIDATION ERROR: osu_latency exited with status 1 on message size {}.\n"
    told = read([file(latency_table(STRAIGHT | {1024: 900.0}) + error.format(1024))])
    assert texts(told) == {"network.latency": "5 us", "network.bandwidth": "1 GB/s"}
    assert "data validation error (1)" in told.notes[0]
    told = read([file(latency_table(STRAIGHT) + error.format(3))])
    assert told.notes == ()


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("[n001:12345] pml_ucx.c:291  Error: something", True),
        ("1717689600.123456 [n001:12345:0] parser.c:2036 UCX  ERROR no device", True),
        ("2026-03-02 10:05:00 INFO started", False),
        ("12 processes of another job", False),
        ("[1717689600.1] [n001:1:0] parser.c:2036 UCX  WARN  unused environment variable", False),
    ],
)
def test_lines_of_other_programs_are_no_rows_and_errors_in_them_are_told(file, line, is_told):
    rows = latency_table(STRAIGHT).splitlines()
    told = read([file("\n".join([*rows[:4], line, *rows[4:], ""]))])
    assert texts(told) == {"network.latency": "5 us", "network.bandwidth": "1 GB/s"}
    assert [f"file: line 5 reports an error: '{line[:20]}" in x for x in told.notes] == (
        [True] * is_told
    )


# memories


TITLES = {
    "host": "# OSU MPI Latency Test v7.4\n",
    "device": "# OSU MPI-CUDA Latency Test v7.5\n",
    "managed": "# OSU MPI-CUDA MANAGED Latency Test v5.6.2\n",
    "rocm": "# OSU MPI-ROCM Latency Test v7.3\n",
}
BUFFERS = "# Send Buffer on {} and Receive Buffer on {}\n"


def of_memory(title, factor=1.0):
    table = latency_table({m: factor * t for m, t in STRAIGHT.items()})
    return table.replace("# OSU MPI Latency Test v5.3\n", title)


@pytest.mark.parametrize(
    ("title", "memory"),
    [
        (TITLES["host"], "host"),
        (TITLES["device"], "device"),
        (TITLES["rocm"], "device"),
        (TITLES["managed"], "managed"),
        (TITLES["device"] + BUFFERS.format("HOST (H)", "HOST (H)"), "host"),
        (TITLES["device"] + BUFFERS.format("DEVICE (D)", "HOST (H)"), "device-host"),
        (TITLES["rocm"] + BUFFERS.format("MANAGED (M)", "MANAGED (M)"), "managed"),
        ("$ mpirun -np 2 osu_latency -d cuda H D\n" + TITLES["device"], "host-device"),
        ("$ mpirun -np 2 osu_latency -d cuda D D\n" + TITLES["device"], "device"),
    ],
)
def test_a_title_tells_the_memory(file, title, memory):
    told = read([file(of_memory(title))], memory=memory)
    assert texts(told)["network.bandwidth"] == "1 GB/s"
    assert (f", {memory} memory, " in told.figures[0].source) == (memory != "host")
    is_assumed = title in (TITLES["device"], TITLES["rocm"])
    assert [note.startswith("Both ranks are taken") for note in told.notes] == [True] * is_assumed


@pytest.mark.parametrize("other", ["device", "managed", "rocm"])
def test_messages_of_devices_and_of_hosts_are_no_repetitions(file, other):
    paths = [
        file(of_memory(TITLES["host"]), "host.txt"),
        file(of_memory(TITLES[other], 0.25), "other.txt"),
    ]
    memory = "managed" if other == "managed" else "device"
    said = refusal_of(paths)
    assert f"host memory in host.txt and {memory} memory in other.txt" in said
    assert f"parcast import osu {paths[0]} {paths[1]} --memory host" in said
    assert texts(read(paths, memory="host"))["network.bandwidth"] == "1 GB/s"
    assert texts(read(paths, memory=memory))["network.bandwidth"] == "4 GB/s"
    with pytest.raises(ParameterError, match="must be one that was measured, got 'shared'"):
        read(paths, memory="shared")


def test_the_command_that_a_refusal_names_chooses(file, parcast):
    path = file(of_memory(TITLES["host"]) + of_memory(TITLES["device"], 0.25), "both of them.txt")
    refused = parcast("import", "osu", path)
    assert refused.status == 3
    chosen = parcast(*shlex.split(refused.err.split("Choose host or device: parcast ")[1].strip()))
    assert chosen.status == 0
    assert 'bandwidth = "1 GB/s"' in chosen.out


ALL_TYPES = (
    "# OSU MPI Allreduce Latency Test v7.4\n"
    "# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n8  2.0\n1000008  1002.0\n"
    "# Datatype: MPI_FLOAT.\n# Size       Avg Latency(us)\n8  9.0\n1000008  9009.0\n"
)


def test_reductions_of_another_type_are_no_repetitions(file):
    told = read([file(ALL_TYPES, "allreduce.n4.txt")])
    assert texts(told)["primitives.allreduce.bandwidth"] == "1 GB/s"
    assert (
        "Of allreduce, results with MPI_FLOAT are left out, as others are with MPI_CHAR: these "
        "are no repetitions. Import each alone."
    ) in told.notes
    same = file(ALL_TYPES.replace("MPI_FLOAT", "MPI_CHAR"), "same.n4.txt")
    assert not any("are left out" in note for note in read([same]).notes)


def refusal_of(paths):
    with pytest.raises(FileProblems) as caught:
        read(paths)
    return str(caught.value)


# what is refused


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (LATENCY, "line 1  must have rows below this title, got none. The file may have been cut"),
        ("# OSU MPI Latency Test v5.3\n", "line 1  must have a header below this title, got none"),
        (LATENCY + "0  1.0\n1024\n", "line 4  must have 2 columns, got 1. The file may have been"),
        (LATENCY + "0  1.0  2\n", "line 3  must have 2 columns, got 3."),
        (LATENCY + "0  nan\n", "line 3  Latency(us)  must be a number of at least 0, got 'nan'."),
        (LATENCY + "0  1e300\n", "must be a number of at least 0, got '1e300'."),
        (LATENCY + "-8  1.0\n", "line 3  Size  must be a size in whole bytes, got '-8'."),
        (LATENCY + "9" * 30 + "  1.0\n", "must be a size in whole bytes, got '99999"),
        (LATENCY + "0  0.00\n", "file  must contain results of network benchmarks."),
        ("# OSU MPI Init Test v7\nnprocs: 4\n", "Other tables are ignored: Init."),
        (b"# OSU MPI Latency Test\xff\n", "line 1  must be UTF-8, got the byte 0xff."),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_place_and_a_remedy(file, content, says):
    assert says in refusal(file(content))


def test_a_file_that_ends_within_a_line_is_told(file):
    told = read([file(latency_table(STRAIGHT)[:-3])])
    assert told.notes[0] == (
        "file ends in the middle of a line, so its last value may be incomplete. Write it again."
    )


def test_timings_have_no_memory(parcast):
    refused = parcast("import", "--memory", "host", ROOT / "examples/imports/weather.txt")
    assert refused.status == 2
    assert "--memory cannot be combined with extrap, which contains timings" in refused.err
