"""`parcast.importers.counts`: processor counts in names of files and in commands."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import FileProblems, ParameterError
from parcast.importers.counts import count_in, counts_of_files, numbers_in_command
from parcast.importers.registry import import_timings
from parcast.timings.measurements import Measurements

counts = st.integers(1, 10**6)
words = st.sampled_from(("p", "np", "ranks", "procs_", "n_tasks-", "threads=", "mpi", "cores"))


@given(p=counts, word=words, before=st.sampled_from(("", "run.", "solver_n1000_", "v2-")))
def test_a_word_before_a_number_makes_it_a_count(p, word, before):
    assert count_in(f"{before}{word}{p}.r1") == p


@given(p=counts, word=st.sampled_from(("ranks", "procs", "cpu", "threads", "tasks")))
def test_a_word_after_a_number_makes_it_a_count(p, word):
    assert count_in(f"strong_{p:03}_{word}") == p


def test_ranks_and_threads_are_multiplied_and_so_are_nodes_and_their_processes():
    assert count_in("mpi4_omp2") == count_in("4ranks_2threads") == 8
    assert count_in("4nodes_16ppn") == 64


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["talp_16.json", "talp_32.json"], [16, 32]),
        (["2024-06-21_8.log", "2024-06-21_16.log"], [8, 16]),
        (["p4/out.json", "p8/out.json"], [4, 8]),
        (["4/out.json", "8/out.json"], [4, 8]),
        (["a_1.json", "a_2.json", "a_3.json"], None),  # they may be counted through
        (["slurm-4711.out", "slurm-9422.out"], None),
        (["a_100.json", "a_101.json"], None),
        (["a_4.json", "b_8.json"], None),
        (["a_4_1.json", "a_8_2.json"], None),
        (["np4.json", "other.json"], None),
        (["talp_16.json"], None),
        ([], None),
    ],
)
def test_numbers_in_which_names_of_files_differ_are_counts_if_they_look_like_some(names, found):
    assert counts_of_files(names) == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("mpirun -n 4 ./solve", [4]),
        ("/usr/bin/mpiexec.hydra -np 4 ./solve -n 100", [4]),
        ("srun --ntasks=4 --cpus-per-task=2 ./solve", [4, 2]),
        ("OMP_NUM_THREADS=8 ./solve; echo", [8]),
        ("bash -c 'OMP_NUM_THREADS=8 ./solve'", [8]),
        ("make -j4", [4]),
        ("xz -T 2 file", [2]),
        ("./solve -n 100", []),
        ("sleep 0.5", []),
    ],
)
def test_options_in_a_command_are_counts(command, found):
    assert numbers_in_command(command)[2] == found


# several files, one for each count


@pytest.fixture
def exports(file):
    def write(pattern, **times):
        paths = []
        for name, time in times.items():
            path = file(
                json.dumps({"results": [{"command": "a", "times": [time, time]}]}),
                pattern.format(name.strip("_")),
            )
            paths.append(path)
        return paths

    return write


def test_the_count_is_taken_from_the_names_of_files_and_it_is_said(exports):
    paths = exports("np{}.json", _1=8.0, _2=4.0)
    told = import_timings(paths)
    assert told.measurements == Measurements(
        p=[1, 1, 2, 2], time=[8, 8, 4, 4], repetition=[1, 2, 1, 2]
    )
    assert told.notes == ("p is taken from the names of the files: 1 of np1.json, 2 of np2.json.",)


def test_a_pattern_finds_the_count_in_any_name_and_the_advice_names_it(exports):
    paths = exports("run_{}.json", _1=8.0, _2=4.0)
    with pytest.raises(
        FileProblems, match=r"If the last number in their names is the count: c"
    ) as e:
        import_timings(paths)
    assert str(e.value).endswith("count_pattern='([0-9]+)[^0-9]*$'")
    told = import_timings(paths, count_pattern=r"([0-9]+)[^0-9]*$")
    assert told.measurements.p.tolist() == [1, 1, 2, 2]


def test_a_pattern_that_finds_nothing_or_what_the_files_tell_is_refused(exports, file):
    paths = exports("run_{}.json", _1=8.0)
    with pytest.raises(FileProblems, match="count_pattern finds in the names of files, got none"):
        import_timings(paths, count_pattern="nodes([0-9]+)")
    with pytest.raises(FileProblems, match=r"must be a processor count where .*, got 'run_1'"):
        import_timings(paths, count_pattern="(run_1)")
    own = file('{"params": {"p": 4}, "value": 5}\n', "own.jsonl")
    with pytest.raises(FileProblems, match="got files that do"):
        import_timings(own, count_pattern="([0-9]+)")


@pytest.mark.parametrize("pattern", ["p([0-9]+", "p[0-9]+", 4, "(" * 2000])
def test_what_is_no_pattern_is_refused_with_an_example(exports, pattern):
    with pytest.raises(ParameterError, match=r"count_pattern must .* Such as 'ranks"):
        import_timings(exports("a{}.json", _1=1.0), count_pattern=pattern)
