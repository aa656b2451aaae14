"""Valid documents of parcast's own formats, as strategies of Hypothesis: bytes that are read.

Each is small, as a mutation of a small document reaches as far into a reader as one of a large.
"""

import json

from hypothesis import strategies as st

NAMES = ("main", "solve", "main->solve", "T3E", "a b", "größe", "x,y")
PROCESSORS = (1, 2, 3, 4, 8, 16, 64, 100, 4096)
SIZES = (10, 100, 250.5, 1e6)

seconds = st.sampled_from((0.001, 0.5, 1.25, 8.0, 41.5, 3600.0, 1e5))
names = st.sampled_from(NAMES)


def several(values, least=1, most=4):
    """Some of `values`, each once, in their order."""
    chosen = st.lists(st.sampled_from(values), min_size=least, max_size=most, unique=True)
    return chosen.map(lambda x: sorted(x, key=values.index))


def lines(rows):
    return "".join(f"{row}\n" for row in rows).encode()


def cells(rows, separator=","):
    """Rows of cells as a table; cells with commas or quotation marks in quotation marks."""
    quoted = ([f'"{x}"' if "," in str(x) else str(x) for x in row] for row in rows)
    return lines(separator.join(row) for row in quoted)


@st.composite
def timings(draw, quantity=None):
    """A table of measurements, or of speedups, as CSV."""
    unit = quantity or draw(st.sampled_from(("time_s", "time_ms", "time_us")))
    axes = draw(several(("n", "d"), least=0, most=2))
    labels = draw(several(("machine", "callpath", "repetition"), least=0, most=2))
    is_pair = quantity is None and draw(st.integers(0, 5)) == 0
    rows = [["p", *axes, *labels, *(("metric", "value") if is_pair else (unit,))]]
    series = draw(several(NAMES, most=2))
    for p in draw(several(PROCESSORS, least=3, most=6)):
        at = [100 if axis == "n" else 1 for axis in axes]
        for name in series if {"machine", "callpath"} & {*labels} else (1, 2):
            rows.append([p, *at, *(1 if x == "repetition" else name for x in labels)])
            rows[-1] += ["time_s"] if is_pair else []
            rows[-1].append(round(draw(seconds) * (1 + 1 / p), 6))
    comment = draw(st.sampled_from((b"", b"# made up\n", b"\xef\xbb\xbf")))
    return comment + cells(rows)


TITLES_OF_P = ("ranks", "MPI ranks", "Number of cores", "nodes", "nGPU", "threads")
TITLES_OF_TIME = ("wall [ms]", "Elapsed (min)", "time/s", "t_sec", "runtime", "SYPD", "images/s")
IN_CELLS = ("{} s", "1m{}s", "{} \u00b5s")  # where the title has no unit
FAILED = ("OOM", "-", "", "timeout")


@st.composite
def tables(draw):
    """A table as people have it: other titles, separators, cells and encodings."""
    separator = draw(st.sampled_from((",", ";", "\t", "|", "   ")))
    title = draw(st.sampled_from(TITLES_OF_TIME))
    mark = "." if separator == "," else draw(st.sampled_from((".", ".", ",")))
    form = draw(st.sampled_from(IN_CELLS)) if (title, mark) == ("runtime", ".") else "{}"
    form = (
        draw(st.sampled_from((form, f"{form}\u00b10.5"))) if mark == "." and form == "{}" else form
    )
    beside = draw(st.sampled_from(((), ("efficiency",), ("std",))))
    rows = [[draw(st.sampled_from(TITLES_OF_P)), title, *beside]]
    for p in draw(several(PROCESSORS, least=3, most=6)):
        number = f"{draw(seconds) + 0.01:.2f}".replace(".", mark)
        rows.append([p, form.format(number), *(1 for _ in beside)])
    is_drawn = separator == "   "
    rows.append(
        [7, draw(st.sampled_from(FAILED[:2] if is_drawn else FAILED)), *(1 for _ in beside)]
    )
    text = cells(rows, separator).decode()
    if separator == "|" and draw(st.booleans()):
        head, _, below = text.partition("\n")
        text = f"{head}\n|---|---|\n{below}"
    above = draw(st.sampled_from(("", "# of last week\n")))
    if separator == ";":
        above = draw(st.sampled_from((above, "sep=;\n")))
    return (above + text).encode(draw(st.sampled_from(("utf-8", "utf-8", "utf-8", "utf-16"))))


