"""`parcast characterise`: the table, the files it writes, and the way it ends."""

import json

from tests.conftest import ROOT

PROFILE = ROOT / "examples" / "stencil" / "runs.jsonl"


def test_small_regions_show_their_condition_number(parcast, tmp_path):
    place = tmp_path / "cells.jsonl"
    lines = []
    for i, (n, wet, dry) in enumerate([(10, 10, 90), (20, 80, 320), (30, 270, 630)]):
        record = json.loads(PROFILE.read_text().splitlines()[0])
        total = record["regions"][0] | {
            "name": "cells",
            "kind": "complex",
            "processor_s": wet * 3e-6 + dry * 1e-6,
            "counts": {"wet": wet, "dry": dry},
        }
        record |= {"begun": 1e9 + 1e3 * i, "p": 1, "parameters": {"n": n}, "regions": [total]}
        lines.append(json.dumps(record))
    place.write_text("\n".join(lines))
    said = parcast("characterise", place)
    assert "counts      condition number of cells" in said.out
    assert "cells wet" in said.out


def test_all_that_is_wrong_with_profiles_is_told(parcast, tmp_path):
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    one.write_text("{}\n")
    other.write_text("")
    said = parcast("characterise", one, other)
    assert said.status == 3
    assert said.err.startswith("parcast: 2 profiles: 2 problems\n")
    assert said.out == ""
