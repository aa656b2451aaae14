"""Valid documents of other tools, as strategies of Hypothesis: bytes that an importer reads.

Forms that are easy to write are built here. Those that a tool prints with much around its numbers
are samples of `tests/importers/data`, one of which is chosen.
"""

import io
import json
import sqlite3
import tarfile
import tempfile
import zipfile
from pathlib import Path

from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.fuzzing.documents import PROCESSORS, cells, lines, names, seconds, several

SAMPLES = ROOT / "tests" / "importers" / "data"
EXAMPLES = ROOT / "examples"

processors = several(PROCESSORS, least=2, most=4)


def samples(*patterns, folder=SAMPLES):
    """One of the files that patterns name."""
    chosen = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    assert chosen
    return st.sampled_from([path.read_bytes() for path in chosen])


@st.composite
def extrap_texts(draw):
    """Text of Extra-P: points, then a line of data for each, by metric and region."""
    points = draw(processors)
    text = [f"PARAMETER {draw(st.sampled_from(('p', 'p n')))}"]
    has_two = text[0].endswith("n")
    text += ["POINTS " + " ".join(f"( {p} 100 )" if has_two else str(p) for p in points), ""]
    for metric in draw(several(("time", "visits"), least=1)):
        text.append(f"METRIC {metric}")
        for region in draw(several(("main", "main->solve"), least=1)):
            text.append(f"REGION {region}")
            text += [f"DATA {draw(seconds)} {draw(seconds)}" for _ in points]
    return lines(text)


@st.composite
def extrap_newer(draw):
    """The newer JSON of Extra-P: measurements by callpath and metric."""
    measured = {
        callpath: {
            "time": [{"point": [p, 100], "values": [draw(seconds)]} for p in draw(processors)]
        }
        for callpath in draw(several(("main", "main->solve"), least=1))
    }
    return json.dumps({"parameters": ["p", "n"], "measurements": measured}).encode()


@st.composite
def extrap_older(draw):
    """The older JSON of Extra-P: measurements that refer to numbered parts."""
    points = list(enumerate(draw(processors), start=1))
    document = {
        "parameters": [{"id": 1, "name": "p"}],
        "metrics": [{"id": 1, "name": "time"}],
        "callpaths": [{"id": 1, "name": "main"}],
        "coordinates": [
            {"id": i, "parameter_value_pairs": [{"parameter_id": 1, "parameter_value": p}]}
            for i, p in points
        ],
        "measurements": [
            {"id": i, "coordinate_id": i, "callpath_id": 1, "metric_id": 1, "value": draw(seconds)}
            for i, _ in points
        ],
    }
    return json.dumps(document).encode()


@st.composite
def extrap_lines(draw):
    """JSON Lines of Extra-P: one measurement a line."""
    objects = (
        {
            "params": {"p": p, "n": 100},
            "callpath": "main",
            "metric": "time",
            "value": draw(seconds),
        }
        for p in draw(processors)
    )
    return lines(map(json.dumps, objects))


@st.composite
def sacct_tables(draw):
    rows = [["JobID", "JobName", "AllocCPUS", "NTasks", "Elapsed", "State"]]
    for job, p in enumerate(draw(processors), start=11):
        elapsed = draw(st.sampled_from(("00:01:40", "1-00:00:01", "00:00:52", "23:59:00")))
        rows.append([job, "solve", p, "", elapsed, "COMPLETED"])
        rows.append([f"{job}.0", "solve", p, p, elapsed, "COMPLETED"])
    return cells(rows, "|")


