"""A random variable of a PyMC model, and the law that its residuals are made by."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from numpyro.distributions import biject_to
from pymc.variational.minibatch_rv import MinibatchRandomVariable, get_scaling

from mongepatch.frontends.pymc.checks import kind_of
from mongepatch.frontends.pymc.laws import Law, NotListedError, find
from mongepatch.frontends.pymc.model import Model
from mongepatch.frontends.pymc.unlisted import nothing, unlisted
from mongepatch.frontends.residuals import Site, rows

Choices: TypeAlias = tuple[Callable[[], Law], ...]


class Random(NamedTuple):
    """A random variable with one law of those that it may have."""

    name: str
    kind: str
    observed: bool
    own: tuple[Any, ...]
    """Graphs of its value and, where `total_size` is given, of how often its density counts."""
    law: Law
    others: Choices
    """What its law may be else, the best first."""
    has_coordinates: bool = False
    """Whether PyMC's unconstrained value is NumPyro's too, so that residuals may be made of it."""

    @property
    def graphs(self) -> tuple[Any, ...]:
        """Of all that its residuals are made of, besides its unconstrained value."""
        return (*self.own, *self.law.parameters)

    def sites(self, arrays: Sequence[jax.Array], raw: jax.Array | None) -> list[Site]:
        """What the table of residuals sees of it, from the values of `graphs` and its unconstrained value."""
        value, weight = arrays[0], arrays[1] if len(self.own) > 1 else None
        return [
            _complete(site, self.observed, weight, site.raw if self.has_coordinates or site.raw is not raw else None)
            for site in self._bare_sites(value, arrays, raw)
        ]

    def fits(self, arrays: Sequence[jax.Array], raw: jax.Array | None) -> bool:
        """Whether its law makes residuals. They are a help: no model is refused for the want of one."""
        try:
            found = [part for site in self.sites(arrays, raw) for part in rows(site)]
        except Exception:
            return False
        return all(bool(jnp.isfinite(part).all()) for part in found)

    def same_coordinates(self, arrays: Sequence[jax.Array], raw: jax.Array | None) -> bool:
        """Whether PyMC's unconstrained value is NumPyro's at one point."""
        found = self._bare_sites(arrays[0], arrays, raw)
        if raw is None or len(found) != 1 or found[0].raw is not raw:
            return False
        if not hasattr(found[0].fn, "support"):
            return True  # no distribution of NumPyro's: the value is taken as PyMC has it
        theirs = biject_to(found[0].fn.support).inv(arrays[0])
        return theirs.shape == raw.shape and bool(jnp.allclose(theirs, raw, rtol=1e-3, atol=1e-3))

    def with_next_law(self) -> "Random":
        """The same with another law, where this one does not fit."""
        law, others = _choose(self.others)
        return self._replace(law=law, others=others)

    def _bare_sites(self, value: jax.Array, arrays: Sequence[jax.Array], raw: jax.Array | None) -> list[Site]:
        # PyTensor holds constants in the least type that they fit into: too little for what is made of them.
        parameters = [array.astype(jnp.result_type(float)) for array in arrays[len(self.own) :]]
        return self.law.sites(parameters, value, raw)


def random_variables(model: Model) -> Iterator[Random]:
    """All of a model, in its order."""
    for variable in model.pymc.basic_RVs:
        inner, own = variable, [variable]
        if isinstance(variable.owner.op, MinibatchRandomVariable):
            inner, *total = variable.owner.inputs
            own.append(get_scaling(total, variable.shape))
        observed = variable in model.pymc.observed_RVs
        choices = (_listed(inner), unlisted(model, variable, observed, own[1:]), nothing)
        yield Random(variable.name, kind_of(inner), observed, tuple(own), *_choose(choices))


def _listed(variable: Any) -> Callable[[], Law]:
    return lambda: find(variable)


def _choose(choices: Choices) -> tuple[Law, Choices]:
    """The first law that there is, and what comes after it."""
    try:
        return choices[0](), choices[1:]
    except NotListedError:
        return _choose(choices[1:])


def _complete(site: Site, observed: bool, weight: jax.Array | None, raw: Any) -> Site:
    shape = jnp.shape(site.value)
    batch = jnp.broadcast_shapes(site.fn.batch_shape, shape[: len(shape) - site.fn.event_dim])
    return site._replace(observed=observed, batch=batch, raw=raw, weight=weight)
