"""Integrators: kick, drift, kick."""

from mongepatch.integrators.lagrangian import Lagrangian, Motion, Phase, Scheme
from mongepatch.integrators.path import Path, integrate

__all__ = ["Lagrangian", "Motion", "Path", "Phase", "Scheme", "integrate"]
