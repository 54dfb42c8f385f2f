"""Measurements that several benchmarks share: effective sizes, deviations from what is known, times."""
