"""Functions as JAX traced them: their text, apart from the data that they close over, and squares in them."""

from mongepatch.program.compiling import jit, watch_compilation
from mongepatch.program.constants import in_numpy
from mongepatch.program.cost import ProgramCost, cost_of
from mongepatch.program.density import check_density, trace_density
from mongepatch.program.entries import entries_read
from mongepatch.program.fingerprint import fingerprint_of_code, fingerprint_of_data
from mongepatch.program.program import Program, trace
from mongepatch.program.rows import map_rows
from mongepatch.program.squares import Reading, ResidualBlock, read_squares
from mongepatch.program.traced_function import TracedFunction
from mongepatch.program.two_vectors import at_two_vectors, takes_several_vectors
from mongepatch.program.untraceable import UNTRACEABLE, WRITE_IT_WITH_JAX
from mongepatch.program.windows import block_at, scattered_places

__all__ = [
    "UNTRACEABLE",
    "WRITE_IT_WITH_JAX",
    "Program",
    "ProgramCost",
    "Reading",
    "ResidualBlock",
    "TracedFunction",
    "at_two_vectors",
    "block_at",
    "check_density",
    "cost_of",
    "entries_read",
    "fingerprint_of_code",
    "fingerprint_of_data",
    "in_numpy",
    "jit",
    "map_rows",
    "read_squares",
    "scattered_places",
    "takes_several_vectors",
    "trace",
    "trace_density",
    "watch_compilation",
]