@st.composite
def counts(draw):
    """A table of what a program was counted to do."""
    titles = ["p", "compute_s", *draw(several(("busiest_s", "messages", "in_turn"), 0))]
    titles += ["bytes"] if "messages" in titles else []
    calls = draw(several(("allreduce", "broadcast"), 0))
    titles += [f"{x}_{name}" for name in calls for x in ("calls", "bytes")]
    rows = [titles]
    for p in draw(several(PROCESSORS, least=2)):
        of_rank = {"p": p, "compute_s": 8.0, "busiest_s": 8.0 * (p + 1) / (2 * p)}
        rows.append([of_rank.get(title, p - 1) for title in titles])
    return cells(rows)


@st.composite
def distributions(draw):
    """Measured times, one on each line."""
    return b"# seconds\n" + lines(draw(st.lists(seconds, min_size=1, max_size=6)))


@st.composite
def profiles(draw):
    """What `parcast.region` writes: a line of JSON for each rank of some runs."""
    kinds = draw(several(("compute", "halo", "reduce", "write"), least=1))
    records = []
    for run, p in enumerate(draw(several((1, 2, 3), least=1))):
        n = draw(st.sampled_from(SIZES))
        for rank in range(p):
            regions = [
                {
                    "name": kind.upper(),
                    "kind": kind,
                    "entries": 20,
                    "wall_s": draw(seconds) * 1e-4,
                    "processor_s": 1e-4 if kind == "compute" else 0.0,
                    "squares_s2": 1e-9,
                    "iterations": 20.0,
                    "calls": 20.0,
                    "volume_B": 0.0 if kind == "compute" else 64000.0,
                    "counts": {},
                }
                for kind in kinds
            ]
            records.append(
                {
                    "schema": "parcast/profile/1",
                    "parcast": "0.1.0",
                    "program": "stencil",
                    "host": "node",
                    "rank": rank,
                    "p": p,
                    "begun": 1.79e9 + 100 * run,
                    "span_s": 50.0,
                    "entry_s": 1e-6,
                    "other_threads": 0,
                    "parameters": {"n": n},
                    "regions": regions,
                }
            )
    return lines(map(json.dumps, records))


@st.composite
def traces(draw):
    ranks = draw(st.integers(1, 4))
    header = {
        "schema": "parcast/pipeline-trace/1",
        "program": draw(names),
        "schedule": draw(st.sampled_from(("adaptive", "source"))),
        "ranks": ranks,
        "pipelines": 1,
        "fan_in": 2,
        "items": draw(st.sampled_from((None, 8))),
        "hosts": ["vm"] * ranks,
        "cores": 2,
        "clock": {"offset_s": [0.0] * ranks, "residual_s": [1e-6] * ranks},
        "seconds": 9.0,
        "started": "2026-11-22T22:48:47+00:00",
        "parcast": "0.1.0",
    }
    span = {"start": 0.5, "end": 1.5}
    items = {"first": 0, "stop": 4}
    events = [{"event": "fetch", "rank": 0, "items": 8} | span]
    task = {"event": "task", "processor": 0.5} | span | items
    events += [task | {"rank": rank} for rank in range(ranks)]
    sent = {"source": ranks - 1, "target": 0, "sent": 1.5, "received": 2.0, "bytes": 100}
    events.append({"event": "message"} | sent | items)
    merge = {"rank": 0, "start": 2.0, "end": 2.5, "processor": 0.25, "inputs": 2}
    events.append({"event": "merge"} | merge | items)
    return lines(map(json.dumps, [header, *events[: draw(st.integers(0, len(events)))]]))


def keys(table, chosen):
    return [f"[{table}]", *(f"{key} = {value}" for key, value in chosen.items())] if chosen else []


def some_of(draw, amounts, needed=()):
    """Some keys of a table, those needed among them, each with one of its values."""
    chosen = (*needed, *draw(several(tuple(amounts), 0, 5)))
    return {x: draw(st.sampled_from(amounts[x])) for x in dict.fromkeys(chosen)}


MACHINE = {
    "compute": {"rate": ('"120 Mflop/s"', '"3 Gflop/s +- 10%"', '"1e9 flop/s * p^0.1"')},
    "network": {
        "latency": ('"150 us"', '"1.3 us + 0.4 us*log2(p)"'),
        "bandwidth": ('"27 MB/s"', '"12.5 GB/s +- 3%"'),
        "saturation": ('"120 MB/s"', '"400 GB/s"'),
    },
    "storage": {
        "servers": ("1", "64"),
        "bandwidth": ('"10 MB/s"', '"5 GB/s"'),
        "latency": ('"2 ms"', '"0 s"'),
    },
    "price": {"processor_hour": ("0.05", "1")},
    "primitives.reduce": {"startup": ('"1.2 us*log2(p)"',), "bandwidth": ('"2 GB/s"',)},
}


