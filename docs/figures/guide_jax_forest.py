"""A figure of the page guide_jax, as its code makes it."""

from docs.figures.guides import figure_of


def draw():
    """The plot that the page calls `forest`."""
    return figure_of("guide_jax", "forest")
