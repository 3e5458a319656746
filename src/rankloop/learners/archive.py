"""One file for a tree of plain values and arrays: a zip of a JSON manifest and .npy arrays.

No pickle: reading a file never runs code from it, and whatever a file claims, the memory it takes
is bounded by its own size. Every array carries a checksum, and the same tree gives the same bytes.
Any zip tool and `numpy.load` can look inside.
"""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.data.io.replacing import replaced_when_done
from rankloop.exceptions import DataError, ModelError
from rankloop.learners.npy import array_from_bytes

FORMAT = "rankloop"
VERSION = 1
_EPOCH = (1980, 1, 1, 0, 0, 0)  # of every entry, so that equal contents are equal bytes
_MANIFEST = "manifest.json"
_AS_BEFORE = "the model is not saved, and what was there is as it was"

# Deflated, a kilobyte may claim to be a megabyte. So only small entries are, and not too many of
# them; others are stored as they are. Whatever claims more than that, and much more than its own
# size, is no file of ours.
_SMALL = 4 << 20  # bytes of an entry
_ALL_SMALL = 64 << 20  # bytes of all
_SWELL = 16  # times its own size, for what was deflated before there was a limit
_DEEPEST = 100  # levels of a tree


def write_archive(path: str | os.PathLike[str], tree: Any) -> None:
    """Write a tree of dicts, lists, plain values and arrays, whole or not at all.

    Raises
    ------
    ModelError
        where the file cannot be written, a full disk among it; what was there is as it was.
    """
    arrays: list[np.ndarray[Any, Any]] = []

    def plain(node: Any) -> Any:
        if isinstance(node, np.ndarray):
            if node.dtype.kind not in "biuf":
                raise TypeError(f"cannot store an array of {node.dtype}")
            arrays.append(node)
            return {"$array": len(arrays) - 1}
        if isinstance(node, dict):
            return {str(key): plain(value) for key, value in node.items()}
        if isinstance(node, list | tuple):
            return [plain(value) for value in node]
        return node.item() if isinstance(node, np.generic) else node

    body = plain(tree)
    checksums = [_checksum(array) for array in arrays]
    manifest = {"format": FORMAT, "version": VERSION, "arrays": checksums, "content": body}
    text = json.dumps(manifest, indent=1)
    try:
        with (
            replaced_when_done(path) as partial,
            zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            written = _write(archive, _MANIFEST, text.encode(), 0)
            for i, array in enumerate(arrays):
                stream = io.BytesIO()
                np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
                written = _write(archive, f"{i}.npy", stream.getvalue(), written)
    except DataError as error:
        raise ModelError(f"{error}; {_AS_BEFORE}") from None
    except OSError as error:
        why = f"cannot write {os.fspath(path)}: {error.strerror or error}"
        raise ModelError(f"{why}; {_AS_BEFORE}") from None


def _write(archive: zipfile.ZipFile, name: str, content: bytes, before: int) -> int:
    """Add an entry after so many bytes of others; return how many there are now."""
    info = zipfile.ZipInfo(name, _EPOCH)
    small = len(content) <= _SMALL and before + len(content) <= _ALL_SMALL
    info.compress_type = zipfile.ZIP_DEFLATED if small else zipfile.ZIP_STORED
    archive.writestr(info, content)
    return before + len(content)


def read_archive(path: str | os.PathLike[str]) -> Any:
    """Read what :func:`write_archive` wrote.

    Raises
    ------
    ModelError
        where the file is missing, damaged, of another kind or written by a newer version.
    """
    name = os.fspath(path)
    try:
        _check_kind(Path(name).stat().st_mode)
        with Path(name).open("rb") as file, zipfile.ZipFile(file) as archive:
            entries = _Entries(archive, os.fstat(file.fileno()).st_size)
            manifest = _manifest(entries.read(_MANIFEST))
            arrays = [
                _array(entries.read(f"{i}.npy"), i, checksum)
                for i, checksum in enumerate(manifest["arrays"])
            ]
        return _restored(manifest["content"], arrays, set())
    except OSError as error:
        raise ModelError(f"{name}: cannot read it: {error.strerror or error}") from None
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from None
    except Exception as error:  # a damaged file makes zip and JSON raise nearly anything
        raise ModelError(
            f"{name}: not a model file, or damaged ({error!r}); get a whole copy"
        ) from None


def _check_kind(mode: int) -> None:
    """Raise for a device or a pipe, which could be read for ever; opening a folder fails anyway."""
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ModelError("cannot read it: it is no regular file")


class _Entries:
    """The entries of a zip, each read only if it does not claim too much."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive = archive
        self._left = _ALL_SMALL + _SWELL * size

    def read(self, name: str) -> bytes:
        """Return an entry's content; its checksum in the zip is right."""
        info = self._archive.getinfo(name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ModelError(f"damaged: {name} is packed in a way that we do not use")
        self._left -= info.file_size
        if info.file_size > max(_SMALL, _SWELL * info.compress_size) or self._left < 0:
            raise ModelError(
                f"damaged, or made to exhaust memory: {name} is {info.compress_size:,} bytes and "
                f"claims to be {info.file_size:,}"
            )
        with self._archive.open(info) as stream:
            content = stream.read(info.file_size)  # without a number, it would unpack what it finds
        if len(content) != info.file_size:
            raise ModelError(f"damaged: {name} ends too early; get a whole copy")
        return content


def _manifest(content: bytes) -> dict[str, Any]:
    """Return the manifest, its frame checked."""
    manifest = json.loads(content)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelError("not a file of ours: its manifest does not say so")
    version = manifest.get("version")
    if type(version) is not int or version < 1:
        raise ModelError(f"damaged: its version is {version!r}")
    if version > VERSION:
        raise ModelError(
            f"written in format {version}, but this version reads up to {VERSION}; upgrade rankloop"
        )
    if not isinstance(manifest.get("arrays"), list) or "content" not in manifest:
        raise ModelError("damaged: its manifest has no list of arrays, or no content")
    return manifest


def _array(content: bytes, number: int, checksum: Any) -> np.ndarray[Any, Any]:
    array = array_from_bytes(content)
    if _checksum(array) != checksum:
        raise ModelError(f"array {number} does not have its checksum: the file is damaged")
    return array


def _restored(node: Any, arrays: list[np.ndarray[Any, Any]], used: set[int], depth: int = 0) -> Any:
    """Put the arrays back in their places, each in one."""
    if depth > _DEEPEST:
        raise ModelError(f"damaged: its manifest is more than {_DEEPEST} levels deep")
    if isinstance(node, dict):
        if list(node) != ["$array"]:
            return {key: _restored(node[key], arrays, used, depth + 1) for key in node}
        number = node["$array"]
        if type(number) is not int or number not in range(len(arrays)) or number in used:
            raise ModelError(f"damaged: it has no array {number!r}, or has it twice")
        used.add(number)
        return arrays[number]
    if isinstance(node, list):
        return [_restored(value, arrays, used, depth + 1) for value in node]
    if isinstance(node, str):
        node.encode()  # raises where it is no Unicode
    return node


def _checksum(array: np.ndarray[Any, Any]) -> str:
    digest = sha256(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
