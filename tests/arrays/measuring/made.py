"""Costs of array I/O on a machine where all of them are known."""

from parcast.arrays.measuring.disk_costs import (
    FEW,
    LONGER,
    SEVERAL,
    SMALL,
    SUBCHUNK,
    Access,
    Files,
)
from parcast.arrays.measuring.interpreting import figures_of
from parcast.arrays.measuring.launches import Observed
from parcast.arrays.measuring.message_costs import Cycle, sizes_for
from parcast.arrays.measuring.result import MeasuredCosts
from parcast.arrays.measuring.turns import Turns, kinds_of_turns
from parcast.arrays.store.writing import WRITE_OUT

SEND, TAKE, REST, LONGEST = 5e-6, 15e-6, 40e-6, 1e-3
RATE, R, R_MEM, R_READ = 4e9, 2e8, 2e9, 3e9
CLIENTS, LARGE = 4, 64 << 20


def access(files):
    """What files take on a machine of known costs."""
    copying = files.number * files.size / R_MEM
    size = files.number * files.size
    waited = (size - R * copying) / R if size > WRITE_OUT else size / R
    opening = (4e-5 + 2e-5 * files.dimensions) * files.number
    synced = files.subchunks * (files.subchunk / R + 2e-3) if files.is_sync else 0.0
    encode = 1e-10 * size
    return Access(
        begin=3e-4 + 5e-5 * files.number,
        write=copying + opening + encode + synced,
        encode=encode,
        flush=0.0 if files.is_sync else waited,
        commit=2e-4 + 2e-5 * files.number,
        catalogue=1e-4 + 1e-5 * files.number,
        read=2e-4 + size / R_READ + 3e-5 * files.number,
    )


def rest_time(waited):
    return (REST + min(0.4 * waited, LONGEST)) / 2


def turns_of(files):
    """Exchanging and writing where a cycle between writes takes what the law says."""
    number = files.number * files.subchunks
    encode = 1e-10 * files.subchunk
    write = files.subchunk / R_MEM + encode + (1.2e-4 if files.number > 1 else 0.0)
    own = CLIENTS * (SEND + TAKE) + files.subchunk / RATE
    cycle = own
    for _ in range(50):  # the longer it lasts, the later clients notice
        handling = SEND + TAKE + rest_time(write + cycle)
        receive = TAKE + files.subchunk // CLIENTS / RATE
        late = max(handling - (CLIENTS - 1) * SEND, handling - (CLIENTS - 1) * receive, 0.0)
        cycle = own + (late + rest_time(late) if late else 0.0)
    return Turns(
        files=files,
        cycles=0.0,
        writes=number * write,
        cycles_in_turn=number * cycle,
        writes_in_turn=number * write,
        both=number * (write + 0.25 * own),
        reads_in_turn=number * (files.subchunk / R_READ / 0.5 + CLIENTS * SEND),
        encode=number * encode,
    )


def observed(rounds=5):
    # C_1 = 2*(send + take) + 2*t_rest(C_1/2) with t_rest(w) = (rest + 0.4*w)/2
    pair = (2 * (SEND + TAKE) + REST) / (1 - 0.2)
    cycles = []
    for among, n in (("pair", 1), ("server", CLIENTS), ("all", CLIENTS)):
        for size in sizes_for(n):
            time = pair + (n - 1) * (SEND + TAKE) + n * size / RATE
            cycles.append(Cycle(among=among, clients=n, size=size, times=[time] * rounds))
    kinds = [
        Files(number=1, size=SMALL, subchunk=SMALL),
        Files(number=1, size=LARGE, subchunk=SUBCHUNK),
        Files(number=1, size=SUBCHUNK, subchunk=SUBCHUNK),
        Files(number=1, size=8 * SMALL, subchunk=SMALL, is_sync=True),
        Files(number=1, size=4 * SUBCHUNK, subchunk=SUBCHUNK, is_sync=True),
        Files(number=FEW, size=SMALL, subchunk=SMALL),
        Files(number=SEVERAL, size=SMALL, subchunk=SMALL),
        Files(number=SEVERAL, size=SMALL, subchunk=SMALL, dimensions=1),
        Files(number=FEW, size=LONGER, subchunk=LONGER),
        Files(number=SEVERAL, size=LONGER, subchunk=LONGER),
    ]
    return Observed(
        clients=CLIENTS,
        servers=1,
        calls=[(5e-6, 15e-6, 1e-6)] * rounds,
        pauses={0.0: [pair] * rounds, 0.01: [pair + LONGEST / 2] * rounds},
        eager_limit=8192,
        cycles=cycles,
        files=[(kind, [access(kind)] * rounds) for kind in kinds],
        turns=[turns_of(kind) for kind in kinds_of_turns(kinds[1])] * rounds,
    )


def measured_costs():
    """Give what is measured there."""
    figures = {figure.key: figure for figure in figures_of(observed())}
    return MeasuredCosts(
        name='a "new" machine',
        clients=CLIENTS,
        servers=1,
        folder="/scratch",
        figures=tuple(figures.values()),
        cores=2,
        mpi="MPICH 5",
        date="2026-01-31",
    )