@st.composite
def machines(draw):
    processors = draw(st.sampled_from(PROCESSORS))
    text = ['name = "cluster"', 'source = "made up"', f"processors = {processors}"]
    for table, amounts in MACHINE.items():
        needed = amounts if table in {"compute", "network", "storage"} else ()
        text += keys(table, some_of(draw, amounts, tuple(needed)))
    return lines(text)


PHASES = {
    "spmd": {
        "cycles": ("40", '"2*n"'),
        "bursts_per_io": ("5", "10"),
        "compute.parallel": ('"830 Mflop"', '"19 flop * (n - 2)^2"', '"119 s +- 5%"'),
        "compute.serial": ('"10 Mflop"', '"0.2 s"'),
        "communication.messages": ('"6*sqrt(p)"', '"min(2, p - 1) + ceil(log2(p))"'),
        "communication.volume": ('"1.4 MB * (p/4)^(-1/6)"', '"8 B * n * p if p < 8 else 1 MB"'),
        "io.kind": ('"synchronous"', '"striped"'),
        "io.volume": ('"10 MB"', '"8 B * n * (n - 2)"'),
    },
    "amdahl": {"t1": ('"80 s"',), "serial": ("0.25", '"5%"')},
    "gauss": {"exchange": ('"pivot"', '"rows"')},
    "matmul": {"kappa": ("1", "0"), "beta": ('"8 B * (p - 1) / (p + 1)"',)},
    "sample_sort": {"cycles": ("1", "3")},
    "pipeline": {"items": ('"n"', "64"), "task": ('"0.15 s"',), "message": ('"23720 B"',)},
}
NEEDED = {
    "spmd": tuple(key for key in PHASES["spmd"] if "." in key),
    "amdahl": ("t1", "serial"),
    "pipeline": ("items", "task"),
}


@st.composite
def programs(draw):
    """A program as TOML: one phase, or two of other laws."""
    text = ['name = "solver"', 'source = "counted"']
    for law in draw(several(tuple(PHASES), most=2)):
        amounts = PHASES[law]
        chosen = some_of(draw, amounts, NEEDED.get(law, ()))
        text += ["[[phase]]", f'law = "{law}"', *(f"{key} = {x}" for key, x in chosen.items())]
    return lines(text)


COSTS = {
    "clients": {"send_startup": ('"40 us"',), "bandwidth": ('"40 MB/s"',), "run": ('"5 us"',)},
    "servers": {
        "cache": ('"64 MiB"',),
        "cache_rate": ('"60 MB/s"',),
        "partition": ('"16 KiB"',),
        "through_cache": ("true", "false"),
        "interference": ("0.5",),
    },
    "messages": {"packet": ('"256 B"',), "eager_limit": ('"4096 B"',), "rest": ('"1 us"',)},
}


@st.composite
def costs(draw):
    """Costs of array I/O as TOML."""
    tables = {table: some_of(draw, amounts) for table, amounts in COSTS.items()}
    tables["servers"] = {"write_rate": '"2.23 MB/s"'} | tables["servers"]
    text = [line for table, chosen in tables.items() for line in keys(table, chosen)]
    return lines(['name = "SP2"', *text])


TEXTS = (
    "Parallel programs scale until they do not.",
    "Größe &amp; Last — “quoted” &#8212; x &lt; y\ttab",
    "line one\nline two\n\nparagraph",
)
texts = st.sampled_from(TEXTS)


@st.composite
def documents(draw):
    """A file of documents: text, JSON lines, HTML or XML."""
    some = draw(st.lists(texts, min_size=1, max_size=3))
    form = draw(st.sampled_from(("text", "jsonl", "html", "xml", "sgml")))
    if form == "text":
        return "\n".join(some).encode()
    if form == "jsonl":
        return lines(json.dumps({"id": f"d{i}", "text": x}) for i, x in enumerate(some))
    bodies = [f"<title>t{i}</title><p class='a'>{x}</p>" for i, x in enumerate(some)]
    if form == "html":
        return f"<!DOCTYPE html><html><body>{bodies[0]}<!-- note --></body></html>".encode()
    if form == "xml":
        inside = "".join(f"<doc id='{i}'>{x}</doc>" for i, x in enumerate(bodies))
        return f"<?xml version='1.0' encoding='utf-8'?><docs>{inside}</docs>".encode()
    return lines(f"<DOC>\n<DOCNO>d{i}</DOCNO>\n{x}\n</DOC>" for i, x in enumerate(bodies))
