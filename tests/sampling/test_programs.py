"""How many programs a first call compiles: each takes time before there is any draw."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import mongepatch as mp
from mongepatch.sampling import run

EFFECTS, ERRORS = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]), jnp.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def schools():
    mu, tau = numpyro.sample("mu", dist.Normal(0, 5)), numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", 8):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
    numpyro.sample("y", dist.Normal(theta, ERRORS), obs=EFFECTS)


def correlated_slopes():
    rng = np.random.default_rng(1)
    group, x, y = np.repeat(np.arange(6), 4), rng.normal(size=24), rng.normal(size=24)
    tau = numpyro.sample("tau", dist.HalfNormal(1).expand([2]).to_event(1))
    factor = numpyro.sample("factor", dist.LKJCholesky(2, 2.0))
    with numpyro.plate("group", 6):
        effects = numpyro.sample("effects", dist.MultivariateNormal(0.0, scale_tril=tau[:, None] * factor))
    numpyro.sample("y", dist.Normal(effects[group, 0] + effects[group, 1] * x, 1.0).to_event(1), obs=y)


@pytest.mark.parametrize("model", [schools, correlated_slopes])
def test_an_automatic_call_compiles_few_programs(model, compiled_programs):
    target = mp.from_numpyro(model)
    compiled_programs.clear()  # NumPyro's own, of a model that is traced for the first time
    mp.sample(target, progress=False, draws=500, warmup=500)
    assert 10 < len(compiled_programs) <= 20, compiled_programs
    samplers = [name for name in compiled_programs if "run_in_lockstep" in name]
    assert len(samplers) == 1  # compiled ahead, and found when it is needed


def slopes(x, y):
    tau = numpyro.sample("tau", dist.HalfNormal(1).expand([2]).to_event(1))
    factor = numpyro.sample("factor", dist.LKJCholesky(2, 2.0))
    with numpyro.plate("group", 4):
        effects = numpyro.sample("effects", dist.MultivariateNormal(0.0, scale_tril=tau[:, None] * factor))
    numpyro.sample("y", dist.Normal(effects[:, :1] + effects[:, 1:] * x, 1.0).to_event(2), obs=y)


def test_a_model_is_built_without_any_program(compiled_programs):
    target = mp.from_numpyro(slopes, np.linspace(-1, 1, 5), np.zeros((4, 5)))
    jax.eval_shape(jax.grad(target.logdensity), jax.ShapeDtypeStruct((target.dimension,), float))
    assert compiled_programs == []


def test_arguments_that_are_numbers_are_validated_beside_traced_ones():
    def model():
        numpyro.sample("y", dist.Normal(numpyro.sample("x", dist.Normal(0, 1)), -1.0), obs=0.0)

    with pytest.raises(mp.ModelError, match="invalid scale parameter"):
        mp.from_numpyro(model)


def test_the_one_sampler_of_a_regression_is_compiled_ahead(compiled_programs, monkeypatch):
    threads = []
    compile_ahead = run.compile_ahead
    monkeypatch.setattr(run, "compile_ahead", lambda *given: threads.append(compile_ahead(*given)) or threads[-1])
    tree = mp.sample(lambda x: -0.5 * x @ x, jnp.zeros(30), progress=False, draws=50, warmup=1000)
    assert tree["posterior"].attrs["trajectory"] == "Static"  # which is the same program as NUTS
    assert len(threads) == 1
    assert all(thread.done() for thread in threads)
    assert sum("run_in_lockstep" in name for name in compiled_programs) == 1
