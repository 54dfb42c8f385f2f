"""What is decided beforehand about large hierarchies takes room in proportion to their size."""

import subprocess
import sys

import numpy as np
import pytest

from mongepatch.coordinates import plan
from mongepatch.coordinates.algebra import DenseAlgebra, SparseAlgebra
from mongepatch.sparse.colouring import colour
from mongepatch.sparse.pattern import Pattern

MOST_GIGABYTES = 4.0
PLANNING = """
import resource, jax, numpyro, numpyro.distributions as dist
import mongepatch as mp

def model():
    mu, tau = numpyro.sample("mu", dist.Normal(0, 1)), numpyro.sample("tau", dist.HalfNormal(1))
    theta = numpyro.sample("theta", dist.Normal(mu, tau).expand([200_000]).to_event(1))
    numpyro.sample("y", dist.Normal(theta, 1.0).to_event(1), obs=jax.numpy.zeros(200_000))

mp.whiten(mp.from_numpyro(model))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)  # in kilobytes on Linux
"""


def of_groups(count):
    """Rows of `count` groups and of their mean."""
    numbers = np.arange(count)
    rows, columns = (
        np.concatenate([numbers, np.arange(count + 1)]),
        np.append(np.full(count, count), np.arange(count + 1)),
    )
    return Pattern((count + 1, count + 1), rows, columns)


def test_many_groups_stay_sparse_and_many_full_rows_do_not(monkeypatch):
    """However many: a dense matrix for 100,000 groups would take 80 gigabytes."""
    monkeypatch.setattr(plan, "_MOST_PAIRS", 50)
    groups = of_groups(30)
    alone = Pattern.diagonal(31)
    algebra, _ = plan._algebra(groups, colour(groups), alone, alone, 1)
    assert isinstance(algebra, SparseAlgebra)
    half = Pattern.from_dense(np.random.default_rng(0).random((60, 31)) < 0.5)
    algebra, _ = plan._algebra(half, colour(half), alone, alone, 1)
    assert isinstance(algebra, DenseAlgebra)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is reported in other units")
def test_200_000_groups_are_planned_in_few_gigabytes():
    done = subprocess.run([sys.executable, "-c", PLANNING], capture_output=True, text=True, timeout=600, check=True)
    assert float(done.stdout.split()[-1]) < MOST_GIGABYTES