@st.composite
def extrap_saved(draw):
    """What Extra-P 4 saves: an archive of measurements, some of which have values."""
    measured = []
    for p in draw(processors):
        time = draw(seconds)
        values = draw(st.sampled_from((None, [time, time], [time])))
        measured.append({"coordinate": [p], "median": time, "mean": time, "values": values})
    document = {
        "Extra-P": "4.2.5",
        "parameters": ["p"],
        "measurements": {"main": {"time": measured}},
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("experiment.json", json.dumps(document))
    return draw(st.sampled_from((stream.getvalue(), json.dumps(document).encode())))


@st.composite
def talpas(draw):
    """Talpas: one measurement a line, with semicolons for commas."""
    line = '{{"parameters": {{"p": {}}};"metric": "time";"callpath": "main";"value": {}}}'
    return lines(line.format(p, draw(seconds)) for p in draw(processors))


@st.composite
def hyperfine(draw):
    """What `hyperfine --export-json` writes."""
    results = []
    for p in draw(processors):
        times = draw(st.lists(seconds, min_size=1, max_size=3))
        results.append(
            {
                "command": f"solve --threads {p}",
                "mean": times[0],
                "times": times,
                "exit_codes": [0] * len(times),
                "parameters": {"p": str(p), "n": "100"},
            }
        )
    if draw(st.booleans()):
        for result in results:
            del result["parameters"]
    return json.dumps({"results": results}).encode()


@st.composite
def own_results(draw):
    """What `save` writes of a forecast, without what no reader of its runs looks at."""
    p = draw(processors)
    columns = {"p": p, "time": draw(st.lists(seconds, min_size=len(p), max_size=len(p)))}
    if draw(st.booleans()):
        columns["callpath"] = ["solve"] * len(p)
    runs = {"columns": columns}
    if draw(st.booleans()):
        ended = {**columns, "time": [2 * x for x in columns["time"]]}
        runs["cut_off"] = {"columns": ended}
    call = {"verb": "forecast", "arguments": {"measurements": {"runs": runs}, "p": [64]}}
    return json.dumps({"schema": "parcast/forecast/1", "rows": [], "call": call}).encode()


@st.composite
def google_benchmarks(draw):
    runs = [
        {
            "name": f"BM_Solve/p:{p}/n:100/real_time",
            "run_name": f"BM_Solve/p:{p}/n:100/real_time",
            "run_type": "iteration",
            "threads": 1,
            "iterations": 10,
            "real_time": draw(seconds),
            "cpu_time": 7.5,
            "time_unit": draw(st.sampled_from(("ns", "us", "ms", "s"))),
        }
        for p in draw(processors)
    ]
    context = {"date": "2026-03-01T10:00:00+00:00", "executable": "./bench", "num_cpus": 8}
    context["library_version"] = draw(st.sampled_from(("v1.8.3", "v1.9.5")))
    return json.dumps({"context": context, "benchmarks": runs}).encode()


@st.composite
def pyperf(draw):
    suite = [
        {
            "metadata": {"name": f"solve[{p}]", "nprocs": p},
            "runs": [
                {"metadata": {"loops": 1}, "values": [draw(seconds)], "warmups": [[1, 2.0]]},
                {"values": [draw(seconds), draw(seconds)]},
            ],
        }
        for p in draw(processors)
    ]
    metadata = {"unit": "second", "cpu_count": 8}
    return json.dumps({"benchmarks": suite, "metadata": metadata, "version": "1.0"}).encode()


@st.composite
def pytest_benchmarks(draw):
    rows = [
        {
            "group": None,
            "name": f"test_solve[{p}-gcc]",
            "fullname": f"test_b.py::test_solve[{p}-gcc]",
            "params": {"nprocs": p, "compiler": "gcc"},
            "extra_info": {"n": 100},
            "stats": {"median": draw(seconds), "data": [draw(seconds)]},
        }
        for p in draw(processors)
    ]
    document = {"machine_info": {}, "commit_info": {}, "benchmarks": rows}
    return json.dumps(document).encode()


@st.composite
def reframe_logs(draw):
    rows = [["name", "num_tasks", "num_cpus_per_task", "result", "elapsed_value", "elapsed_unit"]]
    for p in draw(processors):
        result = draw(st.sampled_from(("pass", "pass", "fail")))
        rows.append([f"Solver %np={p} %mesh=fine", p, "null", result, draw(seconds), "s"])
    return cells(rows, "|")


@st.composite
def reframe_reports(draw):
    cases = []
    for p in draw(processors):
        case = {"name": f"Solver %np={p}", "num_tasks": p, "result": "pass", "system": "daint"}
        time = draw(seconds)
        if draw(st.booleans()):
            case["perfvalues"] = {"daint:gpu:elapsed": [time, 0, None, None, "s", "pass"]}
        else:
            case["perfvars"] = [{"name": "elapsed", "unit": "s", "value": time}]
        cases.append(case)
    return json.dumps({"session_info": {}, "runs": [{"testcases": cases}]}).encode()


@st.composite
def reframe_databases(draw):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.db"
        made = sqlite3.connect(path)
        made.execute(
            "CREATE TABLE sessions(uuid TEXT, session_start_unix REAL, session_end_unix REAL, "
            "json_blob TEXT, report_file TEXT)"
        )
        made.execute("CREATE TABLE testcases(name TEXT, session_uuid TEXT)")
        report = draw(reframe_reports()).decode()
        made.execute("INSERT INTO sessions VALUES('a', 1.0, 2.0, ?, '')", (report,))
        made.commit()
        made.close()
        return path.read_bytes()


@st.composite
def talp(draw):
    p = draw(st.integers(1, 64))
    common = {"numCpus": p, "numMpiRanks": p}
    regions = {
        region: common | {"elapsedTime": int(draw(seconds) * 10**9)}
        for region in draw(several(("Global", "solve"), least=1))
    }
    document = {"dlbVersion": "3.5.0", "resources": common, "Application": regions}
    return json.dumps(document).encode()


@st.composite
def lammps(draw):
    """Logs of LAMMPS, one after another."""
    text = []
    for p in draw(processors):
        text += ["LAMMPS (2 Aug 2023)", f"Loop time of {draw(seconds)} on {p} procs for 100 steps"]
        text[-1] += " with 4000 atoms"
        text.insert(-1, f"Per MPI rank memory allocation (min/avg/max) = 1 | {p} | 9.5 Mbytes")
        text.append(f"99.1% CPU use with {p} MPI tasks x 1 OpenMP threads")
    return lines(text)


@st.composite
def gromacs(draw):
    """A log of GROMACS, to which runs are appended."""
    text = ["GROMACS:      gmx mdrun, version 2022.5"]
    for p in draw(processors):
        text += [f"Using {p} MPI processes", "Using 2 OpenMP threads per MPI process"]
        text += [f"       Time:  {draw(seconds):.3f}  {draw(seconds):.3f}  1600.0"]
        text += [f"Performance:  {draw(seconds):.3f}  0.1"]
    return lines(text)


@st.composite
def gnu_times(draw):
    """What `/usr/bin/time -v` prints of several commands."""
    text = []
    for p in draw(processors):
        text += [f'Command being timed: "mpirun -n {p} ./app"']
        text += [f"Elapsed (wall clock) time (h:mm:ss or m:ss): 1:{draw(seconds):.2f}"]
        text += [f"Maximum resident set size (kbytes): {1000 // p}", "Exit status: 0"]
    return lines(text)


@st.composite
def own_logs(draw):
    """Logs of one's own, as the patterns of their reader expect them."""
    text = []
    for p in draw(processors):
        unit = draw(st.sampled_from(("", " s", " ms", " min")))
        text += ["starting", f"ranks: {p}", f"elapsed: {draw(seconds)}{unit}"]
    return lines(text)


@st.composite
def parquet_tables(draw):
    import pyarrow
    from pyarrow import feather, parquet

    points = draw(processors)
    table = pyarrow.table({"p": points, "time_s": [draw(seconds) for _ in points]})
    stream = io.BytesIO()
    if draw(st.booleans()):
        parquet.write_table(table, stream)
    else:
        feather.write_feather(table, stream)
    return stream.getvalue()


@st.composite
def caliper_tables(draw):
    """What `cali-query` prints as json-split: rows, and a tree of regions."""
    p = draw(st.integers(1, 3))
    unit = draw(st.sampled_from(("sec", "usec")))
    document = {
        "data": [[rank, draw(seconds), node] for rank in range(p) for node in (None, 0, 1)],
        "columns": ["mpi.rank", "time", "path"],
        "column_metadata": [
            {"is_value": True},
            {"is_value": True, "attribute.alias": "time", "attribute.unit": unit},
            {"is_value": False},
        ],
        "nodes": [
            {"label": draw(names), "column": "path"},
            {"label": "solve", "column": "path", "parent": 0},
        ],
        "mpi.world.size": str(p),
        "problem_size": "30",
    }
    return json.dumps(document).encode()


@st.composite
def caliper_records(draw):
    """What `cali-query` prints as json(object): records with their paths as text."""
    p = draw(st.integers(1, 3))
    records = [
        {"path": path, "mpi.rank": rank, "sum#time.duration": draw(seconds)}
        for rank in range(p)
        for path in ("main", "main/solve")
    ]
    return json.dumps({"records": records, "globals": {"mpi.world.size": p}}).encode()


@st.composite
def hatchet_graphs(draw):
    p = draw(st.integers(1, 3))
    kind = {"type": "function"}
    graph = {
        "0": {"data": {"name": "main"} | kind, "children": [1]},
        "1": {"data": {"name": draw(names)} | kind, "children": []},
    }
    rows = [
        {"node": node, "rank": rank, "time": draw(seconds), "nid": node, "name": "x"}
        for node in (0, 1)
        for rank in range(p)
    ]
    document = {
        "graph": [graph],
        "dataframe_indices": ["node", "rank"],
        "dataframe": rows,
        "inclusive_metrics": [],
        "exclusive_metrics": ["nid", "time"],
    }
    return json.dumps(document).encode()


@st.composite
def cubex_archives(draw):
    """A profile of Score-P: a tar archive of XML, indices and values."""
    from tests.importers.test_cubex import write_cubex

    p = draw(st.integers(1, 3))
    paths = ("main", "main->solve")
    times = {path: [draw(seconds)] * p for path in paths}
    with tempfile.TemporaryDirectory() as folder:
        return write_cubex(Path(folder) / "profile.cubex", times, processes=p).read_bytes()


def members_of(archive):
    """Members of a tar archive by their names."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as read:
        return {x.name: read.extractfile(x).read() for x in read if x.isfile()}


@st.composite
def osu_tables(draw):
    """Output of the OSU benchmarks for latency and a collective."""
    text = ["# OSU MPI Latency Test v7.2", "# Size          Latency (us)"]
    sizes = draw(several((0, 1, 8, 1024, 65536, 1048576), least=4, most=6))
    text += [f"{size:<24}{2 + size / 5000:.2f}" for size in sizes]
    if draw(st.booleans()):
        text += ["# OSU MPI Latency Test v7.2", "# Size          Latency (us)"]
        text += [f"{size:<24}{2.1 + size / 5000:.2f}" for size in sizes]
    return lines(text)


@st.composite
def imb_sections(draw):
    """Output of the Intel MPI Benchmarks."""
    text = ["#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part", "# Benchmarking PingPong"]
    text += ["# #processes = 2", "       #bytes #repetitions      t[usec]   Mbytes/sec"]
    for size in draw(several((0, 1, 8, 1024, 65536, 1048576), least=4, most=6)):
        time = 2 + size / 5000
        text.append(f"{size:13}{1000:13}{time:13.2f}{size / time:13.2f}")
    return lines([*text, "", "# All processes entering MPI_Finalize"])


extrap = (
    extrap_texts()
    | extrap_newer()
    | extrap_older()
    | extrap_lines()
    | extrap_saved()
    | talpas()
    | samples("*.extra-p")
)
reframe = reframe_logs() | reframe_reports() | reframe_databases()
slurm = sacct_tables() | samples("sacct*.json")
caliper = caliper_tables() | caliper_records()
cali = samples("*.cali")
hatchet = hatchet_graphs() | samples("thicket.json")
darshan = samples("darshan_parser.txt", "darshan_report.json", "darshan_*.csv", "darshan_old*")
darshan_io = samples("darshan.txt", folder=EXAMPLES / "arrays")
osu = (
    osu_tables()
    | samples("osu_full.n4.txt")
    | samples("osu_*.txt", folder=EXAMPLES / "benchmarks")
)
imb = imb_sections() | samples("imb.txt", folder=EXAMPLES / "benchmarks")
anything = (
    extrap
    | slurm
    | hyperfine()
    | google_benchmarks()
    | pyperf()
    | pytest_benchmarks()
    | reframe
    | talp()
    | lammps()
    | gromacs()
    | gnu_times()
    | caliper
    | hatchet
    | darshan
)
ior = samples("ior*") | samples("ior.txt", folder=EXAMPLES / "benchmarks")
