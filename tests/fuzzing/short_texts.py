"""Valid short texts: expressions, counts, sizes, ranges and quantities, as options take them."""

from hypothesis import strategies as st

UNITS = {
    "time": ("s", "ms", "us", "min", "h"),
    "size": ("B", "MB", "GiB", "kbit"),
    "rate": ("MB/s", "GiB/s", "Gbit/s"),
    "operation_rate": ("Mflop/s", "Gop/s"),
    "fraction": ("", "%"),
}
numbers = st.sampled_from(("0", "1", "2.5", "1e3", ".5", "10", "64", "1024"))


def _combined(inner):
    """A larger expression of smaller ones, which is finite where they are."""
    number = numbers.filter(float)
    sums = st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner)
    parts = st.builds("{} {} {}".format, inner, st.sampled_from("/%"), number)
    calls = st.builds("{}(1 + abs({}))".format, st.sampled_from(("sqrt", "log2", "ceil")), inner)
    powers = st.builds("({})^{}".format, inner, st.sampled_from(("2", "3")))
    pairs = st.builds("{}({}, {})".format, st.sampled_from(("min", "max")), inner, inner)
    chosen = st.builds("({} if p > {} else {})".format, inner, numbers, inner)
    return sums | parts | calls | powers | pairs | chosen


expressions = st.recursive(numbers | st.sampled_from("pdn"), _combined, max_leaves=6).map(
    str.encode
)
_counts = st.sampled_from(("1", "64", "1..16", "10..100+10", "1..1024x2", "3..48x4"))
counts = st.lists(_counts, min_size=1, max_size=4).map(",".join).map(str.encode)
_sizes = st.sampled_from(("0.5", "64", "1e6", "10..1000", "10..100+10", "1..1024x2"))
sizes = st.lists(_sizes, min_size=1, max_size=4).map(",".join).map(str.encode)


@st.composite
def quantities(draw):
    dimension = draw(st.sampled_from(tuple(UNITS)))
    return f"{draw(numbers)} {draw(st.sampled_from(UNITS[dimension]))}".encode()


@st.composite
def ranges(draw):
    """Values of a parameter that is varied."""
    return f"{draw(_sizes)} {draw(st.sampled_from(UNITS['rate']))}".encode()


_pairs = st.sampled_from(("compute=exponential", "io=0.5", "task=none", "communication=2"))
pairs = st.lists(_pairs, min_size=1, max_size=3, unique=True).map(",".join).map(str.encode)
