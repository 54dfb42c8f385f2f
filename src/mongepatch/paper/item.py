"""The parts of an item of the paper: tasks whose results are kept, and a section of the report made from them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Size = Literal["quick", "full"]
"""Minutes on a laptop, or the paper's own sizes."""
Numbers: TypeAlias = Mapping[str, Any]
"""Arrays, numbers and strings by name: the result of a task."""
Results: TypeAlias = Mapping[str, Numbers]
"""By the label of the task. What could not be done is absent."""
Verdict = Literal["holds", "holds in part", "does not hold", "not checked"]


class Task(NamedTuple):
    """A computation, done once for its settings; its result is kept."""

    label: str
    """Unique within an item."""
    compute: Callable[..., Numbers]
    """A function of a module, which other processes can import."""
    settings: Mapping[str, Any]
    """Its arguments by name: numbers, strings, and lists of them."""


class Figure(NamedTuple):
    """A picture with its caption."""

    name: str
    """Of its files."""
    drawing: "Drawing"
    caption: str
    """What the picture shows, in plain text."""
    alternative: str
    """A description of the picture, for those who cannot see it."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    form: str = ""
    """Format of its numbers, as for `format`; empty for text."""
    meaning: str = ""
    """Shown on demand, where the name does not say it."""


class Table(NamedTuple):
    """Rows of values, None where there is none."""

    name: str
    """Of its files."""
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    shown: bool = True
    """Whether it is in the report, or in the files only."""


class Claim(NamedTuple):
    """What the paper says, and what was found."""

    paper: str
    verdict: Verdict
    measured: str


class Section(NamedTuple):
    """What the report says of an item."""

    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    claims: Sequence[Claim] = ()


class Item(NamedTuple):
    """A figure or a table of the paper."""

    name: str
    title: str
    tasks: Callable[[Size], Sequence[Task]]
    present: Callable[[Results], Section]
    """Called where there is at least one result."""
    about: str = ""
    """The experiment in a sentence or two."""
