"""How named parameters lie in a flat vector."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import PyTree, Vector, Vectors
from mongepatch.errors import ParameterError

_BY_NAME = jax.tree.structure(None)  # of no pytree that has parameters; tree structures cannot be compared with None


@dataclass(frozen=True)
class Layout:
    """Names and shapes of the parameters, in the order in which a flat vector holds them.

    Layouts compare by value, so that a log density wrapped twice with the same layout is compiled once.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    treedef: Any = _BY_NAME
    """Structure of the user's pytree, where it is not a dict in the order of `names`."""

    @classmethod
    def of(cls, tree: PyTree) -> "Layout":
        """The layout of a pytree of parameters: dict keys are names, a bare array is called `x`."""
        leaves, treedef = jax.tree_util.tree_flatten_with_path(tree)
        names = tuple(_name(path) for path, _ in leaves)
        arrays = [_real(name, leaf) for name, (_, leaf) in zip(names, leaves, strict=True)]
        if not sum(array.size for array in arrays):
            raise ParameterError("The starting point holds no parameters: give an array, or a dict of arrays.")
        return cls(names, tuple(array.shape for array in arrays), treedef)

    @property
    def size(self) -> int:
        """Length of the flat vector."""
        return sum(math.prod(shape) for shape in self.shapes)

    def mask(self, names: Collection[str]) -> np.ndarray:
        """Which places of the flat vector hold these parameters."""
        sizes = [math.prod(shape) for shape in self.shapes]
        return np.repeat([name in names for name in self.names], sizes)

    def only(self, names: Collection[str]) -> "Layout":
        """The layout of these parameters alone, in the same order."""
        kept = {name: shape for name, shape in zip(self.names, self.shapes, strict=True) if name in names}
        return Layout(tuple(kept), tuple(kept.values()))

    @property
    def by_name(self) -> bool:
        """Whether parameters have names only, and no pytree of the user's own."""
        return bool(self.treedef == _BY_NAME)

    def named(self, flat: Any) -> dict[str, Any]:
        """The parts of a flat vector by name; leading axes, of draws and chains, stay."""
        return dict(zip(self.names, self._parts(flat), strict=True))

    def tree(self, flat: Vectors) -> PyTree:
        """The user's pytree; leading axes stay."""
        return self.named(flat) if self.by_name else self.treedef.unflatten(self._parts(flat))

    def tree_of(self, values: Mapping[str, Any]) -> PyTree:
        """The user's pytree from values by name; the values themselves where there is no other, or where some lack."""
        if self.by_name or not set(self.names) <= set(values):
            return dict(values)
        return self.treedef.unflatten([values[name] for name in self.names])

    def flat(self, tree: PyTree) -> Vector:
        """The flat vector of a pytree of this layout. Where parameters have names only, it may be flat already."""
        if self.by_name and not isinstance(tree, dict):
            arrays = [_real(" and ".join(self.names), tree)]
            fits = arrays[0].shape == (self.size,) or (arrays[0].shape,) == self.shapes
        else:
            leaves = self._ordered_leaves(tree)
            arrays = [_real(name, leaf) for name, leaf in zip(self.names, leaves, strict=True)]
            fits = tuple(array.shape for array in arrays) == self.shapes
        if not fits:
            wanted = dict(zip(self.names, self.shapes, strict=True))
            raise ParameterError(
                f"The starting point must have the shapes {wanted}"
                + (f", or be a flat vector of length {self.size}" if self.by_name else "")
                + f"; it has {[array.shape for array in arrays]}."
            )
        return jnp.concatenate([array.ravel() for array in arrays])

    def _ordered_leaves(self, tree: PyTree) -> list[Any]:
        if self.by_name:
            if set(tree) != set(self.names):
                raise ParameterError(f"The starting point must name {list(self.names)}; it names {sorted(tree)}.")
            return [tree[name] for name in self.names]
        leaves, treedef = jax.tree.flatten(tree)
        if treedef != self.treedef:
            raise ParameterError(f"The starting point must have the structure {self.treedef}; it has {treedef}.")
        return leaves

    def _parts(self, flat: Any) -> list[Any]:
        parts, offset = [], 0
        for shape in self.shapes:
            size = math.prod(shape)
            parts.append(flat[..., offset : offset + size].reshape((*flat.shape[:-1], *shape)))
            offset += size
        return parts


def _name(path: tuple[Any, ...]) -> str:
    name = jax.tree_util.keystr(path, simple=True, separator=".")
    if not name:
        return "x"
    return f"x_{name}" if name[0].isdigit() else name


def _real(name: str, leaf: Any) -> jax.Array:
    """A parameter as a floating-point array, or a refusal."""
    try:
        array = jnp.asarray(leaf)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"Parameter {name!r} is not an array of numbers: {leaf!r}.") from error
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise ParameterError(
            f"Parameter {name!r} has type {array.dtype}; the sampler moves through real numbers. Write the starting "
            "value as a float (0.0, not 0), and sum a discrete parameter out of the density."
        )
    return array
