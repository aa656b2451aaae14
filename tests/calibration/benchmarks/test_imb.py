"""`calibration.benchmarks.imb`: what sections of IMB tell of a network, and what is refused."""

from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from parcast.calibration.benchmarks.imb import read
from parcast.descriptions.toml_files import read_machine, read_program
from parcast.errors import FileProblems
from parcast.prediction.predict import predict
from tests.importers import refused

refusal = partial(refused.refusal, read=read)

ROOT = Path(__file__).parents[3]
DATA = Path(__file__).parents[2] / "importers" / "data"
HERE = Path(__file__).parent / "data"
EXAMPLE = ROOT / "examples" / "benchmarks" / "imb.txt"
SECTION = (
    "# Benchmarking PingPong \n# #processes = 2 \n"
    "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
)
END = "# All processes entering MPI_Finalize\n"


def texts(told):
    return {figure.key: figure.text for figure in told.figures}


def test_the_example_tells_the_machine_it_was_made_for(tmp_path):
    told = read([EXAMPLE])
    (tmp_path / "machine.toml").write_text(told.to_toml())
    machine = read_machine(tmp_path / "machine.toml")  # 1.6 us, 11 GB/s; a tree for a broadcast
    assert float(machine.network.latency({})) == pytest.approx(1.6e-6, rel=0.02)
    assert float(machine.network.bandwidth({})) == pytest.approx(1.1e10, rel=0.02)
    p = np.array([2.0, 4, 64])
    broadcast = machine.primitives.broadcast
    assert broadcast.startup({"p": p}) == pytest.approx(1.7e-6 * np.log2(p), rel=0.02)
    assert broadcast.bandwidth({"p": p}) == pytest.approx(9e9 / np.log2(p), rel=0.03)
    assert machine.primitives.barrier.startup({"p": p}) == pytest.approx(1.6e-6 * np.log2(p))
    assert told.figures[-1].source == (
        "IMB Barrier (t_max), 2, 4, 8 processes, fit error less than 1%"
    )
    assert told.remarks == ()
    answer = predict(read_program(EXAMPLE.parent / "program.toml"), machine, p=[1, 16])
    assert np.all(answer.time > 0)


def test_several_groups_an_all_to_all_that_ran_out_of_time_and_what_is_passed_over():
    told = read([DATA / "imb_multi.txt"])
    assert texts(told) == {
        "network.saturation": "10 GB/s",  # 4 * 3 messages of 1 MB in 1.2 ms
        "primitives.alltoall.startup": "9.981 us",
        "primitives.alltoall.bandwidth": "840.3 MB/s",
    }
    assert told.figures[0].source == (
        "IMB Alltoall (t_max), 4 processes, P*(P - 1)*m/t at m = 1000000 B"
    )
    assert told.notes[:2] == (
        "The time limit of IMB ended these before their largest messages: Alltoall of 4. Run "
        "them with a longer -time.",
        "Other benchmarks are ignored: Sendrecv.",
    )


def test_pairs_at_once_send_one_message_each(file):
    content = (DATA / "imb_multi.txt").read_text().split("# Benchmarking Sendrecv")[0]
    told = read([file(content)])
    assert texts(told) == {"network.saturation": "4.194 GB/s"}  # 2 * 2^20 B in 500 us
    assert told.figures[0].source == (
        "IMB Multi-PingPong, 4 processes in pairs, highest rate, at 1048576 B"
    )
    assert "file ends before MPI_Finalize: it may have been cut off." in told.notes


def test_several_files_are_runs(file):
    paths = [file(f"{SECTION}0 1000 {x} 0.00\n{END}", f"{x}.txt") for x in (1.5, 2.0, 4.0)]
    told = read(paths)
    assert told.figures[0].text == "2 us"
    assert told.figures[0].source.endswith("median of 3 runs (1.5 us to 4 us)")


def test_rows_that_were_not_measured_are_left_out_and_counted():
    told = read([HERE / "imb_gpu.txt"])
    assert (
        "imb_gpu.txt: 2 rows are left out, as the benchmark marked them as failed: defects (1), "
        "int-overflow (1)."
    ) in told.notes
    assert any(
        "ended these before their largest messages: Allreduce of 4." in x for x in told.notes
    )
    assert any(
        "bandwidth is not determined by its 4 sizes, as fewer than 3" in x for x in told.notes
    )
    assert told.figures[0].source.startswith("IMB PingPong, device memory, 2 processes")


