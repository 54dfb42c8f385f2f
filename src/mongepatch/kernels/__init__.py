"""Kernels: from one draw to the next."""

from mongepatch.integrators import Failure
from mongepatch.kernels.algorithm import Algorithm, State
from mongepatch.kernels.base import Info, Kernel, Setup, SteppedKernel, check_motion, draw, drawn
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
    "Setup",
    "State",
    "SteppedKernel",
    "check_motion",
    "draw",
    "drawn",
    "explicit_rmhmc",
    "lmc",
    "mmala",
    "rmhmc",
]
