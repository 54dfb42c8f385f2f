"""Residuals read off a log density's own program: a walk back through it that collects squares."""

from mongepatch.program.squares.reading import Reading, ResidualBlock, read_squares

__all__ = ["Reading", "ResidualBlock", "read_squares"]
