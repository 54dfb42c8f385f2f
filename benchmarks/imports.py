"""Time of `import mongepatch` in a fresh process, in times of `import jax`."""

import subprocess
import sys

import numpy as np

from mongepatch.paper.console import print_table

STATEMENTS = {
    "import jax": "import jax",
    "import mongepatch": "import mongepatch",
    "every name of it": "import mongepatch; [getattr(mongepatch, name) for name in mongepatch.__all__]",
}
_TIMED = """
import time
wall, cpu = time.perf_counter(), time.process_time()
{statement}
print(time.perf_counter() - wall, time.process_time() - cpu)
"""
LEGEND = ("Seconds in a fresh process, medians. CPU: of all threads, steadier where other programs run.",)


def run(rounds: int = 11) -> dict[str, float]:
    """Print the table; return the CPU time of each statement, divided by that of the first."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in STATEMENTS}
    for number in range(rounds + 1):
        for name, statement in STATEMENTS.items():
            measured = _seconds(statement)
            if number:  # the first time, files are read from disk and bytecode is written
                times[name].append(measured)
    medians = {name: np.median(values, axis=0) for name, values in times.items()}
    first = medians["import jax"]
    print_table(
        "Imports",
        ("", "seconds", "ratio", "CPU", "ratio"),
        [
            (name, *(f"{value:.2f}" for pair in zip(found, found / first, strict=True) for value in pair))
            for name, found in medians.items()
        ],
        LEGEND,
    )
    return {name: float(found[1] / first[1]) for name, found in medians.items()}


def _seconds(statement: str) -> tuple[float, float]:
    """Wall and CPU time of a statement in a process of its own."""
    call = [sys.executable, "-c", _TIMED.format(statement=statement)]
    wall, cpu = subprocess.run(call, capture_output=True, text=True, check=True).stdout.split()
    return float(wall), float(cpu)
