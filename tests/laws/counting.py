"""Counts of the laws that count at numbers, as functions of n, p and the densities."""

from functools import partial

from parcast.descriptions.program import law_named


def counts_of(law, n, p=1, **densities):
    """Counts of a law; numbers stand for its densities, text and truth values for other keys."""
    keys = {key: x for key, x in densities.items() if isinstance(x, str | bool)}
    numbers = {key: x for key, x in densities.items() if key not in keys}
    keys |= dict.fromkeys(
        numbers.keys() & {"partitions", "imbalance"}, "1"
    )  # it may be left out otherwise
    return law_named(law)(law=law, **keys).counts(n, p, {"n": n, "p": p} | numbers)


merge_sort_counts = partial(counts_of, "merge_sort")
sort_counts = partial(counts_of, "sort")
square_sort_counts = partial(counts_of, "square_sort")
sample_sort_counts = partial(counts_of, "sample_sort")
fractal_counts = partial(counts_of, "fractal")
monte_carlo_counts = partial(counts_of, "monte_carlo")
matmul_counts = partial(counts_of, "matmul")
gauss_counts = partial(counts_of, "gauss")
stencil_counts = partial(counts_of, "stencil")
