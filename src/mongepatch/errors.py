"""Errors that a user can act on: each message says what to change.

Bad input raises one of these before anything is compiled. What goes wrong *during* a run never raises: it is a code in
`mongepatch.Info` (see `mongepatch.Failure`), counted in `sample_stats`.
"""


class MongepatchError(Exception):
    """Base of every error that mongepatch raises on purpose."""


class LogDensityError(MongepatchError, ValueError):
    """The log density cannot be sampled: wrong output, no derivative, or not finite where chains start."""


class ParameterError(MongepatchError, TypeError):
    """The parameters are not a pytree of real, continuous arrays of the expected structure."""


class MetricError(MongepatchError, ValueError):
    """A metric's own numbers are invalid: negative α, an inverse mass that is no covariance, a wrong shape."""


class SettingError(MongepatchError, ValueError):
    """A sampler setting is out of range: step size, number of steps, chains, draws."""


class ArgumentError(SettingError, TypeError):
    """A function was given an argument that it does not have; the message names the one that was probably meant."""


class DataError(MongepatchError, OSError):
    """A dataset cannot be had, or a file is not what it should be."""


class StoreError(MongepatchError, OSError):
    """A store cannot be opened or written; draws that were complete stay in it."""


class DamagedStoreError(StoreError):
    """A file of a store is missing, or is not what was written; the file is named."""


class LockedStoreError(StoreError):
    """Another process writes to the store."""


class OtherRunError(StoreError, ValueError):
    """A store is of another model, other settings or another version than it is opened with."""


class ModelError(MongepatchError, ValueError):
    """A model of a probabilistic programming language cannot be sampled; the site at fault is named."""


class MissingExtraError(MongepatchError, ImportError):
    """An optional dependency is needed and not installed."""


class TransportError(MongepatchError, TypeError):
    """A model cannot be sent to another process; the message says how it can be built there."""


class WorkerError(MongepatchError, RuntimeError):
    """Workers of an executor were lost again and again, or the executor itself is broken."""


class HostLostError(MongepatchError, RuntimeError):
    """A process of a run on several hosts does not answer any more; it is named."""


class SamplingInterrupted(KeyboardInterrupt):
    """A run was interrupted before its first draw was kept; the message says how to go on."""


class SamplingWarning(UserWarning):
    """A finished run has something that its reader must know before using the draws."""
