"""One file of named arrays and JSON, with a checksum: what a run needs to go on. Reading one runs no code."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mongepatch.errors import DamagedStoreError, OtherRunError

FORMAT = 1
"""The version of all files of a store."""
_MAGIC = b"mongepatch-store"
_DIGEST = 32
_LONGEST_HEADER = 2**28
_KINDS = "biufc"
"""Kinds of NumPy arrays that a file may hold: numbers and flags, never objects."""


class Container(NamedTuple):
    """The content of a file."""

    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]
    """What JSON can hold."""


def digest(content: bytes | memoryview) -> str:
    """A checksum of bytes, as text."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def pack(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> bytes:
    """The bytes of a file: a line with the version, the length of a header, the header, arrays, and a checksum."""
    places, parts, offset = {}, [], 0
    for name, values in arrays.items():
        raw = np.ascontiguousarray(values).tobytes()
        places[name] = [values.dtype.str, list(values.shape), offset, len(raw)]
        parts.append(raw)
        offset += len(raw)
    header = json.dumps({"arrays": places, "facts": facts}).encode()
    body = b"".join([_MAGIC, f" {FORMAT}\n".encode(), len(header).to_bytes(8, "little"), header, *parts])
    return body + hashlib.blake2b(body, digest_size=_DIGEST).digest()


def unpack(content: bytes, name: str) -> Container:
    """The inverse of `pack`; raise where the file is of another version, or not what was written."""
    first, _, rest = content[:-_DIGEST].partition(b"\n")
    magic, _, version = first[:64].partition(b" ")
    whole = hashlib.blake2b(content[:-_DIGEST], digest_size=_DIGEST).digest() == content[-_DIGEST:]
    if magic == _MAGIC and whole and version != str(FORMAT).encode():
        raise OtherRunError(
            f"{name} has version {version.decode(errors='replace')} of the store's format, and this mongepatch reads "
            f"version {FORMAT}: install the mongepatch that wrote it."
        )
    if magic != _MAGIC or not whole:
        raise DamagedStoreError(f"{name} is damaged: its checksum does not fit its content.")
    try:
        return _parse(rest)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError, RecursionError) as error:
        raise DamagedStoreError(f"{name} is not a file of a store: {type(error).__name__}.") from error


def _parse(rest: bytes) -> Container:
    length = int.from_bytes(rest[:8], "little")
    if length > min(_LONGEST_HEADER, len(rest)):
        raise ValueError("the header is too long")
    header = json.loads(rest[8 : 8 + length])
    body = memoryview(rest)[8 + length :]
    arrays = {}
    for name, (kind, shape, offset, size) in header["arrays"].items():
        dtype = np.dtype(kind)
        if dtype.kind not in _KINDS or min([offset, size, *shape]) < 0 or offset + size > len(body):
            raise ValueError(f"{name} is no array of numbers")
        arrays[name] = np.frombuffer(body[offset : offset + size], dtype).reshape(shape).copy()
    return Container(arrays, dict(header["facts"]))
