"""Likelihoods of NumPyro models as numbers that are computed at once, where that takes less time than term by term."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import BernoulliLogits, Distribution, Independent, constraints
from numpyro.primitives import Messenger

from mongepatch.targets.bernoulli import bernoulli_log_likelihood


class SummedLikelihoods(Messenger):  # type: ignore[misc]  # numpyro has no types
    """Runs a model so that observed zeros and ones with log odds have one distribution together.

    For log densities alone: whoever looks at the sites finds other distributions than the model has.
    """

    def process_message(self, msg: dict[str, Any]) -> None:
        """Take a statement of the model, to which its plates have given shapes."""
        is_observed = msg["type"] == "sample" and msg["is_observed"]
        if not is_observed or np.ndim(0 if msg["scale"] is None else msg["scale"]):
            return
        fn = msg["fn"]
        while type(fn) is Independent:
            fn = fn.base_dist
        if type(fn) is BernoulliLogits and jnp.shape(msg["value"]) == jnp.shape(fn.logits):
            msg["fn"] = _Outcomes(fn.logits)


class _Outcomes(Distribution):  # type: ignore[misc]
    """Zeros and ones with log odds, as one draw."""

    support = constraints.independent(constraints.boolean, 1)

    def __init__(self, log_odds: Any) -> None:
        self.log_odds = jnp.asarray(log_odds)
        super().__init__(event_shape=self.log_odds.shape)

    def log_prob(self, value: Any) -> jax.Array:
        """The sum of all; −∞ where one is neither 0 nor 1."""
        dtype = self.log_odds.dtype
        is_traced = isinstance(value, jax.core.Tracer)
        signs = 2 * (value.astype(dtype) if is_traced else np.asarray(value, dtype)) - 1
        total = bernoulli_log_likelihood(self.log_odds, jnp.asarray(signs))
        if is_traced or not (np.abs(signs) == 1).all():
            total = jnp.where((jnp.abs(signs) == 1).all(), total, -jnp.inf)
        return total
