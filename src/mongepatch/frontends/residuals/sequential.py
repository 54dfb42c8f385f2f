"""Time series: residuals of the increments, each of which depends on two neighbouring values alone."""

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

from mongepatch.frontends.residuals.registry import register_residual
from mongepatch.frontends.residuals.site import Residual, ResidualArray, Site


@register_residual(dist.GaussianRandomWalk, formula="(x₁, x₂ − x₁, …)/scale", of_data="√steps·log scale")
def random_walk(site: Site) -> Residual:
    """Increments are normal."""
    scale = jnp.expand_dims(site.fn.scale, -1)
    first = site.value[..., :1]
    steps = jnp.concatenate([first, site.value[..., 1:] - site.value[..., :-1]], axis=-1) / scale
    return [steps, site.fn.num_steps**0.5 * jnp.log(scale)] if site.observed else steps


@register_residual(dist.EulerMaruyama, formula="(Δx − f·Δt)/(g·√Δt), and the residual of the initial value")
def euler_maruyama(site: Site) -> Residual:
    """Increments of dx = f dt + g dW are normal; data has log g too."""
    fn, axis = site.fn, len(site.batch)
    x = jnp.broadcast_to(site.value, site.batch + fn.event_shape)
    time = jnp.broadcast_to(fn.t, site.batch + fn.event_shape[:1])
    before, after = jax.lax.slice_in_dim(x, 0, -1, axis=axis), jax.lax.slice_in_dim(x, 1, None, axis=axis)
    coefficients = fn.sde_fn
    for _ in range(axis + 1):
        coefficients = jax.vmap(coefficients)
    f, g = (_with_state_axes(part, x.ndim, axis) for part in coefficients(before, time[..., :-1]))
    dt = jnp.diff(time).reshape(*before.shape[: axis + 1], *(1,) * (x.ndim - axis - 1))
    scale = jnp.sqrt(dt) * g
    parts = [ResidualArray((after - before - dt * f) / scale, fn.event_dim)]
    if site.observed:
        parts.append(ResidualArray(jnp.log(jnp.broadcast_to(scale, after.shape)), fn.event_dim))
    return [*parts, site.with_distribution(fn.init_dist, jnp.take(x, 0, axis=axis))]


def _with_state_axes(part: jax.Array, ndim: int, axis: int) -> jax.Array:
    """A coefficient with axes of length 1 for the components of the state, if it is the same for all of them."""
    return part.reshape(part.shape[: axis + 1] + (1,) * (ndim - part.ndim) + part.shape[axis + 1 :])
