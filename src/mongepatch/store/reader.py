"""Stores for readers: every checksum is compared before a draw is shown."""

from typing import TYPE_CHECKING, Any

from mongepatch._extras import require
from mongepatch.errors import DamagedStoreError, StoreError
from mongepatch.store.files import Files, files_at
from mongepatch.store.run_store import RunStore

if TYPE_CHECKING:
    from xarray import DataTree


def open_store(location: Any) -> "DataTree":
    """The draws of a store, checked: every chunk is compared with the checksum that was made when it was written.

    Arrays are read when they are used. No code is run, whoever wrote the store, and nothing is written. A run that goes
    on in another process can be looked at: the draws are those of its last checkpoint. `xarray.open_datatree(location,
    engine="zarr")` opens the same without the comparison.

    Args:
        location: as for `store` of `mongepatch.sample`.

    Raises:
        StoreError: there is no run, or it has no draws yet.
        DamagedStoreError: a file is missing, or is not what was written.
        OtherRunError: the store has a format of another version.

    Example:
        >>> tree = mp.sample(mp.targets.banana(), warmup=100, draws=50, store="run.zarr", progress=False)
        >>> mp.open_store("run.zarr")["posterior"].sizes["draw"]
        50
    """
    return open_run(location)[1]


def open_run(location: Any) -> tuple[RunStore, "DataTree"]:
    """The same, with the store: it says how its run was begun, and how far it is."""
    files = files_at(location)
    store = RunStore.reopen(files, write=False)
    store.close()
    if not store.has_draws:
        raise StoreError(f"{files.words} has no draws yet: its run is in warm-up, or was interrupted there.")
    return store, open_tree(files, store.metadata())


def open_tree(files: Files, metadata: dict[str, bytes]) -> "DataTree":
    """The tree of a store, described by metadata of our own: what lies beside the draws need not be trusted."""
    xarray = require("xarray", "store", "A store")
    wrapper = require("zarr.storage", "store", "A store").WrapperStore
    cpu = require("zarr.core.buffer.cpu", "store", "A store")

    class Described(wrapper):  # type: ignore[misc, valid-type]  # a class that is imported where it is used
        """The store with these descriptions in the place of its own."""

        async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
            if key in metadata:
                return cpu.Buffer.from_bytes(metadata[key])
            return None if key.endswith("zarr.json") else await super().get(key, prototype, byte_range)

    try:
        tree: DataTree = xarray.open_datatree(Described(files.zarr_store()), engine="zarr", consolidated=True)
    except (ValueError, KeyError, TypeError, OSError, RuntimeError) as error:
        raise DamagedStoreError(f"{files.words} cannot be read: {error}") from error
    return tree
