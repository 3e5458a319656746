"""One file for a tree of plain values and arrays: a zip of a JSON manifest and .npy arrays.

There is no pickle: reading a file never runs code from it, and the memory needed is bounded by the
size of the file, even if the file is malicious. Every array has a checksum, and the same tree gives
the same bytes. You can look inside with any zip tool and `numpy.load`.
"""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from rankloop._utils.arguments import check_type, path_text
from rankloop.data.io.replacing import replace_when_done
from rankloop.exceptions import DataError, ModelError
from rankloop.rankers.model_files.npy import array_from_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = "rankloop"
VERSION = 1
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the date of every entry, so that equal contents give equal bytes
_MANIFEST = "manifest.json"
_AS_BEFORE = "the model is not saved, and an existing file is unchanged"

# A compressed kilobyte may expand to a megabyte. So we compress only small entries, up to a total,
# and store the others as they are. An entry that claims more than this, and much more than its
# compressed size, was not written by us.
_SMALL = 4 << 20  # bytes of one entry
_ALL_SMALL = 64 << 20  # bytes of all compressed entries
_SWELL = 16  # largest expansion allowed, for files written before there was a limit
_DEEPEST = 100  # levels of a tree


def write_archive(path: str | os.PathLike[str], tree: object) -> None:
    """Write a tree of dicts, lists, plain values and arrays, completely or not at all.

    Raises
    ------
    ModelError
        if the file cannot be written, for example because the disk is full; an existing file is
        then unchanged.
    """
    body, arrays = _split_tree(tree)
    try:
        with replace_when_done(path) as partial, partial.open("wb") as file:
            _write_zip(file, body, arrays)
    except DataError as error:
        raise ModelError(f"{error}; {_AS_BEFORE}") from None
    except OSError as error:
        why = f"cannot write {os.fspath(path)}: {error.strerror or error}"
        raise ModelError(f"{why}; {_AS_BEFORE}") from None


def archive_bytes(tree: object) -> bytes:
    """Return the bytes of the file that :func:`write_archive` would write."""
    file = io.BytesIO()
    _write_zip(file, *_split_tree(tree))
    return file.getvalue()


def _split_tree(tree: object) -> tuple[object, list[NDArray[np.generic]]]:
    """Return plain values for the manifest, and the arrays to which they refer by number."""
    arrays: list[NDArray[np.generic]] = []

    def plain(node: object) -> object:
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

    return plain(tree), arrays


def _write_zip(file: BinaryIO, body: object, arrays: list[NDArray[np.generic]]) -> None:
    checksums = [_checksum(array) for array in arrays]
    manifest = {"format": FORMAT, "version": VERSION, "arrays": checksums, "content": body}
    text = json.dumps(manifest, indent=1)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        written = _write(archive, _MANIFEST, text.encode(), 0)
        for i, array in enumerate(arrays):
            stream = io.BytesIO()
            np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
            written = _write(archive, f"{i}.npy", stream.getvalue(), written)


def _write(archive: zipfile.ZipFile, name: str, content: bytes, before: int) -> int:
    """Add an entry; `before` is the size of the entries so far, and the result the new size."""
    info = zipfile.ZipInfo(name, _EPOCH)
    small = len(content) <= _SMALL and before + len(content) <= _ALL_SMALL
    info.compress_type = zipfile.ZIP_DEFLATED if small else zipfile.ZIP_STORED
    archive.writestr(info, content)
    return before + len(content)


def read_archive(path: str | os.PathLike[str]) -> Any:
    """Read a tree that :func:`write_archive` wrote.

    Raises
    ------
    ModelError
        if the file is missing, damaged, not a model file, or written by a newer version.
    """
    name = path_text(path)
    try:
        _check_kind(Path(name).stat().st_mode)
        with Path(name).open("rb") as file:
            return _read_zip(file, os.fstat(file.fileno()).st_size)
    except OSError as error:
        raise ModelError(f"{name}: cannot read it: {error.strerror or error}") from None
    except ValueError as error:  # raised by us, or for a path with a null byte
        raise ModelError(f"{name}: {error}") from None


def read_archive_bytes(content: bytes) -> Any:
    """Read bytes from :func:`archive_bytes`; raise ModelError as :func:`read_archive` does."""
    check_type("content", content, (bytes, bytearray, memoryview), "the bytes of a model file")
    return _read_zip(io.BytesIO(content), len(content))


def _read_zip(file: BinaryIO, size: int) -> Any:
    try:
        with zipfile.ZipFile(file) as archive:
            entries = _Entries(archive, size)
            manifest = _manifest(entries.read(_MANIFEST))
            arrays = [
                _array(entries.read(f"{i}.npy"), i, checksum)
                for i, checksum in enumerate(manifest["arrays"])
            ]
        return _restore_value(manifest["content"], arrays, set())
    except (OSError, ModelError):
        raise
    except Exception as error:  # for a damaged file, zip and JSON may raise nearly anything
        raise ModelError(f"not a model file, or damaged ({error!r}); get a complete copy") from None


def _check_kind(mode: int) -> None:
    """Raise for a device or a pipe, which may never end; opening a folder fails anyway."""
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ModelError("cannot read it: it is not a regular file")


class _Entries:
    """The entries of a zip; an entry is read only if its claimed size is acceptable."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive = archive
        self._left = _ALL_SMALL + _SWELL * size

    def read(self, name: str) -> bytes:
        """Return the content of an entry, after the zip's checksum was verified."""
        info = self._archive.getinfo(name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ModelError(
                f"damaged: {name} is compressed with a method that model files do not use"
            )
        self._left -= info.file_size
        if info.file_size > max(_SMALL, _SWELL * info.compress_size) or self._left < 0:
            raise ModelError(
                f"damaged, or made to exhaust memory: {name} has {info.compress_size:,} bytes but "
                f"claims to expand to {info.file_size:,}"
            )
        with self._archive.open(info) as stream:
            content = stream.read(info.file_size)  # without a limit it would unpack everything
        if len(content) != info.file_size:
            raise ModelError(f"damaged: {name} ends too early; get a complete copy")
        return content


def _manifest(content: bytes) -> dict[str, Any]:
    """Return the manifest, after checking its format, version and main parts."""
    manifest = json.loads(content)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelError("not a Rankloop file: its manifest does not name this format")
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


def _array(content: bytes, number: int, checksum: object) -> NDArray[np.generic]:
    array = array_from_bytes(content)
    if _checksum(array) != checksum:
        raise ModelError(f"array {number} does not match its checksum: the file is damaged")
    return array


def _restore_value(
    node: object, arrays: list[NDArray[np.generic]], used: set[int], depth: int = 0
) -> object:
    """Put the arrays back in their places; each is used once."""
    if depth > _DEEPEST:
        raise ModelError(f"damaged: its manifest is more than {_DEEPEST} levels deep")
    if isinstance(node, dict):
        if list(node) != ["$array"]:
            return {key: _restore_value(node[key], arrays, used, depth + 1) for key in node}
        number = node["$array"]
        if type(number) is not int or number not in range(len(arrays)) or number in used:
            raise ModelError(f"damaged: array {number!r} is missing, or is used twice")
        used.add(number)
        return arrays[number]
    if isinstance(node, list):
        return [_restore_value(value, arrays, used, depth + 1) for value in node]
    if isinstance(node, str):
        node.encode()  # raises if it is not valid Unicode
    return node


def _checksum(array: NDArray[np.generic]) -> str:
    digest = sha256(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
