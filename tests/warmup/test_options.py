"""Every kernel through `sample`, and as an algorithm in BlackJAX's shape."""

from typing import get_args

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import slow_but

import mongepatch as mp
from mongepatch.warmup.options import KERNELS, KernelName

pytestmark = pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # short runs

NEEDS = {"mmala": None}  # trajectories, where not the static one
EXTRA = {"rmhmc": {"non_convergent", "non_reversible"}}
COMMON = {
    "lp", "acceptance_rate", "accepted", "step_size", "n_steps", "n_grad", "diverging", "failure", "energy",
    "energy_error", "alpha", "log_volume",
}  # fmt: skip


def logdensity(p):
    return -0.5 * (p["a"] ** 2 + (p["b"] ** 2).sum() * jnp.exp(p["a"]) - 2 * p["a"])


START = {"a": 0.0, "b": jnp.zeros(2)}


def run(kernel, metric=None, **settings):
    options = {"trajectory": NEEDS.get(kernel, mp.Static(4)), "step_size": 0.2, "draws": 40, "warmup": 10} | settings
    return mp.sample(
        logdensity, START, kernel=kernel, metric=mp.Monge(0.3) if metric is None else metric, progress=False, **options
    )


def test_every_kernel_has_a_name():
    assert set(KERNELS) == set(get_args(KernelName))


@pytest.mark.parametrize("kernel", slow_but(KERNELS, "lmc", "mmala"))
def test_every_kernel_samples_a_pytree(kernel):
    tree = run(kernel)
    assert tree["posterior"]["b"].shape == (4, 40, 2)
    assert set(tree["sample_stats"].data_vars) == COMMON | EXTRA.get(kernel, set())
    assert tree["posterior"].attrs["kernel"] == kernel
    assert tree["posterior"].attrs["metric"] == "Monge"
    assert bool(tree["sample_stats"]["accepted"].any())


@pytest.mark.parametrize(
    ("metric", "kernel"),
    [
        pytest.param(
            metric,
            kernel,
            id=f"{name}-{kernel}",
            marks=[pytest.mark.slow] if (name, kernel) != ("monge", "lmc") else [],
        )
        for name, metric in {"monge": mp.Monge(0.3), "softabs": mp.SoftAbs(1.0)}.items()
        for kernel in KERNELS
    ],
)
def test_single_precision_stays_single(kernel, metric):
    tree = mp.sample(
        lambda x: -0.5 * x @ x - (x**4).sum() / 16,
        jnp.ones(3, jnp.float32),
        kernel=kernel,
        metric=metric,
        trajectory=NEEDS.get(kernel, mp.Static(3)),
        step_size=0.1,
        draws=20,
        warmup=0,
        progress=False,
    )
    assert tree["posterior"]["x"].dtype == np.float32
    assert tree["sample_stats"]["energy"].dtype == np.float32
    assert float(tree["sample_stats"]["accepted"].mean()) > 0.5


def test_kernels_with_settings_of_their_own():
    midpoint = mp.kernels.RMHMC(mp.integrators.ImplicitMidpoint(tolerance=1e-6))
    assert run(midpoint)["posterior"].attrs["kernel"] == "rmhmc"
    merged, paper = (run(mp.kernels.LMC(scheme))["posterior"]["a"] for scheme in ("merged", "paper"))
    assert (merged != paper).any()
    assert (paper == run("lmc", scheme="paper")["posterior"]["a"]).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "hmc"}, "kernel must be one of"),
        ({"kernel": mp.kernels.RMHMC}, "kernel must be one of"),
        ({"kernel": "rmhmc", "scheme": "paper"}, 'scheme is a setting of the kernel "lmc"'),
        ({"kernel": "mmala", "trajectory": mp.Static(3)}, "takes no trajectory"),
        ({"kernel": "lmc", "trajectory": None}, 'kernel "lmc" needs a trajectory'),
        ({"kernel": "explicit-rmhmc", "trajectory": mp.NUTS()}, "needs an mp.Static trajectory"),
    ],
)
def test_what_does_not_go_together_is_refused(settings, message):
    with pytest.raises(mp.SettingError, match=message):
        run(**settings)


def test_nuts_compiles_once_for_every_step_size():
    traces = []

    def density(x):
        traces.append(1)
        return -0.5 * x @ x

    def go(**settings):
        mp.sample(density, jnp.zeros(2), metric=mp.Monge(0.5), draws=5, warmup=0, progress=False, **settings)
        return len(traces)

    go(trajectory=mp.NUTS(3), step_size=0.1)
    first = go(trajectory=mp.NUTS(3), step_size=0.2)
    assert go(trajectory=mp.NUTS(3), step_size=0.3) - first == first - (first - 1)  # traced to be compared, no more


@pytest.mark.parametrize(
    "algorithm",
    [
        mp.lmc(logdensity, mp.Monge(0.3), 0.2, mp.NUTS(5)),
        mp.rmhmc(logdensity, mp.Monge(0.3), 0.2, mp.Static(3)),
        mp.explicit_rmhmc(logdensity, mp.Monge(0.3), 0.05, mp.Static(3)),
        mp.mmala(logdensity, mp.Monge(0.3), 0.3),
    ],
    ids=["nuts", "rmhmc", "explicit-rmhmc", "mmala"],
)
def test_algorithms_run_in_blackjax(algorithm):
    state, (states, info) = blackjax.util.run_inference_algorithm(
        jax.random.key(0), algorithm, 30, initial_position=START, transform=lambda state, info: (state, info)
    )
    assert states.position["b"].shape == (30, 2)
    assert info.accepted.any()
    assert np.isfinite(state.logdensity)
