"""`fitting.held_out`: the error of a law at counts that were left out, as files keep it."""

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.fitting.fit import fit
from parcast.prediction.predict import predict

COUNTS = [1.0, 2, 4, 8, 16, 32]
AMDAHL = {"law": "amdahl", "t1": "90 s", "serial": "4%"}


def fitted(times, counts=COUNTS, phase=AMDAHL, **options):
    return fit(Program(phase=[phase]), {"p": counts, "time": times}, interval=False, **options)


def seen(found):
    [own] = found.program.law_error
    return own


def test_a_law_that_holds_exactly_is_allowed_the_least():
    times = [2.0 + 98.0 / p for p in COUNTS]
    found = fitted(times)
    assert seen(found).error == found.law_error == 0.05
    assert (seen(found).law, seen(found).platform) == ("amdahl", "one node")
    assert (seen(found).least, seen(found).largest) == (1, 32)


def test_the_error_is_the_worst_of_counts_predicted_from_the_others():
    times = [100.0 / p + 0.4 * p for p in COUNTS]  # a law that it is not
    found = fitted(times)
    worst = 0.0
    for left in COUNTS:
        kept = [p for p in COUNTS if p != left]
        less = fitted([times[COUNTS.index(p)] for p in kept], kept).program
        told = float(predict(less, Machine(), p=[int(left)], interval=False).time[0])
        worst = max(worst, abs(np.log(told / times[COUNTS.index(left)])))
    assert seen(found).error == pytest.approx(np.expm1(worst), rel=0.05)
    assert worst > 0.2


def test_a_prediction_allows_for_it_in_place_of_what_is_known_of_the_law():
    times = [(2.0 + 98.0 / p) * 1.1 ** (-1) ** i for i, p in enumerate(COUNTS)]
    found = fitted(times)
    told = predict(found.program, Machine(), p=[16, 32, 64, 128])
    h = found.law_error
    assert told.law_error == pytest.approx(
        [h, h, (1 + h) * np.exp(0.2) - 1, (1 + h) * np.exp(0.4) - 1]
    )
    assert not any("was not measured" in text for text in told.warnings)
    [said] = told.law_errors
    assert said.is_own
    assert (said.least, said.most) == pytest.approx((told.law_error[0], told.law_error[-1]))
    plain = predict(Program(phase=[AMDAHL]), Machine(), p=[16])
    assert plain.law_error[0] > 0.4


@pytest.mark.parametrize(
    ("counts", "why"),
    [([1.0, 2], "each of two runs is needed"), ([1.0, 2, 2, 4][:3], "repetitions are one run")],
)
def test_too_few_counts_leave_the_error_of_the_law_in_general(counts, why):
    found = fitted([100.0 / p + 1 for p in counts], counts)
    assert found.program.law_error == (), why
    assert found.law_error is None
    assert "was not measured" in str(predict(found.program, Machine(), p=[4]).warnings)


def test_a_count_without_which_the_others_determine_less_is_not_asked():
    """What two processors pay alone only their run tells, so two counts can be left out."""
    phase = {"law": "spmd", "compute": {"parallel": "9 s"}}
    counts, times = [1.0, 2, 4], [11.0, 5.2, 2.4]
    assert fitted(times, counts, phase=phase).law_error is not None
    alone = {**phase, "communication": {"transfer": "1 s * max(3 - p, 1e-9)"}}
    free = ["compute.parallel", "communication.transfer"]
    found = fitted([11.0, 6.2, 2.4], counts, phase=alone, free=free)
    assert found.law_error is None


def test_a_second_fit_replaces_what_the_first_saw_on_this_kind_of_platform_only():
    exact = fitted([2.0 + 98.0 / p for p in COUNTS]).program
    elsewhere = exact.law_error[0].model_copy(update={"platform": "a bus", "error": 0.3})
    program = exact.model_copy(update={"law_error": (elsewhere,)})
    again = fit(program, {"p": COUNTS, "time": [200.0 / p + 0.4 * p for p in COUNTS]})
    assert [x.platform for x in again.program.law_error] == ["a bus", "one node"]
    assert again.program.law_error[0].error == 0.3
    assert again.program.law_error[1].error > 0.2


def test_every_law_of_a_program_gets_what_all_were_wrong_by():
    phases = [
        {"name": "a", **AMDAHL},
        {"name": "b", "law": "linear", "shared": "5 s", "growing": "1 ms"},
    ]
    program = Program(phase=phases)
    times = program.times(Machine(), {"p": np.array(COUNTS)}).time
    found = fit(program, {"p": COUNTS, "time": times}, free=["a.t1", "b.shared"], interval=False)
    assert [x.law for x in found.program.law_error] == ["amdahl", "linear"]
    told = predict(found.program, Machine(), p=[8])
    assert told.law_error == pytest.approx([found.law_error])
