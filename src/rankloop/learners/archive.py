"""One file for a tree of plain values and arrays: a zip of a JSON manifest and .npy arrays.

No pickle: reading a file never runs code from it. Every array carries a checksum, and the same
tree gives the same bytes. Any zip tool and `numpy.load` can look inside.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from hashlib import sha256
from typing import Any

import numpy as np

from rankloop.data.io.replacing import replaced_when_done
from rankloop.exceptions import ModelError

FORMAT = "rankloop"
VERSION = 1
_EPOCH = (1980, 1, 1, 0, 0, 0)  # of every entry, so that equal contents are equal bytes


def write_archive(path: str | os.PathLike[str], tree: Any) -> None:
    """Write a tree of dicts, lists, plain values and arrays, whole or not at all."""
    arrays: list[np.ndarray[Any, Any]] = []
    checksums: list[str] = []

    def plain(node: Any) -> Any:
        if isinstance(node, np.ndarray):
            if node.dtype.kind not in "biuf":
                raise TypeError(f"cannot store an array of {node.dtype}")
            arrays.append(node)
            checksums.append(_checksum(node))
            return {"$array": len(arrays) - 1}
        if isinstance(node, dict):
            return {str(key): plain(value) for key, value in node.items()}
        if isinstance(node, list | tuple):
            return [plain(value) for value in node]
        return node.item() if isinstance(node, np.generic) else node

    body = plain(tree)
    manifest = {"format": FORMAT, "version": VERSION, "arrays": checksums, "content": body}
    with (
        replaced_when_done(path) as partial,
        zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        archive.writestr(_entry("manifest.json"), json.dumps(manifest, indent=1))
        for i, array in enumerate(arrays):
            stream = io.BytesIO()
            np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(_entry(f"{i}.npy"), stream.getvalue())


def read_archive(path: str | os.PathLike[str]) -> Any:
    """Read what :func:`write_archive` wrote.

    Raises
    ------
    ModelError
        where the file is missing, damaged, of another kind or written by a newer version.
    """
    name = os.fspath(path)
    try:
        with zipfile.ZipFile(name) as archive:
            manifest = json.loads(archive.read("manifest.json"))
            if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
                raise ModelError(f"{name}: not a file of ours: its manifest does not say so")
            if not isinstance(manifest["version"], int) or manifest["version"] > VERSION:
                raise ModelError(
                    f"{name}: written in format {manifest['version']}, but this version reads up "
                    f"to {VERSION}; upgrade rankloop"
                )
            arrays = [
                np.lib.format.read_array(io.BytesIO(archive.read(f"{i}.npy")), allow_pickle=False)
                for i in range(len(manifest["arrays"]))
            ]
    except OSError as error:
        raise ModelError(f"{name}: cannot read it: {error.strerror or error}") from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        NotImplementedError,  # a damaged entry may name a method of compression that is none
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            f"{name}: not a model file, or damaged ({error}); get a whole copy"
        ) from None
    for i, (array, checksum) in enumerate(zip(arrays, manifest["arrays"], strict=True)):
        if _checksum(array) != checksum:
            raise ModelError(f"{name}: array {i} does not have its checksum: the file is damaged")

    def restored(node: Any) -> Any:
        if isinstance(node, dict):
            if list(node) == ["$array"]:
                if node["$array"] not in range(len(arrays)):
                    raise ModelError(f"{name}: damaged: it has no array {node['$array']!r}")
                return arrays[node["$array"]]
            return {key: restored(value) for key, value in node.items()}
        return [restored(value) for value in node] if isinstance(node, list) else node

    return restored(manifest["content"])


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _checksum(array: np.ndarray[Any, Any]) -> str:
    digest = sha256(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
