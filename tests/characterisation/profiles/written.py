"""Profiles of one program as Caliper, Score-P and TALP write them, made by hand.

None of the tools can be installed where these tests run. The files conform to their sources:
columns of the options of `runtime-profile` in `src/caliper/controllers/controllers.cpp` of Caliper
and the sizes in its `Wrapper.w`, the metrics and `scorep_mpi_coll.inc.c` of Score-P, and
`talp_output.c` of DLB. That is why the same message has other bytes in each.

The program computes on n rows, `STEPS` times: it sends a row to each neighbour in a line of ranks,
sweeps over its own rows, reduces a number, and gathers all rows at the end.
"""

import json
from dataclasses import dataclass, field

from tests.importers.test_cubex import FakeParser, write_cubex

STEPS = 50
ROW = 3e-6  # seconds of a row
SECOND = 10**9


@dataclass
class Done:
    """What one rank did in one call path."""

    time: float  # exclusive [s]
    visits: int = 1
    iterations: int | None = None  # of a loop, in one pass
    sent: int = 0
    received: int = 0
    collective: bool = False
    caliper: float = 0.0  # bytes of a message as Caliper counts them
    scorep: tuple[float, float] = field(default=(0.0, 0.0))  # sent and received, all calls


def stencil(p, n):
    """What each rank does, by call path."""
    return [_of_rank(rank, p, n) for rank in range(p)]


