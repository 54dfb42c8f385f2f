"""The target of a run: a log density on flat vectors, with the names that its user knows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mongepatch._typing import AnyVector, LogDensity, Matrix, PRNGKey, PyTree, Scalar, Vector
from mongepatch.targets.generative import GenerativeModel, add_log_likelihood, add_predictions, add_prior
from mongepatch.targets.inner import inner_coordinates
from mongepatch.targets.layout import Layout
from mongepatch.targets.residuals import DataSite, ModelResiduals
from mongepatch.targets.truth import Truth

_MOST_NAMES = 12
"""Parameters that a target is shown with."""


@dataclass(frozen=True, repr=False)
class Target:
    """A distribution to sample.

    A target is itself a log density of flat vectors: `target(x)` works wherever a log density is asked for.

    Example:
        >>> target = mp.Target.from_density(lambda p: -0.5 * (p["x"] @ p["x"]), {"x": jnp.zeros(3)})
        >>> float(target(jnp.ones(3)))
        -1.5
    """

    logdensity: Callable[[Vector], Scalar]
    """ℓ of a flat vector, up to a constant."""
    layout: Layout
    """Names, shapes and order of the parameters in the flat vector."""
    start: Callable[[PRNGKey], Vector] | None = None
    """A random starting point, where the target knows one; several of them are dispersed."""
    dims: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Names of the dimensions of each parameter, for the result."""
    coords: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Labels along the dimensions, for the result."""
    truth: Truth | None = None
    """What is known of the distribution without sampling it."""
    information: Callable[[Vector], Matrix] | None = None
    """Expected information of the data plus precision of the prior at a flat position, where there is a closed form."""
    residuals: Callable[[Vector], AnyVector] | None = None
    """f, the whitened residuals of a model at a flat position, where it has them: JᵀJ of its Jacobian is a metric."""
    model: ModelResiduals | None = None
    """The residuals of latent variables and of data apart, where they are known, for whitened coordinates."""
    constrain: Callable[[Vector], dict[str, Array]] | None = None
    """The variables of the result at a flat position, where these are not the parts of the vector by name. Where it
    calls back into Python, it should have a method `at_rows` besides, which makes them of the rows of a NumPy array."""
    unconstrain: Callable[[Mapping[str, Any], Vector], Vector] | None = None
    """A flat position with variables of these names at these values, and all else as at a given flat position. Where it
    is None, the values of variables are the parts of the vector."""
    generative: GenerativeModel | None = None
    """Draws data and evaluates the log likelihood, where the target comes from a model."""
    interface: tuple[str, str] | None = None
    """Name and version of the library that the model is written for, for the result."""
    coordinates: Any = None
    """How these coordinates are made from the model's own, where they are others: see `mongepatch.whiten`."""
    observed_data: Mapping[str, Any] = field(default_factory=dict)
    """Data that the density is conditioned on, for the result."""
    constant_data: Mapping[str, Any] = field(default_factory=dict)
    """Other data that it was made with, for the result."""
    origin: str = "density"
    """What it was made from: "density", "NumPyro", "PyMC" or "Stan"."""
    parameters: tuple[str, ...] = ()
    """Variables of the result that are sampled, where a model says so; others are computed from them."""
    explain: Callable[[Vector], str] | None = None
    """Says why the density is not finite at a flat position, in terms of the model; empty where it cannot tell."""
    description: str = ""
    """What the target is made of, for a person to read."""

    @classmethod
    def from_density(cls, logdensity: LogDensity, example: PyTree) -> "Target":
        """A target from a log density of a pytree, and one such pytree."""
        layout = Layout.of(example)
        return cls(lambda flat: logdensity(layout.tree(flat)), layout)

    def with_residuals(
        self, residuals: Callable[[Any], Any], data_residuals: Callable[[Any], Any] | None = None
    ) -> "Target":
        """The target with residual maps of your own: from its parameters, by name, to arrays in any pytree.

        Args:
            residuals: those of the latent variables; of data too, where `data_residuals` are not given.
            data_residuals: those of data.
        """
        layout, logdensity = self.layout, self.logdensity

        def flat(function: Callable[[Any], Any]) -> Callable[[Vector], AnyVector]:
            def flat_residuals(position: Vector) -> AnyVector:
                arrays = [jnp.ravel(array) for array in jax.tree.leaves(function(layout.tree(position)))]
                return arrays[0] if len(arrays) == 1 else jnp.concatenate(arrays)

            return flat_residuals

        latent, data = flat(residuals), None if data_residuals is None else flat(data_residuals)

        def data_site(position: Vector) -> tuple[DataSite, ...]:
            # Where latent variables are normal, what they leave of the log density is the data's.
            prior = latent(position)
            likelihood = logdensity(position) + 0.5 * (prior @ prior)
            rows = jnp.zeros(0, position.dtype) if data is None else data(position)
            return (DataSite(rows, likelihood, jnp.ones((), position.dtype)),)

        def every(position: Vector) -> AnyVector:
            return latent(position) if data is None else jnp.concatenate([latent(position), data(position)])

        return replace(self, residuals=every, model=ModelResiduals(latent, data_site, has_own_likelihood=False))

    def __call__(self, position: Vector | np.ndarray) -> Scalar:
        """The log density at a flat position."""
        return self.logdensity(jnp.asarray(position))

    def __repr__(self) -> str:
        """What it was made from, and the parameters in the order of the flat vector."""
        parameters = [f"{name} {shape}" for name, shape in zip(self.layout.names, self.layout.shapes, strict=True)]
        if len(parameters) > _MOST_NAMES:
            parameters[_MOST_NAMES:] = [f"and {len(parameters) - _MOST_NAMES} more"]
        source = "a density" if self.origin == "density" else self.origin
        residuals = "without residuals" if self.residuals is None else "with residuals"
        return f"<Target from {source}, dimension {self.dimension}: {', '.join(parameters)}; {residuals}>"

    def describe(self) -> str:
        """What the target is made of, in words: for a model its random variables, and the residuals they have got."""
        lines = [self.description or "\n".join(f"{name}, shape {shape}" for name, shape in self.variables.items())]
        if self.model is not None:
            position = jax.ShapeDtypeStruct((self.dimension,), jnp.result_type(float))
            found = inner_coordinates(self.model, position)
            lines.append(
                f"Inner coordinates, which can be whitened given the outer ones: {found.words(self.layout)}."
                if found is not None
                else "No coordinate is inner, so that nothing can be whitened."
            )
        return "\n".join(lines)

    def log_likelihood(self, tree: Any) -> Any:
        """The tree with the group `log_likelihood`, for `arviz_stats.loo` and `arviz_stats.compare`.

        Args:
            tree: a result of `mongepatch.sample` for this target, or of `mongepatch.sample_pymc`. It stays as it is.

        Returns:
            A tree of the same type with the log density of every observation at every draw.

        Raises:
            ModelError: the target is no model of NumPyro or PyMC, nor one of Stan with `log_lik`.
        """
        return add_log_likelihood(self, tree)

    def predict(self, tree: Any, *, seed: int = 0, data: Mapping[str, Any] | None = None) -> Any:
        """The tree with the group `posterior_predictive`: data drawn from the model at every draw.

        Args:
            tree: a result of `mongepatch.sample` for this target, or of `mongepatch.sample_pymc`. It stays as it is.
            seed: decides the draws.
            data: other values for arguments of a NumPyro model, or for `pm.Data` of a PyMC model, by name. Draws are
                then in the group `predictions`, and these values in `predictions_constant_data`.

        Returns:
            A tree of the same type with the new group.

        Raises:
            ModelError: the target is no NumPyro, PyMC or Stan model, or the model cannot draw its data.
        """
        return add_predictions(self, tree, seed, data)

    def prior_predictive(self, tree: Any = None, *, draws: int = 500, seed: int = 0) -> Any:
        """A tree with the groups `prior` and `prior_predictive`: variables and data drawn from the model alone.

        Args:
            tree: a result to add the groups to. It stays as it is. By default a new tree is made.
            draws: number of draws.
            seed: decides the draws.

        Raises:
            ModelError: the target is no NumPyro or PyMC model, or the prior of some variable cannot be drawn from.
        """
        return add_prior(self, tree, draws, seed)

    @property
    def variables(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the variables of the result."""
        if self.constrain is None:
            return dict(zip(self.layout.names, self.layout.shapes, strict=True))
        constrain = self.constrain
        position = jax.ShapeDtypeStruct((self.dimension,), jnp.result_type(float))
        shapes = jax.eval_shape(lambda x: constrain(x), position)
        return {name: value.shape for name, value in shapes.items()}

    @property
    def dimension(self) -> int:
        """Number of scalar parameters."""
        return self.layout.size
