"""Targets in other coordinates."""

from mongepatch.coordinates.mapped import MappedDensity
from mongepatch.coordinates.whiten import Whitening, whiten, whitening_of
from mongepatch.coordinates.whitened import Information, WhitenedDensity

__all__ = ["Information", "MappedDensity", "WhitenedDensity", "Whitening", "whiten", "whitening_of"]
