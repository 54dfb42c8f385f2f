"""Rounding in single precision comes from the log density more than from the sums that it enters."""

from benchmarks.rounding import roundings


def test_better_sums_would_not_help():
    found = roundings(20_000, dimension=5)
    assert 0.0 < found.sums < found.density


def test_the_estimate_of_sample_is_of_the_right_size():
    found = roundings(3000, dimension=5)
    assert 0.3 < found.warned_of / (found.density**2 + found.sums**2) ** 0.5 < 10.0
