"""`parcast.units`: published values, the laws of conversion, refusals word for word."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.units import (
    format_interval,
    format_quantity,
    percent,
    quantity,
    time_unit_factor,
)

DIMENSIONS = ["time", "size", "rate", "operations", "operation_rate", "count", "fraction"]
dimensions = st.sampled_from(DIMENSIONS)


@pytest.mark.parametrize(
    ("text", "dimension", "si"),
    [
        # SI Brochure, 9th ed. (2019): prefixes of table 7; min, h and d of table 8.
        ("1 s", "time", 1.0),
        ("3 ms", "time", 3e-3),
        ("150 us", "time", 150e-6),
        ("35 \u00b5s", "time", 35e-6),  # micro sign
        ("35 \u03bcs", "time", 35e-6),  # Greek letter mu
        ("2 min", "time", 120.0),
        ("1.5 h", "time", 5400.0),
        ("1 d", "time", 86400.0),
        # Slurm, sbatch(1): hours:minutes:seconds, days-hours, days-hours:minutes and both.
        ("02:00:00", "time", 7200.0),
        ("130:00:00", "time", 468000.0),
        ("1-02", "time", 93600.0),
        ("1-02:30", "time", 95400.0),
        (" 1-02:03:04.5 ", "time", 93784.5),
        ("10 kB", "size", 1e4),
        ("1 GB", "size", 1e9),
        ("1 EB", "size", 1e18),
        # IEC 80000-13:2008, clause 4: binary prefixes; 1 B = 8 bit.
        ("1 KiB", "size", 1024.0),
        ("1 MiB", "size", 1048576.0),
        ("1 EiB", "size", 1152921504606846976.0),
        ("8 bit", "size", 1.0),
        ("8 kbit", "size", 1e3),
        ("27 MB/s", "rate", 27e6),
        ("1 GiB/s", "rate", 1073741824.0),
        ("830 Mflop", "operations", 830e6),
        ("1 flop", "operations", 1.0),
        ("120 Mflop/s", "operation_rate", 120e6),
        ("64", "count", 64.0),
        (64, "count", 64.0),
        (np.int64(64), "count", 64.0),
        ("5 %", "fraction", 0.05),
        ("5%", "fraction", 0.05),
        ("0.05", "fraction", 0.05),
        (0.05, "fraction", 0.05),
        (np.float32(0.05), "fraction", 0.05),
        ("  -2.5e3 \tms ", "time", -2.5),
        ("+.5 s", "time", 0.5),
        ("5. s", "time", 5.0),
        ("1e-400000000000000000000 s", "time", 0.0),
    ],
)
def test_a_quantity_has_its_defined_si_value(text, dimension, si):
    assert quantity(text, dimension, name="x") == si


RATE = 'x must be a rate such as "12.5 GB/s", got'
TIME = 'x must be a time such as "150 us", got'
NO_TIME = "x must be a time with its unit, got"
NO_RATE = "x must be a rate with its unit, got"
SIZE = 'x must be a size such as "10 MB", got'
COUNT = "x must be a plain number such as 64, got"
FLOP = 'x must be a number of operations such as "830 Mflop", got'
FLOPS = 'x must be an operation rate such as "120 Mflop/s", got'
FRACTION = 'x must be a fraction such as "5%" or 0.05, got'
CLOCK = "Write hours, minutes and seconds, 02:00:00, or a unit, 2 h."
ALL_TIMES = "Write s, ms, us, ns, min, h or d."


@pytest.mark.parametrize(
    ("value", "dimension", "says"),
    [
        ("12.5 GB", "rate", f'{RATE} "12.5 GB", which is a size.'),
        ("12.5 GB/s", "size", f'{SIZE} "12.5 GB/s", which is a rate.'),
        ("3 s", "size", f'{SIZE} "3 s", which is a time.'),
        ("5%", "count", f'{COUNT} "5%", which is a fraction.'),
        ("1 Mflop", "operation_rate", f'{FLOPS} "1 Mflop", which is a number of operations.'),
        ("1 Mflop/s", "operations", f'{FLOP} "1 Mflop/s", which is an operation rate.'),
        (150, "time", f'{NO_TIME} 150, which has none. Write for example "150 s".'),
        ("150", "time", f'{NO_TIME} "150", which has none. Write for example "150 s".'),
        (7.5, "rate", f'{NO_RATE} 7.5, which has none. Write for example "7.5 B/s".'),
        ("3 fortnight", "time", f'{TIME} "3 fortnight", whose unit "fortnight" is not known. '
         + ALL_TIMES),
        ("4k", "count", f'{COUNT} "4k", whose unit "k" is not known. Write the number alone.'),
        ("1,000 s", "time", f'{TIME} "1,000 s", whose unit ",000 s" is not known. {ALL_TIMES}'),
        ("2:00", "time", f'{TIME} "2:00". {CLOCK}'),
        ("0:60:00", "time", f'{TIME} "0:60:00". {CLOCK}'),
        ("1-02:60", "time", f'{TIME} "1-02:60". {CLOCK}'),
        ("1-", "time", f'{TIME} "1-", whose unit "-" is not known. {ALL_TIMES}'),
        ("00:00:00", "size", f'{SIZE} "00:00:00", whose unit ":00:00" is not known. '
         "Write B, kB, MB, GB, TB, PB, EB, KiB, MiB, GiB, TiB, PiB, EiB, bit, kbit, Mbit, Gbit, "
         "Tbit, Pbit or Ebit."),
        ("9" * 30 + ":00:00", "time",
         f'x must be at most 1e+30 s, got "{"9" * 30}:00:00". Check its unit.'),
        ("5 of 9", "fraction", f'{FRACTION} "5 of 9", whose unit "of 9" is not known. Write %.'),
        ("fast", "time", f'{TIME} "fast", which does not begin with a number.'),
        ("", "time", f'{TIME} "", which does not begin with a number.'),
        ("nan s", "time", f'{TIME} "nan s", which does not begin with a number.'),
        ("inf", "count", f'{COUNT} "inf", which does not begin with a number.'),
        ("\u0663 s", "time", f'{TIME} "\u0663 s", which does not begin with a number.'),
        ("\x1b[31m", "time", f'{TIME} "\\x1b[31m", which does not begin with a number.'),
        ("1e999 s", "time", f'{TIME} "1e999 s", which is not a finite number.'),
        ("1e31 s", "time", 'x must be at most 1e+30 s, got "1e31 s". Check its unit.'),
        ("-1e22 GB", "size", 'x must be at most 1e+30 B, got "-1e22 GB". Check its unit.'),
        ("1e-31 B/s", "rate", 'x must be at least 1e-30 B/s, got "1e-31 B/s". Check its unit.'),
        ("1e99999999999999999999 s", "time",
         f'{TIME} "1e99999999999999999999 s", which is not a finite number.'),
        (math.inf, "count", f"{COUNT} inf, which is not a finite number."),
        (math.nan, "fraction", f"{FRACTION} nan, which is not a finite number."),
        (10**400, "count", f"{COUNT} 1{'0' * 59}..., which is not a finite number."),
        (True, "count", f"{COUNT} True, which is neither text nor a number."),
        (None, "size", f"{SIZE} None, which is neither text nor a number."),
        ([3], "count", f"{COUNT} [3], which is neither text nor a number."),
    ],
)  # fmt: skip
def test_a_wrong_quantity_is_refused_with_what_was_expected(value, dimension, says, refusal):
    assert refusal(ParameterError, quantity, value, dimension, name="x") == says


@pytest.mark.parametrize(
    ("unit", "dimension", "suggestion"),
    [
        ("Gbps", "rate", "GB/s or Gbit/s"),
        ("MBps", "rate", "MB/s"),
        ("mb/s", "rate", "MB/s or Mbit/s"),
        ("MB/S", "rate", "MB/s"),
        ("GBit/s", "rate", "Gbit/s"),
        ("Mbits per second", "rate", "Mbit/s"),
        ("megabytes/sec", "rate", "MB/s"),
        ("sec", "time", "s"),
        ("msec", "time", "ms"),
        ("usec", "time", "us"),
        ("minutes", "time", "min"),
        ("gb", "size", "GB or Gbit"),
        ("KB", "size", "kB"),
        ("gigabit", "size", "Gbit"),
        ("MFLOP", "operations", "Mflop"),
        ("GFLOPS", "operation_rate", "Gflop/s"),
        ("percent", "fraction", "%"),
    ],
)
def test_a_near_miss_gets_a_suggestion_and_no_guess(unit, dimension, suggestion):
    with pytest.raises(ParameterError) as caught:
        quantity(f"3 {unit}", dimension, name="x")
    says = f'"3 {unit}", whose unit "{unit}" is not known. Did you mean {suggestion}?'
    assert str(caught.value).endswith(says)


@given(st.text() | st.from_regex(r"[0-9.eE+-]{1,9} ?[a-zA-Z%/]{0,6}"), dimensions)
def test_any_text_is_a_finite_number_or_refused_in_one_line(text, dimension):
    says, si = "x must be a", 0.0
    try:
        si = quantity(text, dimension, name="x")
    except ParameterError as error:
        says = str(error)
    assert math.isfinite(si)
    assert says.startswith("x must be a")
    assert says.isprintable()


@pytest.mark.parametrize(
    ("header", "factor"),
    [
        ("time_s", 1.0),
        ("time_ms", 1e-3),
        ("time_us", 1e-6),
        ("time_ns", 1e-9),
        ("time_min", 60.0),
        ("time_h", 3600.0),
        ("time_d", 86400.0),
        ("wall_time_s", 1.0),
    ],
)
def test_a_column_name_ends_in_its_unit_of_time(header, factor):
    assert time_unit_factor(header) == factor


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("time_sec", "Did you mean time_s?"),
        ("time_seconds", "Did you mean time_s?"),
        ("time_MS", "Did you mean time_ms?"),
        ("time_\u00b5s", "Did you mean time_us?"),
        ("t_kB", "Write t_s, t_ms, t_us, t_ns, t_min, t_h or t_d."),
        ("t_", "Write t_s, t_ms, t_us, t_ns, t_min, t_h or t_d."),
        ("t", "Write t_s, t_ms, t_us, t_ns, t_min, t_h or t_d."),
        ("s", "Write s_s, s_ms, s_us, s_ns, s_min, s_h or s_d."),
    ],
)
def test_a_column_without_a_unit_of_time_is_refused(header, hint):
    with pytest.raises(ParameterError) as caught:
        time_unit_factor(header)
    assert str(caught.value) == f'{header} must end in a unit of time such as "_s". {hint}'


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (38.2, "time", "38.2 s"),
        (150e-6, "time", "150 us"),
        (3e-9, "time", "3 ns"),
        (1e-12, "time", "0.001 ns"),
        (0.0125, "time", "12.5 ms"),
        (0.99996, "time", "1 s"),  # not "1000 ms"
        (999.0, "time", "999 s"),
        (1003.0, "time", "16.7 min"),
        (10049.0, "time", "2.79 h"),  # rounded once: 10000 s would be 2.78 h
        (5e5, "time", "5.79 d"),
        (1e300, "time", "1.16e+295 d"),
        (-0.003, "time", "-3 ms"),
        (0.0, "time", "0 s"),
        (-0.0, "time", "0 s"),
        (math.inf, "time", "inf s"),
        (-math.inf, "size", "-inf B"),
        (math.nan, "rate", "nan B/s"),
        (1406280, "size", "1.41 MB"),
        (0.2, "size", "0.2 B"),
        (2.5e21, "size", "2500 EB"),
        (27e6, "rate", "27 MB/s"),
        (12.5e9, "rate", "12.5 GB/s"),
        (830e6, "operations", "830 Mflop"),
        (120e6, "operation_rate", "120 Mflop/s"),
        (64, "count", "64"),
        (12345, "count", "12300"),
        (12345678, "count", "1.23e+07"),
        (0.0534, "fraction", "5.34%"),
        (0.0, "fraction", "0%"),
    ],
)
def test_a_value_is_written_in_a_readable_unit(value, dimension, text):
    assert format_quantity(value, dimension) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.0, "less than 1%"),
        (0.0099, "less than 1%"),
        (0.01, "1%"),
        (0.567, "57%"),
        (9.99, "999%"),
        (10.0, "1000%"),
        (123.4, "12000%"),
        (1e30, "1e+32%"),
    ],
)
def test_a_share_in_a_sentence_is_never_nothing(fraction, text):
    assert percent(fraction) == text


@given(st.floats(-1e30, 1e30).filter(lambda x: x == 0 or abs(x) > 1e-30), dimensions)
def test_what_is_written_reads_back_as_it_was(value, dimension):
    text = format_quantity(value, dimension, digits=17)
    assert math.isclose(quantity(text, dimension, name="x"), value, rel_tol=1e-14, abs_tol=1e-300)


@pytest.mark.parametrize(
    ("value", "lower", "upper", "dimension", "text"),
    [
        (38.2413, 35.0172, 42.0987, "time", "38.2 s  (35.0 to 42.1 s)"),
        (38.2413, 31.7, 44.4, "time", "38 s  (32 to 44 s)"),
        (38.2413, 38.2, 38.3, "time", "38.241 s  (38.200 to 38.300 s)"),
        (523.0, 310.0, 790.0, "time", "520 s  (310 to 790 s)"),
        (0.9, 0.7, 1.1, "time", "900 ms  (700 to 1100 ms)"),
        (12.0, 10.0, 15.0, "count", "12.0  (10.0 to 15.0)"),
        (0.053, 0.041, 0.065, "fraction", "5.3%  (4.1 to 6.5%)"),
        (1.41e6, 1.2e6, 1.6e6, "size", "1.41 MB  (1.20 to 1.60 MB)"),
        (38.2413, 38.2413, 38.2413, "time", "38.2 s  (38.2 to 38.2 s)"),
        (523.0, 10.0, 1e5, "time", "500 s  (0 to 100000 s)"),  # keeps a digit of the value
        (
            1 / 3,
            1 / 3 - 1e-16,
            1 / 3 + 1e-16,
            "count",
            "0.333333333333  (0.333333333333 to 0.333333333333)",
        ),
        (0.0, 0.0, 0.0, "time", "0 s  (0 to 0 s)"),
        (3.0, -0.001, 5.0, "count", "3.0  (0.0 to 5.0)"),  # not "-0.0"
        (0.0, -1.0, 2.0, "time", "0.0 s  (-1.0 to 2.0 s)"),
        (-0.001, -5.0, 5.0, "time", "-1 ms  (-5000 to 5000 ms)"),
        (-0.01, -1, 2.5, "count", "-0.01  (-1.00 to 2.50)"),
        (38.2413, 35.0, math.inf, "time", "38.2 s  (35.0 to inf s)"),
        (math.nan, 35.0, 42.0, "time", "nan s  (35.0 to 42.0 s)"),
        (math.nan, math.nan, math.nan, "time", "nan s  (nan to nan s)"),
        (1e300, 1e299, 1e301, "time", "1.16e+295 d  (1.16e+294 to 1.16e+296 d)"),
        (1e-20, 0.0, 2e-20, "time", "1e-11 ns  (0 to 2e-11 ns)"),
    ],
)
def test_an_interval_is_rounded_to_what_its_width_supports(value, lower, upper, dimension, text):
    assert format_interval(value, lower, upper, dimension) == text


@given(st.floats(1e-9, 1e9), st.floats(0, 0.9), st.floats(0, 9), dimensions)
def test_an_interval_has_one_number_of_decimals_and_at_most_twelve_digits(
    value, below, above, dimension
):
    lower, upper = value * (1 - below), value * (1 + above)
    text = format_interval(value, lower, upper, dimension)
    numbers_in_it = [
        word.strip("()")
        for word in text.replace("%", "").split()
        if word[-1:].strip("()").isdigit()
    ]
    if "e" not in "".join(numbers_in_it):
        assert len({len(number.partition(".")[2]) for number in numbers_in_it}) == 1
        assert all(len(number.lstrip("0.").replace(".", "")) <= 12 for number in numbers_in_it)


def test_units_do_not_load_numpy():
    show = [sys.executable, "-c", "import parcast.units, sys; print('numpy' in sys.modules)"]
    assert subprocess.run(show, capture_output=True, text=True, check=True).stdout == "False\n"