@pytest.mark.parametrize(
    "text",
    [
        "int-overflow.; The production rank*size caused int overflow for given sample",
        'out-of-mem.; needed X=   1.125 GB; use flag "-mem X" or MAX_MEM_USAGE>=X',
        "invalid-buf.",
    ],
)
def test_a_word_in_place_of_times_is_a_failed_row(file, text):
    rows = "0 1000 1.00 0.00\n{}1048576 100 250.00 0\n2097152 100 500.00 0\n4194304 9 1000.00 0\n"
    told = read([file(SECTION + rows.format(f"64 {text}\n") + END)])
    assert texts(told) == {"network.latency": "1 us", "network.bandwidth": "4.194 GB/s"}
    assert told.notes[0].endswith(f"marked it as failed: {text.split('.')[0]} (1).")
    assert "1 row is left out" in refusal(file(f"{SECTION}64 {text}\n{END}"))


BANNER = (
    "#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part{}\n# Calling sequence was: \n\n"
    "# IMB-MPI1{} PingPong\n#{}\n"
)


@pytest.mark.parametrize(
    ("banner", "memory"),
    [
        (BANNER.format("", "", ""), "host"),
        (BANNER.format(" (GPU)", "-GPU", ""), "device"),  # its default
        (BANNER.format(" (GPU)", "-GPU", "  -mem_alloc_type device"), "device"),
        (BANNER.format(" (GPU)", "-GPU", "  -mem_alloc_type host"), "host"),
        (BANNER.format(" (GPU)", "-GPU", "  -mem_alloc_type CPU"), "host"),
        (BANNER.format(" (GPU)", "-GPU", "  -mem_alloc_type shared"), "shared"),
    ],
)
def test_the_suite_and_its_options_tell_the_memory(file, banner, memory):
    rows = "0 1000 {}.00 0.00\n"
    path = file(banner + SECTION + rows.format(1) + END, "a.txt")
    told = read([path], memory=memory)
    assert (f", {memory} memory, " in told.figures[0].source) == (memory != "host")
    of_other = (
        BANNER.format(" (GPU)", "-GPU", "") if memory == "host" else BANNER.format("", "", "")
    )
    other = file(of_other + SECTION + rows.format(3) + END, "b.txt")
    with pytest.raises(FileProblems, match=f"got {memory} memory in a.txt and"):
        read([path, other])
    assert texts(read([path, other], memory=memory))["network.latency"] == "1 us"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            "hello\n",
            "must have a section such as # Benchmarking PingPong, got none; it begins with 'he",
        ),
        ("#    Intel(R) MPI Benchmarks 2021.7\n", "got none; it begins with '#    Intel"),
        (SECTION, "line 1  must have rows in this section, got none. The file may have been cut"),
        (SECTION + "0 1000 1.00\n", "line 4  must have 4 columns, got 3. The file may have been"),
        (SECTION + "0 1000 nan 0\n", "line 4  t[usec]  must be a number of at least 0, got 'nan'"),
        (SECTION + "0 1000 -1 0\n", "must be a number of at least 0, got '-1'. Run the benchmark"),
        (SECTION + "0.5 1000 1 0\n", "line 4  #bytes  must be a size in whole bytes, got '0.5'."),
        (
            "# Benchmarking PingPong\n# #processes = 2\n0 1000 1.00 0.00\n",
            "line 3  must follow a header such as #bytes #repetitions t[usec], got none.",
        ),
        (
            SECTION.replace("t[usec]", "t[sec]") + "0 1000 1.00 0.00\n",
            "got #bytes #repetitions t[sec] Mbytes/sec.",
        ),
        (
            SECTION.replace("# #processes = 2 \n", "") + "0 1000 1.00 0.00\n",
            "line 1  must have a line #processes in this section.",
        ),
        (
            SECTION.replace("PingPong", "Exchange") + "0 1000 1.00 0.00\n" + END,
            "file  must contain results of network benchmarks. Other benchmarks are ignored: "
            "Exchange.",
        ),
        (b"# Benchmarking PingPong\n\xff", "line 2  must be UTF-8, got the byte 0xff."),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_place_and_a_remedy(file, content, says):
    assert says in refusal(file(content))


@pytest.mark.parametrize("path", [DATA / "imb_multi.txt", EXAMPLE])
def test_no_part_of_a_file_ends_in_anything_but_figures_or_a_refusal(file, path):
    content = path.read_bytes()
    for end in range(0, len(content), 41):
        with suppress(FileProblems):
            notes = read([file(content[:end])]).notes
            assert any("may have been cut off" in note for note in notes)
