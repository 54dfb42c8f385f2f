"""Functions as JAX traced them: their text, apart from the data that they close over."""

from mongepatch.program.compiling import jit
from mongepatch.program.density import check_density, trace_density
from mongepatch.program.program import Program, trace
from mongepatch.program.traced_function import TracedFunction

__all__ = ["Program", "TracedFunction", "check_density", "jit", "trace", "trace_density"]
