"""The invariance suite must notice a mistake: each test here makes one, in the source of the library, and looks.

A suite that cannot tell a sampler with one α² left out from the right one would say nothing about the right one.
"""

import functools
import inspect
import sys
import textwrap

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import slow_but
from invariance import MAX_STANDARD_ERRORS, compiled, information, patch, prior_precision, run, standard_errors_off

import mongepatch as mp
from mongepatch import kernels
from mongepatch.integrators import Lagrangian
from mongepatch.metrics.dense import DenseMetric, _DenseKick
from mongepatch.metrics.patch.patch import _PatchKick
from mongepatch.trajectories import NUTSOrStatic
from mongepatch.trajectories.base import Level
from mongepatch.trajectories.tree import TreeBuilder

pytestmark = pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles

CHAINS, DRAWS = 8000, 60

# Expressions in the source of a method, and what they are mistaken for. All but the last leave out one α².
OF_MONGE = {
    "kick, turn": (mp.Monge, "kick", "a * dot(velocity, bend.along)", "dot(velocity, bend.along)"),
    "kick, correction": (mp.Monge, "kick", "a * dot(bend.along, back)", "dot(bend.along, back)"),
    "kick, force": (mp.Monge, "kick", "push * natural - back", "push * natural - back / a"),
    "kick, denominator": (mp.Monge, "kick", "(point.stretch * (1.0 + before))", "(point.stretch * (1.0 + before / a))"),
    "log-volume, before": (mp.Monge, "kick", "jnp.abs(1.0 + before)", "jnp.abs(1.0 + before / a)"),
    "log-volume, after": (mp.Monge, "kick", "jnp.abs(1.0 - after)", "jnp.abs(1.0 - after / a)"),
    "log-volume, push": (mp.Monge, "kick", "push * h_natural", "push / a * h_natural"),
    "velocity draw": (mp.Monge, "velocity_from_noise", "-(self.alpha**2)", "-1.0"),
    "kinetic energy": (mp.Monge, "momentum", "self.alpha**2", "1.0"),
    "volume element": (
        mp.Monge, "log_det", "jnp.log(point.stretch)", "jnp.log1p((point.stretch - 1.0) / self.alpha**2)",
    ),
    "weights without volume": (Level, "log_ratio", "(self.volume - start.volume)", "0.0"),
}  # fmt: skip
FOLLOWED = {
    "merged": (kernels.LMC("merged"), mp.Static(4, jitter=0.5)),
    "paper": (kernels.LMC("paper"), mp.Static(4, jitter=0.5)),
    "nuts": (kernels.LMC("merged"), mp.NUTS(4)),
}


def mutate(monkeypatch, owner, method, *replacements, **names):
    """Replace pieces of a method's source, which must each be there once; `names` are what the new ones refer to."""
    source = textwrap.dedent(inspect.getsource(getattr(owner, method)))
    for right, wrong in replacements:
        assert source.count(right) == 1
        source = source.replace(right, wrong)
    namespace = {}
    exec(source, {**vars(sys.modules[owner.__module__]), **names}, namespace)
    monkeypatch.setattr(owner, method, namespace[method])


def worst(sampler, name="quartic", setting=0.5, step_size=0.9, chains=CHAINS):
    draws, acceptance = run(sampler, name, setting, step_size, chains)
    assert acceptance > 0.2
    return standard_errors_off(name, draws).max()


@functools.cache
def with_mistakes(way):
    """Chains in the Monge metric that make one of the mistakes, by its number, or none at −1.

    Which one is traced: to compile every mistake for itself would take many times as long as to draw with it.
    """
    made = []

    def monge(member, setting):
        alpha, number = setting
        made[:] = [number]
        return mp.Monge(alpha)

    def mistaken(number, wrong, right):
        return jnp.where(made[0] == number, wrong, right)

    replacements = {}
    for number, (owner, method, right, wrong) in enumerate(OF_MONGE.values()):
        replacements.setdefault((owner, method), []).append((right, f"mistaken({number}, {wrong}, {right})"))
    kernel, trajectory = FOLLOWED[way]
    sampler = compiled(kernel, monge, trajectory, DRAWS)
    with pytest.MonkeyPatch.context() as patch:
        for (owner, method), pairs in replacements.items():
            mutate(patch, owner, method, *pairs, mistaken=mistaken)
        off = worst(sampler, setting=(0.5, np.int32(-1)))  # compiled here, with the mistakes in it
    return sampler, off


@pytest.mark.parametrize("way", slow_but(FOLLOWED, "merged"))
def test_without_a_mistake_nothing_is_noticed(way):
    assert with_mistakes(way)[1] < MAX_STANDARD_ERRORS


@pytest.mark.parametrize(
    ("mutation", "way"),
    slow_but(
        [(mutation, way) for mutation in OF_MONGE for way in FOLLOWED],
        *((mutation, "merged") for mutation in OF_MONGE),
    ),
)
def test_one_mistake_in_the_monge_metric_is_noticed(mutation, way):
    sampler, _ = with_mistakes(way)
    off = worst(sampler, setting=(0.5, np.int32(list(OF_MONGE).index(mutation))))
    assert sampler._cache_size() == 1  # nothing was compiled again, without the mistakes
    assert off > 2 * MAX_STANDARD_ERRORS


