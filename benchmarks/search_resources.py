"""How well `parcast plan search` predicts real indexes: constants from a sample, 4 and 8 times it.

    python benchmarks/search_resources.py FOLDER [SUFFIX] [FILES]

indexes files of FOLDER, shuffled: a sample of FILES (16), then 4 and 8 times as many others on one
and two ranks. The sample is measured before and after each run. Times are processor times of the
rank with most, errors are predicted / measured - 1.
"""

import random
import shutil
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from parcast.applications.text.features.extract import extract_features
from parcast.applications.text.search.resources import search_figures
from parcast.applications.text.search.sample import sampled
from parcast.mpi.payload import packed

LEAST, MOST = 1500, 12_000  # of a file [B]
PATIENCE = 600  # [s]


def main(folder, suffix="", files="16"):
    """Print an error for each run, and the medians."""
    size, errors = int(files), {}
    paths = [x for x in Path(folder).rglob(f"*{suffix}") if x.is_file()]
    paths = [x for x in paths if LEAST < x.stat().st_size < MOST]
    random.Random(7).shuffle(paths)
    with TemporaryDirectory() as place:
        texts = []
        for i, path in enumerate(paths[: 9 * size]):
            texts.append(shutil.copy(path, Path(place) / f"{i:05d}.txt"))
        sample, others = texts[:size], texts[size:]
        before = sampled(sample).costs
        for times, ranks in ((4, 1), (4, 2), (8, 1), (8, 2)):
            part, index = others[: times * size], Path(place) / "index.parquet"
            run = extract_features(part, outputs=[index], ranks=ranks, time_limit=PATIENCE)
            after = sampled(sample).costs
            text = sum(Path(x).stat().st_size for x in part)
            found = [
                search_figures(x, [ranks], documents=text / x.document) for x in (before, after)
            ]
            spent = [float((x.extract + x.merge)[0]) for x in found]
            told = {
                "time": (sum(spent) / 2, max(x.processor for x in run.run.ranks)),
                "index": (float(after.index(text)), packed(run.lexicon).size),
                "file": (float(found[1].disk[0]), index.stat().st_size),
                "phrases": (float(after.phrases(text)), len(run.lexicon)),
                "sent": (float(found[1].sent[0]), sum(x.sent for x in run.run.ranks)),
            }
            before = after
            for name, (predicted, measured) in told.items():
                if measured:
                    errors.setdefault(name, []).append(predicted / measured - 1)
                    print(f"{times}x, p = {ranks}: {name} {100 * errors[name][-1]:+.1f}%")
    for name, each in errors.items():
        sizes = [abs(x) for x in each]
        print(f"{name}: median {100 * median(sizes):.1f}%, worst {100 * max(sizes):.1f}%")


if __name__ == "__main__":
    main(*sys.argv[1:])
