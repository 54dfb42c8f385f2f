"""Draws at which a density is too steep for a constant metric: found, told, and not seen where there are none."""

import warnings
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mongepatch as mp
from mongepatch.kernels import LMC, RMHMC
from mongepatch.program import trace_density
from mongepatch.warmup.curvature import MAX_UNSTABLE_FRACTION, recent_unstable_fraction, unstable_fraction


def warmup_of(target, draws, step_size, metric, kernel=None):
    """Warm-up that has made some draws."""
    density = trace_density(target.logdensity, jax.ShapeDtypeStruct((target.dimension,), float))
    return SimpleNamespace(
        tuning=SimpleNamespace(metric=metric, trajectory=None),
        step_size=step_size,
        runner=SimpleNamespace(density=density, kernel=kernel or LMC()),
        recent_positions=lambda: np.asarray(draws),
        recent_gradients=lambda: np.asarray(jax.vmap(jax.grad(target.logdensity))(draws)),
    )


def funnel_warmup(step_size, metric=None, kernel=None):
    target = mp.targets.neal_funnel(9)
    metric = metric or mp.Euclidean(np.array([9.0] + [90.0] * 9))
    return warmup_of(target, target.truth.draw(jax.random.key(0), 2000), step_size, metric, kernel)


@pytest.mark.slow
def test_the_fraction_is_that_of_the_places_that_are_too_steep():
    """By the eigenvalues of all Hessians in the scale of M."""
    state = funnel_warmup(0.05)
    rows, metric = state.recent_positions(), state.tuning.metric
    some = rows[np.linspace(0, len(rows) - 1, 256).astype(int)]
    scale = np.sqrt(metric.inverse_mass.variance)
    hessians = jax.vmap(jax.hessian(state.runner.density))(some) * np.outer(scale, scale)
    largest = np.abs(np.linalg.eigvalsh(hessians)).max(axis=1)
    exact = np.mean(0.05 * np.sqrt(largest) > 2.0)
    assert 0.1 < exact < 0.5
    assert unstable_fraction(rows, state.runner.density, metric, 0.05) == pytest.approx(exact, abs=0.01)
    assert recent_unstable_fraction(state) == pytest.approx(exact, abs=0.06)  # of fewer draws, with long gradients
    other_scale = mp.Euclidean(1e-4 * metric.inverse_mass.variance)
    assert recent_unstable_fraction(funnel_warmup(5.0, other_scale)) == pytest.approx(exact, abs=0.06)
    assert recent_unstable_fraction(funnel_warmup(1e-5)) == 0.0


def test_other_metrics_and_steps_are_not_judged():
    assert recent_unstable_fraction(funnel_warmup(0.05, mp.Monge(1.0))) == 0.0
    assert recent_unstable_fraction(funnel_warmup(0.05, kernel=RMHMC())) == 0.0


def test_densities_like_normal_ones_are_not_looked_at_closely(monkeypatch):
    monkeypatch.setattr("mongepatch.warmup.curvature.unstable_fraction", lambda *_: pytest.fail("it was looked at"))
    for dimension in (1, 100):
        normal = mp.Target.from_density(lambda x: -0.5 * x @ x, jnp.zeros(dimension))
        draws = jax.random.normal(jax.random.key(1), (2000, dimension))
        assert recent_unstable_fraction(warmup_of(normal, draws, 1.0, mp.Euclidean(np.ones(dimension)))) == 0.0


def test_a_run_tells_of_it_and_of_what_to_do():
    target = mp.targets.neal_funnel(9)
    starts = {"init": target.truth.draw(jax.random.key(3), 4), "init_per_chain": True, "init_spread": 0.0}
    settings = {"metric": mp.Euclidean(), "trajectory": mp.Static(3), "warmup": 300, "draws": 20, "progress": False}
    with pytest.warns(mp.SamplingWarning, match=r"too steep for steps of this size .* residuals="):
        tree = mp.sample(target, **starts, **settings, step_size=0.5)
    assert tree["posterior"].attrs["unstable_fraction"] > MAX_UNSTABLE_FRACTION
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tree = mp.sample(target, **starts, **settings, step_size=1e-3)
    assert tree["posterior"].attrs["unstable_fraction"] == 0.0
    assert not any("too steep" in str(warning.message) for warning in told)
