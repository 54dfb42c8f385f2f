"""The arrays of a store, as zarr describes them: some are written once, others grow along `draw`."""

import json
import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mongepatch._extras import require
from mongepatch.store.container import digest
from mongepatch.store.files import Files, ZarrFiles

if TYPE_CHECKING:
    from xarray import Dataset, DataTree

METADATA = "zarr.json"
_CHUNK_BYTES, _MOST_CHUNK_DRAWS = 8 * 2**20, 16_384
"""How much the chunks of all arrays may hold together."""


class GrowingArray(NamedTuple):
    """An array that grows along `draw`, cut into chunks of so many draws."""

    path: str
    dtype: np.dtype
    chunk: tuple[int, ...]
    """The shape of a chunk."""
    axis: int
    """Which axis is `draw`."""

    @property
    def rows(self) -> int:
        """Draws of a chunk."""
        return self.chunk[self.axis]

    def key(self, number: int) -> str:
        """The file of a chunk."""
        places = ["0"] * len(self.chunk)
        places[self.axis] = str(number)
        return "/".join([self.path, "c", *places])

    def head(self, values: np.ndarray, count: int) -> np.ndarray:
        """The first draws of a chunk."""
        return values[(slice(None),) * self.axis + (slice(count),)]


class Layout(NamedTuple):
    """All metadata of a store, and the checksums of what does not grow."""

    documents: dict[str, dict[str, Any]]
    """Zarr's description of each group and array, by its path."""
    static: dict[str, str]
    """Checksums of the files that are written once, by their names."""

    @property
    def growing(self) -> list[GrowingArray]:
        """The arrays that grow."""
        return [_growing(path, document) for path, document in self.documents.items() if document.get("grows")]

    def metadata(self, path: str, draws: int) -> bytes:
        """Zarr's description of a group or array of so many draws."""
        return json.dumps(self._document(path, draws)).encode()

    def root(self, draws: int) -> bytes:
        """Zarr's description of the whole store, all arrays included: one file, so that all grow at once."""
        inner = {path: self._document(path, draws) for path in self.documents if path}
        whole = {"kind": "inline", "must_understand": False, "metadata": inner}
        return json.dumps(self._document("", draws) | {"consolidated_metadata": whole}).encode()

    def _document(self, path: str, draws: int) -> dict[str, Any]:
        document = {name: value for name, value in self.documents[path].items() if name != "grows"}
        if self.documents[path].get("grows"):
            shape = list(document["shape"])
            shape[_draw_axis(document)] = draws
            document["shape"] = shape
        return document


def _draw_axis(document: dict[str, Any]) -> int:
    return list(document["dimension_names"]).index("draw")


def _growing(path: str, document: dict[str, Any]) -> GrowingArray:
    chunk = tuple(document["chunk_grid"]["configuration"]["chunk_shape"])
    return GrowingArray(path, np.dtype(document["data_type"]), chunk, _draw_axis(document))


def create_layout(files: Files, tree: "DataTree", growing: Collection[str], chunk_draws: int | None) -> Layout:
    """Write all but draws: descriptions, labels, data and whatever else does not grow.

    Args:
        files: where to write.
        tree: a tree with some draws, from which names, shapes and precisions are taken.
        growing: names of the groups whose draws are to be appended.
        chunk_draws: draws of a chunk; by default as many as make chunks of a few megabytes.
    """
    storage = require("zarr.storage", "store", "A store")
    codecs = require("zarr.codecs", "store", "A store")
    rows = chunk_draws or _chunk_draws(tree, growing)
    compressors = (codecs.ZstdCodec(level=1, checksum=True),)
    encoding: dict[str, dict[str, Any]] = {}
    for name in growing:
        for variable, values in tree[name].variables.items():
            if "draw" in values.dims:
                sizes = tuple(rows if dim == "draw" else max(1, size) for dim, size in values.sizes.items())
                encoding.setdefault(f"/{name}", {})[str(variable)] = {"chunks": sizes, "compressors": compressors}
    memory = ZarrFiles(storage.MemoryStore(), "memory")
    described = tree.map_over_datasets(_with_texts)
    described.to_zarr(memory.zarr_store(), encoding=encoding, consolidated=False, zarr_format=3)
    names = memory.names("")
    documents: dict[str, dict[str, Any]] = {}
    for name in names:
        if name.rpartition("/")[2] == METADATA:
            path = name.removesuffix(METADATA).rstrip("/")
            document = json.loads(memory.read(name) or b"{}")
            group = path.partition("/")[0]
            grows = group in growing and "draw" in (document.get("dimension_names") or ())
            documents[path] = document | ({"grows": True} if grows else {})
    folders = tuple(f"{path}/" for path, document in documents.items() if document.get("grows"))
    once = [name for name in names if name.rpartition("/")[2] != METADATA and not name.startswith(folders)]
    contents = {name: memory.read(name) or b"" for name in once}
    files.write_all(contents)
    return Layout(documents, {name: digest(content) for name, content in contents.items()})


def _with_texts(dataset: "Dataset") -> "Dataset":
    """The same with texts of any length: zarr has no specification of texts of a fixed one."""
    texts = {name: values.astype(object) for name, values in dataset.variables.items() if values.dtype.kind == "U"}
    return dataset.assign_coords({name: values for name, values in texts.items() if name in dataset.coords}).assign(
        {name: values for name, values in texts.items() if name not in dataset.coords}
    )


def _chunk_draws(tree: "DataTree", growing: Collection[str]) -> int:
    """Draws that take some megabytes in all arrays together: a power of two."""
    sizes = [
        values.dtype.itemsize * math.prod(size for dim, size in values.sizes.items() if dim != "draw")
        for name in growing
        for values in tree[name].variables.values()
        if "draw" in values.dims
    ]
    most = max(1, min(_MOST_CHUNK_DRAWS, _CHUNK_BYTES // max(1, sum(sizes))))
    return int(1 << (most.bit_length() - 1))
