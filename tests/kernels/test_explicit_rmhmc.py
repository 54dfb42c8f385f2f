"""The doubled phase space of explicit RMHMC: reversible, without volume change, of second order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import one_step, slow_but, steps_from
from problems import DENSITIES, curved, phase_points

import mongepatch as mp
from mongepatch.integrators.explicit_symplectic import Doubled, ExplicitSymplectic

DENSITY = DENSITIES["quartic"][0]
METRICS = {"monge": mp.Monge(0.5), "dense": mp.Dense(curved)}
INTEGRATOR = ExplicitSymplectic(binding=1.0, stiffness=2.0)


def start(metric):
    x, noise = (values[0] for values in phase_points("quartic"))
    p = metric.momentum(metric.at(DENSITY, x)[0], noise)
    return Doubled.around(x, p, 0.01 * noise, 0.02 * x)


@pytest.mark.parametrize("name", slow_but(METRICS, "monge"))
def test_the_doubled_map_reverses_and_keeps_volume(name):
    metric = METRICS[name]
    z = start(metric)

    @jax.jit
    def run(z, step_size):
        return INTEGRATOR.run(DENSITY, metric, z, step_size, 5)

    there = run(z, jnp.asarray(0.05))
    turned = run(Doubled(there.x, -there.p, there.y, -there.q), jnp.asarray(0.05))
    rewound = run(there, jnp.asarray(-0.05))
    np.testing.assert_allclose(Doubled(turned.x, -turned.p, turned.y, -turned.q), z, atol=1e-12)
    np.testing.assert_allclose(rewound, z, atol=1e-12)

    def flat(values):
        return jnp.concatenate(run(Doubled(*jnp.split(values, 4)), jnp.asarray(0.05)))

    jacobian = jax.jit(jax.jacfwd(flat))(jnp.concatenate(z))
    np.testing.assert_allclose(np.linalg.slogdet(jacobian), (1.0, 0.0), atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_the_middle_follows_the_flow_to_second_order(metric):
    x, noise = (values[0] for values in phase_points("quartic"))
    v = metric.velocity_from_noise(metric.at(DENSITY, x)[0], noise)
    reference = mp.integrate(DENSITY, metric, x, v, 0.2 / 512, 512).position[-1]
    z = Doubled.around(x, metric.momentum(metric.at(DENSITY, x)[0], v), jnp.zeros(4), jnp.zeros(4))
    errors = []
    for n in (16, 32):
        integrator = ExplicitSymplectic(binding=16.0 / n, stiffness=2.0)  # the same ω for both
        end, _ = integrator.run(DENSITY, metric, z, jnp.asarray(0.2 / n), n).middle()
        errors.append(float(jnp.abs(end - reference).max()))
    assert 3.0 < errors[0] / errors[1] < 5.0


@pytest.mark.slow
def test_binding_keeps_the_copies_together():
    metric = METRICS["dense"]
    x, noise = (values[0] for values in phase_points("quartic"))
    z = Doubled.around(x, metric.momentum(metric.at(DENSITY, x)[0], noise), jnp.zeros(4), jnp.zeros(4))
    apart = []
    for binding in (1e-9, 1.0):
        end = ExplicitSymplectic(binding, stiffness=2.0).run(DENSITY, metric, z, jnp.asarray(0.1), 60)
        apart.append(float(jnp.abs(end.apart()[0]).max()))
    assert apart[1] < 0.2 * apart[0]


def test_short_steps_are_accepted_at_stiff_places():
    """Where G is far from `stiffness` a step parts the copies, by an amount that must vanish beside their width."""
    funnel = mp.targets.funnel(1)
    algorithm = mp.explicit_rmhmc(funnel, mp.Fisher(funnel.information), 1e-5, mp.Static(5))
    _, info = steps_from(algorithm, jnp.array([0.1, -6.0]), jax.random.split(jax.random.key(0), 64))
    assert info.acceptance_rate.mean() > 0.95


def test_cost_counts_three_forces_a_step():
    algorithm = mp.explicit_rmhmc(DENSITY, mp.Monge(0.5), 0.05, mp.Static(7))
    _, info = one_step(algorithm, jnp.full(4, 0.1))
    assert info.n_grad == (3 * 7 + 1) * 3 + 1


def test_settings_are_checked():
    with pytest.raises(mp.SettingError, match=r"needs an mp\.Static trajectory"):
        mp.explicit_rmhmc(DENSITY, mp.Monge(1.0), 0.1, mp.NUTS())
    with pytest.raises(mp.SettingError, match="binding must be above 0"):
        mp.explicit_rmhmc(DENSITY, mp.Monge(1.0), 0.1, mp.Static(3), binding=0.0)
