"""`calibration.benchmarks.ior`: what its three forms tell of a storage, and what is refused."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from parcast.calibration.benchmarks.ior import read
from parcast.descriptions.toml_files import read_machine, read_program
from parcast.errors import FileProblems
from parcast.prediction.predict import predict
from tests.importers import refused

refusal = partial(refused.refusal, read=read)

ROOT = Path(__file__).parents[3]
DATA = Path(__file__).parents[2] / "importers" / "data"
EXAMPLE = ROOT / "examples" / "benchmarks" / "ior.txt"
MIB = 2**20
BANNER = "IOR-4.0.0: MPI Coordinated Test of Parallel I/O\n"
HEADER = "access    bw(MiB/s)  block(KiB) total(s) iter\n------    ---- ---- ---- ----\n"
PROGRAM = '[[phase]]\nlaw = "spmd"\ncompute = { parallel = "9 s" }\nio = { volume = "84 GB" }\n'
MDTEST = "-- started at 03/02/2026 10:05:00 --\n\nmdtest-4.0.0 was launched with 2 total task(s)\n"


def texts(told):
    return {figure.key: figure.text for figure in told.figures}


# what is read


def test_the_example_becomes_a_storage_on_which_a_program_is_predicted(file):
    told = read([EXAMPLE])
    machine = read_machine(file(told.to_toml(), "machine.toml"))
    assert machine.storage.servers == 1
    assert float(machine.storage.bandwidth({})) == pytest.approx(8012.11 * MIB, rel=1e-3)
    assert float(machine.storage.latency({})) == pytest.approx(0.01202)
    assert float(machine.storage.read_bandwidth({})) == pytest.approx(9.529e9)
    assert told.remarks == ()
    assert told.figures[-1].source == (
        "IOR read, 64 tasks, all servers together, median of 3 runs (9.47 GB/s to 9.56 GB/s)"
    )
    answer = predict(read_program(file(PROGRAM, "program.toml")), machine, p=[1, 3])
    io = 84e9 / (8012.11 * MIB) + 0.01202
    assert answer.time == pytest.approx(np.array([9 + io, 3 + io]), rel=1e-3)


def test_json_that_is_none_is_read_result_by_result():
    told = read([DATA / "ior_older.json"])
    assert texts(told) == {
        "storage.servers": "1",
        "storage.bandwidth": "629.1 MB/s",  # 600 MiB/s, the middle of 500 and 700
        "storage.latency": "3 ms",
    }
    assert "8 tasks" in told.figures[1].source
    assert told.remarks == (
        "read, possibly from a cache: 20.97 GB/s; IOR read, 8 tasks, all servers together",
    )
    assert told.notes[0].startswith("ior_older.json is not valid JSON, as some releases of IOR")
    assert [note.split(":")[0] for note in told.notes[2:]] == [
        "Writes may not have reached the disk",
        "Reads may have come from the memory of the node that wrote the data",
    ]


def test_csv_tells_rates_and_tasks_and_not_what_a_cache_did():
    told = read([DATA / "ior.csv"])
    assert texts(told) == {
        "storage.servers": "1",
        "storage.bandwidth": "1.049 GB/s",  # 1000 MiB/s
        "storage.latency": "1 ms",
    }
    assert "IOR write, 8 tasks" in told.figures[1].source
    assert told.notes[-1].startswith(
        "Rates may include a cache, as CSV does not contain the options of IOR: ior.csv."
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("-C -e", "-C"), "Writes may not have reached the disk: file."),
        (("-C -e", "-e"), "Reads may have come from the memory of the node that wrote the data:"),
        (("8.18 ", "0.05 "), ""),
        (("8012.11", "1012.11"), "The rates of write vary from 1.061 GB/s to 8.5 GB/s."),
    ],
)
def test_what_makes_rates_doubtful_is_told(file, change, says):
    told = read([file(EXAMPLE.read_text().replace(*change))])
    assert any(note.startswith(says) for note in told.notes)


def test_several_files_in_several_forms_are_runs():
    told = read([EXAMPLE, DATA / "ior.csv", DATA / "ior_older.json"])
    assert "median of 6 runs (524 MB/s to 8.5 GB/s)" in told.figures[1].source
    assert "8 and 64 tasks" in told.figures[1].source


# what is refused


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("hello\n", "be output of IOR (text, JSON or CSV), got a file that begins with 'hello'"),
        ("{}", "must be output of IOR (text, JSON or CSV), got a file that begins with '{}'."),
        (MDTEST, "must be output of ior, got that of mdtest, which measures no data rates."),
        (BANNER, "file  must have results of write or read, got none. The file may have been cut"),
        (BANNER + HEADER, "file  must have results of write or read, got none."),
        (BANNER + HEADER + "write 100 1\n", "line 4  must have 5 columns, got 3. The file may ha"),
        (BANNER + HEADER + "write nan 1 1 0\n", "got none. file: 1 row is left out, as"),
        (BANNER + HEADER + "write 1e300 1 1 0\n", "got none. file: 1 row is left out, as"),
        (BANNER + HEADER + "write - 1 1 0\n", "got none. file: 1 row is left out, as"),
        ("access,bw(MiB/s),iter\nread,x,0\n", "the benchmark marked it as failed: rate x (1)."),
        (
            BANNER + HEADER.replace("bw", "rate") + "read 7 1 1 0\n",
            "line 4  bw  must be a column, got none. The file may",
        ),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_place_and_a_remedy(file, content, says):
    assert says in refusal(file(content))


ROWS = "write 100 1 1 0\n{}write 400 1 1 1\n{}read 900 1 1 1\n"
SIZES = (
    "WARNING: Expected aggregate file size       = {}\n"
    "WARNING: Stat() of aggregate file size      = {}\n"
    "WARNING: Using actual aggregate bytes moved = {}\n"
)


@pytest.mark.parametrize(
    ("above", "below", "rate", "reason"),
    [
        ("", "", "250", ""),
        ("WARNING: inconsistent file size by different tasks.\n", "", "100", "inconsistent file"),
        ("ior WARNING: inconsistent file size by different tasks\n", "", "100", "inconsistent"),
        ("ior ERROR: write() failed, errno 28, No space left (a.c:1)\n", "", "100", "an error"),
        ("WARNING: fsync(15) failed\n", "", "100", "a failed operation"),
        (SIZES.format(8, 8, 4), "", "100", "fewer bytes than expected"),
        (SIZES.format(8, 4, 8), "", "100", "fewer bytes than expected"),
        (SIZES.format(8, 16, 8), "", "250", ""),  # a larger file was there before
        (
            SIZES.format(8, 4, 4) + "WARNING: Maybe caused by deadlineForStonewalling\n",
            "",
            "250",
            "",
        ),
        ('WARNING: The file "x" exists already and will be deleted\n', "", "250", ""),
        ("", "WARNING: incorrect data on write (3 errors found).\n", "100", "wrong data written"),
        ("", "WARNING: Incorrect data on read (3 errors found).\n", "250", "wrong data read"),
    ],
)
def test_a_result_that_ior_warns_of_is_left_out_and_counted(file, above, below, rate, reason):
    told = read([file(BANNER + HEADER + ROWS.format(above, below))])
    assert float(read_machine(file(told.to_toml(), "m.toml")).storage.bandwidth({})) == (
        pytest.approx(float(rate) * MIB, rel=1e-3)
    )
    left_out = [note for note in told.notes if "left out, as the benchmark marked" in note]
    assert [reason in note for note in left_out] == ([True] if reason else [])


def test_transfers_of_several_sizes_are_told(file):
    header = HEADER.replace("block(KiB)", "xfer(KiB)")
    told = read([file(BANNER + header + "write 100 4 1 0\nwrite 120 16384 1 0\n")])
    assert any("several sizes, 4.1 kB to 16.8 MB, which are no" in note for note in told.notes)
    told = read([file(BANNER + header + "write 100 4 1 0\nwrite 120 4 1 0\n")])
    assert not any("several sizes" in note for note in told.notes)


def test_json_with_warnings_or_an_error_between_its_results_is_read(file):
    good = '{"access": "write","bwMiB": 100.0}'
    bad = '{"access": "write","bwMiB": 900.0}'
    head = '{"Version": "4.0.0", "Command line": "ior -e", "tests": [{"Results": [[\n'
    warned = "WARNING: inconsistent file size by different tasks.\n"
    told = read([file(f'{head}{good},\n{warned}{bad}\n]]}}], "Finished": "now"}}')])
    assert texts(told)["storage.bandwidth"] == "104.9 MB/s"
    told = read([file(f"{head}{good},\nERROR: cannot open file, (aiori-POSIX.c:424)\n")])
    assert texts(told)["storage.bandwidth"] == "104.9 MB/s"
    assert any("line 3 reports an error: 'ERROR: cannot open file" in x for x in told.notes)


def test_data_of_devices_and_of_hosts_are_not_repetitions(file):
    command = "Command line        : ior -e -C{}\n"
    paths = [
        file(f"{BANNER}{command.format(options)}{HEADER}write {rate} 1 1 0\n", name)
        for options, rate, name in [("", 100, "a"), (" -O allocateBufferOnGPU=1", 400, "b")]
    ]
    with pytest.raises(FileProblems, match="got host memory in a and device memory in b"):
        read(paths)
    told = read(paths, memory="device")
    assert texts(told)["storage.bandwidth"] == "419.4 MB/s"
    assert told.figures[1].source.startswith("IOR write, device memory")


def test_json_that_was_cut_off_is_refused(file):
    content = (DATA / "ior_older.json").read_text()
    said = refusal(file(content.split('"summary"')[0]))
    assert 'must be complete, got no "Finished" at its end. The file may have been cut off' in said
