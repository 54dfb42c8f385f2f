"""Functions that JAX cannot trace: the errors that say so, and what there is to do."""

from jax.errors import ConcretizationTypeError, TracerArrayConversionError, TracerIntegerConversionError

UNTRACEABLE = (ConcretizationTypeError, TracerArrayConversionError, TracerIntegerConversionError)
"""What JAX raises where a function asks for the value of a traced number; `if` raises one of the first kind."""

WRITE_IT_WITH_JAX = "Write it with jax.numpy, and jnp.where or jax.lax.cond in place of if."
