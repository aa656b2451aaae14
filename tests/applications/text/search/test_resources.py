"""`parcast.applications.text.search.resources` by hand, and `parcast plan search`."""

import json
from dataclasses import replace

import numpy as np
import pytest

from parcast.applications.text.search.resources import SearchCosts, search_figures
from parcast.applications.text.search.sample import sampled
from parcast.errors import FileProblems, FitFailed

COSTS = SearchCosts(
    document=1000.0,
    startup=1.0,
    extract=1e-3,
    merge=1e-3,
    write=1e-4,
    reading=1e-5,
    asking=1e-6,
    postings=0.1,
    vocabulary=1.0,
    growth=0.5,
    held=(1.0, 0.0),  # 100 B of index for 1000 B of text
    filed=(0.5, 2.0),
    base=1e6,
    copies=3.0,
)
WORDS = ["grey", "old", "heavy", "new", "stone", "river", "garden", "engine", "paper", "cloud"]


def test_resources_are_those_computed_by_hand():
    found = search_figures(COSTS, [1, 2], documents=4, queries=10, bandwidth=1e3)
    assert found.extract.tolist() == pytest.approx([1 + 4.0, 1 + 2.0])
    # one rank: two merges to 200 B and one to 400 B; of two ranks each has one, then the last
    assert found.merge.tolist() == pytest.approx([0.8, 0.2 + 0.4])
    assert found.network.tolist() == pytest.approx([0, 0.2])
    assert found.disk.tolist() == pytest.approx([0.5 * 400 + 2 * np.sqrt(4000)] * 2)
    assert found.write.tolist() == pytest.approx((1e-4 * found.disk).tolist())
    assert found.query.tolist() == pytest.approx([3e-5 * 4000, 3e-5 * 2000])
    assert found.memory.tolist() == pytest.approx([1e6 + 1200] * 2)
    # every document is a batch: 2 of 4 at the lowest level, then 1 of 2, half of them elsewhere
    assert found.sent.tolist() == pytest.approx([0, (2 * 100 + 200) / 2])
    assert found.limiting() == ["extract", "extract"]
    assert search_figures(COSTS, [1], documents=4, queries=0).query.tolist() == [0]


def test_short_documents_are_sent_in_batches():
    short = replace(COSTS, extract=1e-6)  # 1 ms a document, so that 64 are a batch
    assert search_figures(short, [2], documents=64).sent.tolist() == [0]
    assert search_figures(COSTS, [2], documents=64).sent[0] > 0


def test_more_ranks_save_time_and_none_of_the_memory():
    p = [1, 2, 3, 8, 64]
    found = search_figures(COSTS, p, documents=10_000)
    assert np.all(np.diff(found.time) < 0)
    assert len(set(found.memory.tolist())) == 1
    each = [search_figures(COSTS, [x], documents=10_000).time[0] for x in p]
    assert each == pytest.approx(found.time.tolist())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sixteen texts whose phrases repeat."""
    place = tmp_path_factory.mktemp("sample")
    random = np.random.default_rng(3)
    for i in range(16):
        pairs = random.choice(WORDS, (60, 3))
        text = " ".join(f"The {a} {b} is near the {c}." for a, b, c in pairs)
        (place / f"{i:02d}.txt").write_text(text)
    return place


def test_a_sample_tells_the_constants(folder):
    found = sampled(sorted(map(str, folder.iterdir())))
    costs = found.costs
    assert found.documents == 16
    assert found.text == sum(path.stat().st_size for path in folder.iterdir())
    assert 0 < costs.growth < 1
    assert costs.extract > 0
    assert costs.copies > 1
    assert costs.index(found.text) > costs.file(found.text) > 0
    with pytest.raises(FitFailed, match="The sample has 3 files; 16 are needed"):
        sampled(sorted(map(str, folder.iterdir()))[:3])
    with pytest.raises(FileProblems, match="must exist, but is not in"):
        sampled([str(folder / "nowhere")])


def test_the_command_plans_or_says_that_nothing_fits(parcast, folder):
    told = parcast(*f"plan search {folder} --documents 1000 --ranks 1..4x2 --json".split())
    assert told.status == 0
    rows = json.loads(told.out)["rows"]
    assert sorted(row["ranks"] for row in rows) == [1, 2, 4]
    assert {"extract", "merge", "write", "query", "memory", "sent", "limited by"} <= rows[0].keys()
    told = parcast(*f"plan search {folder} --documents 1000 --ranks 1 --within 1ms".split())
    assert told.status == 1
    assert "Allow more, or more ranks." in told.out
