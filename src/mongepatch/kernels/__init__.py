"""Kernels: one draw to the next, in BlackJAX's shape."""

from mongepatch.integrators import Failure
from mongepatch.kernels.base import Algorithm, Info, Kernel, State
from mongepatch.kernels.explicit_rmhmc import ExplicitRMHMC, explicit_rmhmc
from mongepatch.kernels.lmc import LMC, lmc
from mongepatch.kernels.mmala import MMALA, mmala
from mongepatch.kernels.rmhmc import RMHMC, rmhmc

__all__ = [
    "LMC",
    "MMALA",
    "RMHMC",
    "Algorithm",
    "ExplicitRMHMC",
    "Failure",
    "Info",
    "Kernel",
    "State",
    "explicit_rmhmc",
    "lmc",
    "mmala",
    "rmhmc",
]
