"""What an item of the paper is made of: work whose results are kept, and a section of the report drawn from them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Size = Literal["quick", "full"]
"""Minutes on a laptop, or the paper's own sizes."""
Numbers: TypeAlias = Mapping[str, Any]
"""Arrays, numbers and strings by name: what a piece of work makes."""
Results: TypeAlias = Mapping[str, Numbers]
"""By the label of the work. What could not be done is absent."""
Verdict = Literal["holds", "holds in part", "does not hold", "not checked"]


class Task(NamedTuple):
    """A piece of work, done once for its settings and kept."""

    label: str
    """Unique within an item."""
    compute: Callable[..., Numbers]
    """A function of a module, which other processes can find."""
    settings: Mapping[str, Any]
    """What it is called with, by name: numbers, strings, and lists of them."""


class Figure(NamedTuple):
    """A picture with its caption."""

    name: str
    """Of its files."""
    drawing: "Drawing"
    caption: str
    """What to see, in plain text."""
    alternative: str
    """What is drawn, for those who cannot see it."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    form: str = ""
    """How to write its numbers, as for `format`; text where empty."""
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
    """Called where there is any result at all."""
    about: str = ""
    """What the experiment is, in a sentence or two."""