def dense(member, _):
    return mp.Dense(lambda x: information(member)(x) + prior_precision(member))


# What is replaced by what in which method, and who looks: a kernel, its trajectory, length and other settings.
OTHERS = {
    "dense kick without its volume": (
        _DenseKick, "log_abs_ratio", "return log_abs_ratio(", "return 0.0 * log_abs_ratio(",
        kernels.LMC(), mp.Static(4, jitter=0.5), DRAWS, {},
    ),
    "force with half of the kinetic term": (
        DenseMetric, "force", "0.5 * self.square", "0.25 * self.square",
        kernels.RMHMC(), mp.Static(3), 12, {"name": "banana", "step_size": 0.42, "chains": 2000},
    ),
    "mmala without the determinant": (
        kernels.MMALA, "step", "0.5 * metric.log_det(place) - kinetic", "-kinetic",
        kernels.MMALA(), None, DRAWS, {},
    ),
    "explicit rmhmc accepted by energy alone": (
        kernels.ExplicitRMHMC, "step", "+ (spread[0] - spread[1])", "",
        kernels.ExplicitRMHMC(stiffness=2.0, width=1.8), mp.Static(4, jitter=0.5), DRAWS, {"step_size": 0.6},
    ),
}  # fmt: skip


SLOW = {
    "dense kick without its volume",
    "force with half of the kinetic term",
    "explicit rmhmc accepted by energy alone",
}


@pytest.mark.parametrize("mutation", slow_but(OTHERS, *(set(OTHERS) - SLOW)))
def test_leaving_out_a_term_is_noticed(mutation, monkeypatch):
    owner, method, right, wrong, kernel, trajectory, length, settings = OTHERS[mutation]
    mutate(monkeypatch, owner, method, (right, wrong))
    assert worst(compiled(kernel, dense, trajectory, length), **settings) > 2 * MAX_STANDARD_ERRORS


OF_PATCH = {
    "kick without an α²": ("omega", "self.algebra.omega(self.jacobian, change, velocity)"),
    "log-volume without an α²": ("log_abs_ratio", "self.algebra.log_abs_ratio(after, before)"),
}


@pytest.mark.parametrize("mutation", slow_but(OF_PATCH))
def test_one_mistake_in_a_patch_is_noticed(mutation, monkeypatch):
    method, right = OF_PATCH[mutation]
    mutate(monkeypatch, _PatchKick, method, (right, f"{right} / self.algebra.square"))
    sampler = compiled(kernels.LMC(), patch, mp.Static(4, jitter=0.5), 25)
    assert worst(sampler, "banana", 0.5, 0.6, 4000) > 2 * MAX_STANDARD_ERRORS


def test_ends_of_static_trajectories_in_trees_that_are_accepted_by_the_weights_of_all_leaves_are_noticed(monkeypatch):
    mutate(monkeypatch, TreeBuilder, "add", ("return weight,", "return jnp.logaddexp(branch.span.log_weight, weight),"))
    trajectory = NUTSOrStatic.trees(mp.NUTS(4)).with_static(mp.Static(4, jitter=0.5))
    sampler = compiled(kernels.LMC(), lambda member, _: mp.Euclidean(), trajectory, 25)
    assert worst(sampler) > 2 * MAX_STANDARD_ERRORS


def test_a_last_kick_of_the_whole_length_is_noticed(monkeypatch):
    mutate(monkeypatch, Lagrangian, "run", ("number + 1 < num_steps", "number < num_steps"))
    sampler = compiled(kernels.LMC(), lambda member, _: mp.Euclidean(), mp.Static(4, jitter=0.5), DRAWS)
    assert worst(sampler) > 2 * MAX_STANDARD_ERRORS


def turning(member, _):
    return mp.Euclidean([0.8, 1.2], [0.2, -0.3], 0.9)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("- back * offset", ""), (" - self.frequency * jnp.sin(angle) * offset", "")],
    ids=["position", "velocity"],
)
def test_a_turn_of_one_of_position_and_velocity_alone_is_noticed(monkeypatch, right, wrong):
    mutate(monkeypatch, mp.Euclidean, "drift", (right, wrong))
    sampler = compiled(kernels.LMC(), turning, mp.Static(4, jitter=0.5), DRAWS)
    assert worst(sampler) > 2 * MAX_STANDARD_ERRORS


def test_steps_that_are_longer_where_the_density_is_low_are_noticed(monkeypatch):
    """What the length of steps depends on must be the same at the end of a trajectory as at its start."""
    right = "dynamics.stretched(self.stretch(length_key))"
    wrong = "dynamics.stretched(1.0 - 0.1 * jnp.tanh(start.point.logdensity))"
    mutate(monkeypatch, mp.Static, "propose", (right, wrong))
    sampler = compiled(kernels.LMC(), lambda member, _: mp.Euclidean(), mp.Static(4), DRAWS)
    assert worst(sampler) > 2 * MAX_STANDARD_ERRORS
