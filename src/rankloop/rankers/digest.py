"""Digests of rankers: they are equal if and only if the rankers will behave in the same way."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankloop.rankers.base import Ranker


def digest(ranker: Ranker) -> str:
    """Return 32 hexadecimal digits computed from a ranker's parameters and its whole state.

    The same stream gives the same digest on every processor, with any number of threads.
    """
    from rankloop.rankers.model_files.saving import to_tree

    return digest_of(to_tree(ranker))


def digest_of(tree: object) -> str:
    """Return a digest of a tree of dicts, lists, plain values and arrays."""
    digest = blake2b(digest_size=16)
    _add(digest, tree)
    return digest.hexdigest()


def _add(digest: blake2b, node: object) -> None:
    """Add a tree of dicts, lists, plain values and arrays, each with its type and size."""
    if isinstance(node, np.ndarray):
        values = np.ascontiguousarray(node, node.dtype.newbyteorder("<"))
        digest.update(f"array {values.dtype.str} {values.shape} ".encode())
        digest.update(values.tobytes())
    elif isinstance(node, dict):
        digest.update(f"dict {len(node)} ".encode())
        for key in sorted(node):
            _add(digest, key)
            _add(digest, node[key])
    elif isinstance(node, list | tuple):
        digest.update(f"list {len(node)} ".encode())
        for item in node:
            _add(digest, item)
    else:
        plain = node.item() if isinstance(node, np.generic) else node
        digest.update(f"{type(plain).__name__} {json.dumps(plain)} ".encode())
