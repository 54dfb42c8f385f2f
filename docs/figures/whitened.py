"""Two groups of the README's model: as it is written, and in whitened coordinates."""

import jax
import numpy as np

import mongepatch as mp
from docs.figures.common import BLUE, GREEN, canvas, dots, values
from docs.figures.runs import groups_target, groups_whitened

GROUPS = ((10, "a group with one observation", BLUE), (2, "a group with 400", GREEN))


def draw():
    """The same draws in both coordinates."""
    target, tree = groups_target(), groups_whitened()
    mu, tau, theta = (values(tree, name) for name in ("mu", "tau", "theta"))
    assert target.layout.names == ("mu", "tau", "theta")
    model = np.concatenate([mu.reshape(-1, 1), np.log(tau).reshape(-1, 1), theta.reshape(-1, 20)], axis=1)
    whitened = np.asarray(jax.vmap(mp.whiten(target, positions=model[::20]).logdensity.from_model)(model))
    figure, axes = canvas(2, 2, 2.7)
    for axis, (group, name, colour) in zip(axes[0], GROUPS, strict=True):
        dots(axis, model[:, 2 + group], model[:, 1], colour, alpha=0.25)
        axis.set(title=name, xlabel="theta", ylabel="log tau", ylim=(-8, 0))
    for axis, (group, _, colour) in zip(axes[1], GROUPS, strict=True):
        dots(axis, whitened[:, 2 + group], whitened[:, 1], colour, alpha=0.25)
        axis.set(title="the same draws, whitened", xlabel="z", ylabel="log tau", ylim=(-8, 0), xlim=(-4.2, 4.2))
    return figure
