"""Measurements that the documentation quotes, one module or folder each; `python -m benchmarks NAME` runs one."""
