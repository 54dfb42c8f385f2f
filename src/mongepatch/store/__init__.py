"""Stores of runs: zarr arrays that grow, checkpoints, locks and checksums."""

from mongepatch.store.container import Container
from mongepatch.store.files import Files, files_at
from mongepatch.store.reader import open_store
from mongepatch.store.run_store import RunStore

__all__ = ["Container", "Files", "RunStore", "files_at", "open_store"]
