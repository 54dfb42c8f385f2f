"""The target of a run: a log density on flat vectors, with the names that its user knows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mongepatch._typing import LogDensity, Matrix, PRNGKey, PyTree, Scalar, Vector
from mongepatch.targets.layout import Layout
from mongepatch.targets.truth import Truth


@dataclass(frozen=True)
class Target:
    """A distribution to sample.

    A target is itself a log density of flat vectors: `target(x)` works wherever a log density is asked for.
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

    @classmethod
    def from_density(cls, logdensity: LogDensity, example: PyTree) -> "Target":
        """A target from a log density of a pytree, and one such pytree."""
        layout = Layout.of(example)
        return cls(lambda flat: logdensity(layout.tree(flat)), layout)

    def __call__(self, position: Vector) -> Scalar:
        """The log density at a flat position."""
        return self.logdensity(position)

    @property
    def dimension(self) -> int:
        """Number of scalar parameters."""
        return self.layout.size
