"""Kernels by the names that users give them."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

from mongepatch.errors import SettingError
from mongepatch.integrators import Scheme
from mongepatch.kernels import LMC, MMALA, RMHMC, ExplicitRMHMC, Kernel

KernelName: TypeAlias = Literal["lmc", "rmhmc", "explicit-rmhmc", "mmala"]

KERNELS: dict[str, Callable[[], Kernel]] = {kind.name: kind for kind in (LMC, RMHMC, ExplicitRMHMC, MMALA)}
"""Every kernel by its name."""


def kernel_from(kernel: Any, scheme: Scheme | None) -> Kernel:
    """The kernel of a name, or one that is given; the scheme belongs to LMC."""
    if scheme is not None:
        if kernel not in ("lmc", LMC()):
            raise SettingError(f'scheme is a setting of the kernel "lmc"; the kernel is {kernel!r}.')
        return LMC(scheme)
    if isinstance(kernel, str) and kernel in KERNELS:
        return KERNELS[kernel]()
    if isinstance(kernel, Kernel) and not isinstance(kernel, type):
        return kernel
    raise SettingError(f"kernel must be one of {get_args(KernelName)} or a kernel; it is {kernel!r}.")
