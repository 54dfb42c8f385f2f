"""The bare densities are the NumPyro models that they are compared with."""

import jax
import numpy as np
import pytest
from numpyro.infer.util import potential_energy

from benchmarks.bare.problems import bare_problems
from benchmarks.bare.run import BareComparison
from benchmarks.patches.measure import SamplerRow
from benchmarks.patches.quality import quality
from benchmarks.patches.quantities import quantities
from benchmarks.patches.samplers import SamplerOutcome
from benchmarks.patches.truth import truth_of

PROBLEMS = {problem.numpyro.name: problem for problem in bare_problems()}


def points(problem, shape):
    rng = np.random.default_rng(0)
    return {name: 0.7 * rng.normal(size=(*shape, *np.shape(start))) for name, start in problem.init.items()}


@pytest.mark.parametrize(
    "name", ["schools", *(pytest.param(name, marks=pytest.mark.slow) for name in PROBLEMS if name != "schools")]
)
def test_a_bare_density_is_that_of_the_numpyro_model_but_for_a_constant(name):
    problem = PROBLEMS[name]
    model = problem.numpyro
    draws = points(problem, (5,))
    # NumPyro's unconstrained value of a scale is its logarithm, and the Jacobian is in its potential.
    unconstrained = {parameter.removeprefix("log_"): values for parameter, values in draws.items()}
    ours = jax.vmap(problem.logdensity)(draws)
    theirs = jax.vmap(lambda values: -potential_energy(model.centred, model.data, {}, values))(unconstrained)
    difference = np.asarray(ours - theirs)
    assert np.std(np.asarray(ours)) > 0.1
    np.testing.assert_allclose(difference, difference[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_draws_of_log_scales_become_the_scales_that_are_judged(name):
    problem = PROBLEMS[name]
    draws = points(problem, (2, 3))
    measured = quantities(problem.numpyro, problem.sites(draws))
    assert len(measured) == sum(np.size(start) for start in problem.init.values())
    for scale in problem.numpyro.scales:
        first = f"log {scale}" if np.ndim(problem.init[f"log_{scale}"]) == 0 else f"log {scale}[0]"
        np.testing.assert_allclose(measured[first], draws[f"log_{scale}"].reshape(2, 3, -1)[..., 0])


def test_the_ratio_is_the_median_of_seeds_and_one_wrong_run_is_told():
    problem = PROBLEMS["neal-9"].numpyro
    truth, rng = truth_of(problem).quantiles, np.random.default_rng(1)

    def run_of(seconds, shift=0.0):
        v = rng.normal(shift, 3.0, size=(4, 1000))
        x = rng.normal(size=(4, 1000, 9)) * np.exp(0.5 * v)[..., None]
        made = quality(problem, truth, SamplerOutcome({"v": v, "x": x}, 1000, seconds, 1.0, 0))
        return made._replace(size=1000.0)

    bare, numpyro = [run_of(1.0), run_of(2.0), run_of(4.0)], [run_of(1.0) for _ in range(3)]
    both = BareComparison(10, SamplerRow("bare", "ours", bare), SamplerRow("NumPyro", "ours", numpyro), (1.0, 1.0))
    assert both.ratio() == pytest.approx(0.5)
    assert both.ratio(lambda run: run.per_1000_grads) == pytest.approx(1.0)
    assert both.is_always_right
    assert not both._replace(bare=SamplerRow("bare", "ours", [*bare[:2], run_of(1.0, shift=0.6)])).is_always_right
