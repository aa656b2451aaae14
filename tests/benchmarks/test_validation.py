"""`benchmarks/validation.py`: its lines, and the allowances it draws from a campaign."""

import importlib.util
import sys
from pathlib import Path

import pytest

from parcast.kernels.trials.subject import validate
from tests.kernels.trials.made import FakeRanks, lawful

PATH = Path(__file__).parents[2] / "benchmarks" / "validation.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("validation_benchmark", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_allowance_is_what_errors_ask_for(benchmark):
    exact = validate("sort", launcher=FakeRanks())
    assert benchmark.allowances(exact)["sort"] == pytest.approx(0, abs=1e-6)
    ranks = FakeRanks(time=lambda n, p: lawful(n, p) * max(n / 4e5, 1) ** 0.1)
    grown = validate("sort", launcher=ranks)
    assert benchmark.allowances(grown)["sort"] ** 0.5 > 0.15


def test_coverage_by_another_allowance_is_that_of_the_intervals(benchmark):
    told = validate("sort", launcher=FakeRanks(noise=0.05))
    assert benchmark.coverage_with(told, benchmark.SIZE_ALLOWANCE) == told.coverage
    shares = [benchmark.coverage_with(told, a) for a in (0.0, 0.05, 0.5)]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_it_prints_a_table_and_whether_the_aims_are_met(benchmark, capsys, monkeypatch, tmp_path):
    def validated(name, **options):
        return validate(name, launcher=FakeRanks(noise=0.01), **options)

    monkeypatch.setattr(benchmark, "validate", validated)
    document = tmp_path / "all.json"
    monkeypatch.setattr(sys, "argv", ["validation.py", "sort", "gauss", "-o", str(document)])
    assert benchmark.main() in (0, 1)
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said if line.startswith(("sort", "gauss", "all "))][
        :3
    ] == [*("sort", "gauss", "all")]
    assert said[-1] in ("aims met", "aims not met")
    assert document.exists()


def test_a_program_that_fails_is_told(benchmark, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["validation.py", "bubble"])
    assert benchmark.main() == 4
    assert "bubble       failed: name must be a program" in capsys.readouterr().out
