"""How many programs a first call compiles: each takes time before there is any draw."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import pytest

import mongepatch as mp

EFFECTS, ERRORS = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]), jnp.array([15.0, 10, 16, 11, 9, 11, 10, 18])
COMPILED = "/jax/core/compile/backend_compile_duration"


def schools():
    mu, tau = numpyro.sample("mu", dist.Normal(0, 5)), numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", 8):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
    numpyro.sample("y", dist.Normal(theta, ERRORS), obs=EFFECTS)


@pytest.fixture
def programs():
    """Names of what is compiled from now on."""
    jax.clear_caches()
    found = []

    def listen(event, _, **about):
        if event == COMPILED:
            found.append(about.get("fun_name"))

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield found
    jax.monitoring.unregister_event_duration_listener(listen)


def test_an_automatic_call_compiles_few_programs(programs):
    target = mp.from_numpyro(schools)
    programs.clear()  # NumPyro's own, of a model that is traced for the first time
    mp.sample(target, progress=False, draws=500, warmup=500)
    assert 10 < len(programs) <= 20, programs
    assert sum("run_in_lockstep" in name for name in programs) == 1  # compiled ahead, and found when it is needed
