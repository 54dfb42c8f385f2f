"""Kernels: one draw to the next, in BlackJAX's shape."""

from mongepatch.kernels.base import Algorithm, Failure, Info, State
from mongepatch.kernels.lmc import lmc

__all__ = ["Algorithm", "Failure", "Info", "State", "lmc"]
