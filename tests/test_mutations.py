"""The invariance suite must notice a mistake: each test here makes one, in the source of the library, and looks.

A suite that cannot tell a sampler with one α² left out from the right one would say nothing about the right one.
"""

import functools
import inspect
import sys
import textwrap

import pytest
from invariance import MAX_STANDARD_ERRORS, compiled, information, prior_precision, run, standard_errors_off

import mongepatch as mp
from mongepatch import kernels
from mongepatch.metrics.dense import DenseMetric
from mongepatch.trajectories.base import Level

CHAINS, DRAWS = 8000, 60

# Each leaves one α² out of the source of a method of `Monge`.
OF_MONGE = {
    "kick, turn": ("kick", "a * dot(velocity, bend.along)", "dot(velocity, bend.along)"),
    "kick, correction": ("kick", "a * share * dot(", "share * dot("),
    "kick, force": ("kick", "- length * share * pull", "- length / point.stretch * pull"),
    "kick, denominator": ("kick", "point.stretch * (1.0 + before)", "point.stretch * (1.0 + before / a)"),
    "log-volume, before": ("kick", "jnp.abs(1.0 + before)", "jnp.abs(1.0 + before / a)"),
    "log-volume, after": ("kick", "jnp.abs(1.0 - after)", "jnp.abs(1.0 - after / a)"),
    "velocity draw": ("velocity_from_noise", "-(self.alpha**2)", "-1.0"),
    "kinetic energy": ("momentum", "self.alpha**2 * dot(", "dot("),
    "volume element": ("log_det", "jnp.log(point.stretch)", "jnp.log1p((point.stretch - 1.0) / self.alpha**2)"),
}


def mutate(monkeypatch, owner, method, right, wrong):
    """Replace a piece of a method's source, which must be there once."""
    source = textwrap.dedent(inspect.getsource(getattr(owner, method)))
    assert source.count(right) == 1
    namespace = {}
    exec(source.replace(right, wrong), vars(sys.modules[owner.__module__]), namespace)
    monkeypatch.setattr(owner, method, namespace[method])


def worst(kernel, metric_of, trajectory, step_size=0.9, name="quartic", chains=CHAINS, length=DRAWS):
    draws, acceptance = run(compiled(kernel, metric_of, trajectory, length), name, 0.5, step_size, chains)
    assert acceptance > 0.2
    return standard_errors_off(name, draws).max()


def monge(member, alpha):
    return mp.Monge(alpha)


def dense(member, _):
    return mp.Dense(lambda x: information(member)(x) + prior_precision(member))


@pytest.mark.parametrize(
    ("scheme", "trajectory"),
    [("merged", mp.Static(4, jitter=0.5)), ("paper", mp.Static(4, jitter=0.5)), ("merged", mp.NUTS(4))],
    ids=["merged", "paper", "nuts"],
)
@pytest.mark.parametrize("mutation", OF_MONGE)
def test_leaving_out_one_alpha_squared_is_noticed(mutation, scheme, trajectory, monkeypatch):
    mutate(monkeypatch, mp.Monge, *OF_MONGE[mutation])
    assert worst(kernels.LMC(scheme), monge, trajectory) > 2 * MAX_STANDARD_ERRORS


OTHERS = {
    "nuts without volume": (
        Level, "log_ratio", "+ (self.volume - start.volume)", "",
        functools.partial(worst, kernels.LMC(), monge, mp.NUTS(4)),
    ),
    "dense kick without its volume": (
        DenseMetric, "kick", "_log_abs_det(right) - _log_abs_det(left)", "0.0 * length",
        functools.partial(worst, kernels.LMC(), dense, mp.Static(4, jitter=0.5)),
    ),
    "force with half of the kinetic term": (
        DenseMetric, "force", "0.5 * self.square", "0.25 * self.square",
        functools.partial(worst, kernels.RMHMC(), dense, mp.Static(3), 0.42, "banana", 2000, 12),
    ),
    "mmala without the determinant": (
        kernels.MMALA, "step", "0.5 * metric.log_det(point) - kinetic", "-kinetic",
        functools.partial(worst, kernels.MMALA(), dense, None),
    ),
    "explicit rmhmc accepted by energy alone": (
        kernels.ExplicitRMHMC, "step", "+ (spread[0] - spread[1])", "",
        functools.partial(worst, kernels.ExplicitRMHMC(stiffness=2.0, width=3.0), dense, mp.Static(4, jitter=0.5), 0.6),
    ),
}  # fmt: skip


@pytest.mark.parametrize("mutation", OTHERS)
def test_leaving_out_a_term_is_noticed(mutation, monkeypatch):
    owner, method, right, wrong, look = OTHERS[mutation]
    mutate(monkeypatch, owner, method, right, wrong)
    assert look() > 2 * MAX_STANDARD_ERRORS