def _of_rank(rank, p, n):
    neighbours = (rank > 0) + (rank < p - 1)
    row, block, is_root = 8 * n, 8 * n * n // p, rank == 0
    messages = STEPS * neighbours
    steps = ("main", "steps")
    done = {
        ("main",): Done(0.0005),
        ("main", "setup"): Done(0.02),
        ("main", "setup", "MPI_Bcast"): Done(
            1e-4,
            collective=True,
            caliper=row if is_root else 0,
            scorep=(p * row if is_root else 0, row),
        ),
        steps: Done(0.0005, iterations=STEPS),
        (*steps, "halo"): Done(0.0002, visits=STEPS),
        (*steps, "sweep"): Done(0.0004, visits=STEPS),
        (*steps, "sweep", "row"): Done(STEPS * n / p * ROW, visits=STEPS * n // p),
        (*steps, "MPI_Allreduce"): Done(
            2e-4, visits=STEPS, collective=True, caliper=8, scorep=(8 * p * STEPS, 8 * p * STEPS)
        ),
        ("main", "MPI_Gather"): Done(
            3e-4,
            collective=True,
            caliper=0 if is_root else block,
            scorep=(block, p * block if is_root else 0),
        ),
    }
    if neighbours:
        halo = (*steps, "halo")
        done |= {
            (*halo, "MPI_Irecv"): Done(2e-5, visits=messages),
            (*halo, "MPI_Isend"): Done(
                4e-5, visits=messages, sent=messages, caliper=row, scorep=(messages * row, 0)
            ),
            (*halo, "MPI_Waitall"): Done(
                5e-4, visits=STEPS, received=messages, caliper=row, scorep=(0, messages * row)
            ),
        }
    return done


COLUMNS = {  # alias, and name in a .cali file
    "mpi.rank": "mpi.rank",
    "time": "sum#sum#time.duration",
    "Calls": "sum#rc.count",
    "Iterations": "max#max#iter.count",
    "Msgs sent": "sum#mpicount.send",
    "Msgs recvd": "sum#mpicount.recv",
    "Collectives": "sum#mpicount.coll",
    "Msg size (avg)": "avg#mpimsg.avg",
    "Msg size (max)": "max#mpimsg.max",
}


def caliper_rows(ranks):
    """Records of runtime-profile: values by column, and the path."""
    for rank, of_rank in enumerate(ranks):
        yield {"mpi.rank": rank, "time": 0.0001}, ()
        for path, done in of_rank.items():
            has_size = done.sent or done.received or done.collective
            values = {
                "mpi.rank": rank,
                "time": done.time,
                "Calls": done.visits,
                "Iterations": done.iterations,
                "Msgs sent": done.sent or None,
                "Msgs recvd": done.received or None,
                "Collectives": done.visits if done.collective else None,
                "Msg size (avg)": done.caliper if has_size else None,
                "Msg size (max)": done.caliper if has_size else None,
            }
            yield values, path


def caliper_json(path, ranks, *, without=(), unit="sec", scale=1.0, **metadata):
    """Write `output.format=json-split`."""
    nodes, numbers, data = [], {(): None}, []
    columns = [x for x in COLUMNS if x not in without]
    for values, callpath in caliper_rows(ranks):
        for i in range(1, len(callpath) + 1):
            if callpath[:i] not in numbers:
                numbers[callpath[:i]] = len(nodes)
                node = {"label": callpath[i - 1], "column": "path"}
                above = numbers[callpath[: i - 1]]
                nodes.append(node if above is None else node | {"parent": above})
        values["time"] *= scale
        data.append([*(values.get(x) for x in columns), numbers[callpath]])
    details = [
        {"is_value": True, **({"attribute.unit": unit} if x == "time" else {})} for x in columns
    ]
    text = {
        "data": data,
        "columns": [*columns, "path"],
        "column_metadata": [*details, {"is_value": False}],
        "nodes": nodes,
        "mpi.world.size": str(len(ranks)),
        "cali.caliper.version": "2.12.1",
        **{name: str(x) for name, x in metadata.items()},
    }
    path.write_text(json.dumps(text))
    return path


def caliper_cali(path, ranks, **metadata):
    """Write a `.cali` file."""
    lines, number = [], 100

    def node(attribute, value, parent=None):
        nonlocal number
        number += 1
        above = "" if parent is None else f",parent={parent}"
        lines.append(f"__rec=node,id={number},attr={attribute},data={value}{above}")
        return number

    # attributes: 8 is cali.attribute.name, 10 cali.attribute.prop, 1 to 7 the types
    name_of = {"mpi.rank": 1}
    attributes = {
        alias: node(8, name, node(10, 65, name_of.get(alias, 5)))
        for alias, name in COLUMNS.items()
    }
    region = node(8, "region", node(10, 276, 3))
    places = {(): None}
    for values, callpath in caliper_rows(ranks):
        for i in range(1, len(callpath) + 1):
            if callpath[:i] not in places:
                places[callpath[:i]] = node(region, callpath[i - 1], places[callpath[: i - 1]])
        known = {attributes[x]: y for x, y in values.items() if y is not None}
        ref = "" if places[callpath] is None else f",ref={places[callpath]}"
        lines.append(
            f"__rec=ctx{ref},attr={'='.join(map(str, known))},"
            f"data={'='.join(map(repr, known.values()))}"
        )
    known = {"mpi.world.size": len(ranks), **metadata}
    refs = [node(node(8, name, node(10, 1612, 3)), value) for name, value in known.items()]
    lines.append(f"__rec=globals,ref={'='.join(map(str, refs))}")
    path.write_text("\n".join(lines) + "\n")
    return path


class FakeCubex(FakeParser):
    """`CubexParser` of pycubexr, of the files that were written here."""

    def __init__(self, path):
        self.times, self.processes, self.metrics = WRITTEN[path]
        super().__init__(path)


WRITTEN = {}  # times, processes and metrics by file
METRICS = (("visits", "UINT64", "occ"), ("time", "DOUBLE", "sec"))
BYTES = (("bytes_sent", "UINT64", "bytes"), ("bytes_received", "UINT64", "bytes"))


def scorep(path, ranks, *, metrics=(*METRICS, *BYTES), scale=1.0, host="node01"):
    """Write `profile.cubex`."""
    paths = list(dict.fromkeys(x for of_rank in ranks for x in of_rank))
    place = {x: i for i, x in enumerate(paths)}
    paths.sort(key=lambda x: [place[x[:i]] for i in range(1, len(x) + 1)])  # depth first
    times, values = {}, {name: [] for name, _, _ in metrics}
    for callpath in paths:
        every = [of_rank.get(callpath, Done(0.0, visits=0)) for of_rank in ranks]
        times["->".join(callpath)] = [x.time for x in every]
        of_path = {
            "visits": [x.visits for x in every],
            "time": [x.time * scale for x in every],
            "bytes_sent": [x.scorep[0] for x in every],
            "bytes_received": [x.scorep[1] for x in every],
        }
        for name, of_metric in values.items():
            of_metric.append(of_path[name])
    named = [(name, unit, kind) for name, kind, unit in metrics]
    WRITTEN[str(path)] = (times, len(ranks), named)
    return write_cubex(
        path, times, processes=len(ranks), metrics=metrics, values=values, host=host
    )


def talp(path, ranks, *, processes=None, **others):
    """Write what --talp-output-file=talp.json gives: the whole run and the region `steps`.

    `processes` is how many are told one by one, with --talp-summary=all.
    """
    p = len(ranks)
    regions, each = {}, {}
    for name, inside in (("Global", ()), ("steps", ("main", "steps"))):
        useful, mpi = (
            [
                sum(
                    done.time
                    for callpath, done in of_rank.items()
                    if callpath[: len(inside)] == inside
                    and callpath[-1].startswith("MPI_") == is_mpi
                )
                for of_rank in ranks
            ]
            for is_mpi in (False, True)
        )
        elapsed = max(x + y for x, y in zip(useful, mpi, strict=True))
        each[name] = [
            {
                "rank": i,
                "hostname": "node01",
                "elapsedTime": round(elapsed * SECOND),
                "usefulTime": round(x * SECOND),
            }
            for i, x in enumerate(useful[:processes])
        ]
        mean, most = sum(useful) / p, max(useful)
        regions[name] = {
            "numCpus": p,
            "numMpiRanks": p,
            "numMeasurements": 1,
            "numMpiCalls": 100 * p,
            "elapsedTime": round(elapsed * SECOND),
            "usefulTime": round(sum(useful) * SECOND),
            "mpiTime": round(sum(mpi) * SECOND),
            "mpiParallelEfficiency": mean / elapsed,
            "mpiLoadBalance": mean / most,
        } | others
    head = {"dlbVersion": "3.6.0", "resources": {"numCpus": p, "numMpiRanks": p}}
    document = head | {"Application": regions}
    if processes is not None:
        document["Process"] = each
    path.write_text(json.dumps(document))
    return path
