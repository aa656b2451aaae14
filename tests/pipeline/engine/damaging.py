"""Kill runs with a checkpoint, damage the checkpoint, and go on, as often as one likes.

``python -m tests.pipeline.engine.damaging --kills 100``: each time random files of the checkpoint
get a flipped bit, are cut or removed. What comes out must be the bytes of one rank, or a refusal
that says what to do, which is then done. The status is 1 where it is neither.
"""

import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import click

from parcast.mpi.find import find_mpi
from parcast.pipeline.engine.checkpoint import MANIFEST
from tests.conftest import ROOT, unmeasured

PROGRAM = Path(__file__).parent / "resuming.py"
CASES = ["text", "batches", "counts", "every", "pickled", "spilled"]
REFUSED = f"{MANIFEST}: 1 problem"
ADVICE = "Delete it to work on all items again."
SAID = "Results in the checkpoint were damaged or missing ("
MANIFESTS = 0.1  # how often the list is damaged, and not a result


@dataclass
class Found:
    """What came out."""

    kills: int = 0
    kinds: Counter = field(default_factory=Counter)
    wrong: list = field(default_factory=list)


def flipped(path, chance):
    """Flip one bit of a file."""
    content = bytearray(path.read_bytes())
    place = chance.randrange(8 * len(content))
    content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)


def cut(path, chance):
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(len(content))])


def removed(path, _):
    path.unlink()


def counted(kept):
    """Files of the results that count; a manifest names them."""
    if not (kept / MANIFEST).exists():
        return []
    nodes = json.loads((kept / MANIFEST).read_text())["nodes"]
    return [kept / f"{'-'.join(map(str, node))}.node" for *node, size, _ in nodes if size]


def damaged(kept, chance):
    """Damage one or two files of a checkpoint; give their names."""
    nodes = counted(kept)
    if nodes and chance.random() < MANIFESTS:
        chance.choice([flipped, cut])(kept / MANIFEST, chance)
        return [MANIFEST]
    chosen = chance.sample(nodes, min(len(nodes), chance.choice([1, 2])))
    for path in chosen:
        chance.choice([flipped, flipped, cut, removed])(path, chance)
    return [path.name for path in chosen]


def given(folder):
    """Everything that a run has written but for its checkpoint."""
    return {x.name: x.read_bytes() for x in folder.iterdir() if x.is_file()}


def least_ranks(case):
    return 2 if case == "spilled" else 1


def ran(folder, case, *, ranks, victim=0, after=-1.0):
    """Run a case in a folder, and kill a rank of it after a while."""
    mpi = find_mpi()
    command = [mpi.mpiexec, "-n", str(ranks), sys.executable, str(PROGRAM), case, "out.json"]
    return subprocess.run(
        [*command, str(victim), str(after)],
        cwd=folder,
        env=unmeasured() | mpi.environment(crowded=True) | {"PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def damaged_run(folder, case, expected, chance, found):
    """Kill a run once or twice with damage after it, let it end, and judge what it gives."""
    harmed, said = [], ""
    for _ in range(chance.choice([1, 2])):
        ranks = chance.randint(least_ranks(case), 3)
        after = chance.uniform(0.05, 0.25)
        done = ran(folder, case, ranks=ranks, victim=chance.randrange(ranks), after=after)
        said += done.stderr
        found.kills += done.returncode == 9
        if REFUSED in done.stderr:
            break
        harmed += damaged(folder / "kept", chance)
    done = ran(folder, case, ranks=chance.randint(least_ranks(case), 3))
    said += done.stderr
    kind = "worked on again" if SAID in said else "as it was"
    if REFUSED in done.stderr and ADVICE in done.stderr:
        kind = "refused"
        (folder / "kept" / MANIFEST).unlink()
        done = ran(folder, case, ranks=2)
    found.kinds[kind] += 1
    if done.returncode or given(folder) != expected:
        found.wrong.append((case, harmed, done.returncode, done.stderr[-1000:]))


def damaged_runs(kills, *, seed=0):
    """Damage runs until so many were killed."""
    chance, found = random.Random(seed), Found()
    expected = {}
    with tempfile.TemporaryDirectory(prefix="damaging-") as place:
        while found.kills < kills:
            case = chance.choice(CASES)
            if case not in expected:
                whole = Path(place, case)
                whole.mkdir()
                assert ran(whole, case, ranks=least_ranks(case)).returncode == 0
                expected[case] = given(whole)
            with tempfile.TemporaryDirectory(dir=place) as folder:
                damaged_run(Path(folder), case, expected[case], chance, found)
    return found


@click.command()
@click.option("--kills", default=100, show_default=True, help="How often a rank is killed.")
@click.option("--seed", default=0, show_default=True, help="Where to start.")
def main(kills, seed):
    """Say what came out."""
    found = damaged_runs(kills, seed=seed)
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.kinds.items())
    click.echo(
        f"{found.kills} kills, {found.kinds.total()} runs: {kinds}; {len(found.wrong)} wrong"
    )
    for wrong in found.wrong:
        click.echo(wrong)
    sys.exit(bool(found.wrong))


if __name__ == "__main__":
    main()
