"""Dataclasses as JAX pytrees."""

from dataclasses import fields
from typing import Any, TypeVar

import jax

T = TypeVar("T")


def pytree(cls: type[T]) -> type[T]:
    """Register a dataclass as a pytree whose leaves are its fields.

    JAX rebuilds pytrees from tracers and placeholders, on which a constructor's checks make no sense. So a registered
    class is rebuilt without calling `__init__`, which is free to validate what a *user* passes. All fields are traced:
    changing their values never recompiles.
    """
    names = tuple(field.name for field in fields(cls))  # type: ignore[arg-type]  # a dataclass, by contract

    def flatten_with_keys(node: T) -> tuple[list[tuple[Any, Any]], None]:
        return [(jax.tree_util.GetAttrKey(name), getattr(node, name)) for name in names], None

    def flatten(node: T) -> tuple[list[Any], None]:
        return [getattr(node, name) for name in names], None

    def unflatten(_: None, children: Any) -> T:
        node = object.__new__(cls)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(node, name, child)
        return node

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls


def is_concrete(value: Any) -> bool:
    """Whether `value` holds numbers that can be looked at, rather than a tracer."""
    return not isinstance(value, jax.core.Tracer)
