"""The models of NumPyro's examples: a default call is enough wherever it is for NumPyro's NUTS."""

import pytest

pytest.importorskip("numpyro", reason="needs numpyro: pip install numpyro")

from benchmarks.examples.problems import example_problems
from benchmarks.examples.samplers import numpyro_nuts, ours
from benchmarks.measures.effective_size import AGREED
from benchmarks.patches.samplers import RunPlan

PROBLEMS = {problem.name: problem for problem in example_problems()}
LONGER = {"stochastic-volatility", "var2", "gp", "ar2", "zero-inflated-poisson", "holt-winters"}
ENOUGH = 400
"""Effective draws of every parameter, bulk and tail."""

pytestmark = pytest.mark.slow


def is_enough(run):
    return run.r_hat < AGREED and run.bulk_or_tail >= ENOUGH


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_default_call_is_enough(name, optimized):
    plan = RunPlan(draws=1000 if name in LONGER else 500, seed=0)
    run = ours(PROBLEMS[name], plan)
    if is_enough(run):
        return
    nuts = numpyro_nuts(PROBLEMS[name], plan)
    assert not is_enough(nuts), f"{run}\n{nuts}"
