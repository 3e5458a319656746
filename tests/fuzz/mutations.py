"""Ways to change a model file: by its bytes, or by what is in it, packed again."""

from __future__ import annotations

import copy
import io
import json
import re
import struct
import zipfile
from hashlib import sha256

import numpy as np

NUMBERS = [0, -1, 1, 2, 65, 2**31, 2**53, 2**63, 10**12, 10**400, 0.5, 1e308, -1e308, 1e-320]
SPECIAL = [float("nan"), float("inf"), float("-inf")]
TEXTS = [
    "",
    "x",
    "nDCG@10",
    "rbf(1)",
    "poly(9999)",
    "linear",
    "\ud800",
    "(" * 500,
    "a" * 5000,
    "-i",
]
OTHERS = [None, True, False, [], {}, [[]], [None], ["x"], {"a": 1}, {"$array": 0}, {"$array": 99}]
LINES = ["0", "-1", "1", "99", "2147483648", "-99999999999", "nan", "inf", "1e999", "", "x", "1_0"]


def mutated(whole, other, rng):
    """A changed file, and the way it was changed."""
    name, way = WAYS[int(rng.integers(len(WAYS)))]
    return name, way(whole, other, rng)


# By bytes


def changed_bytes(whole, other, rng):
    """Turn, drop, double or swap bytes; cut the file."""
    data = bytearray(whole)
    for _ in range(int(rng.integers(1, 5))):
        place, way = int(rng.integers(len(data))), int(rng.integers(6))
        length = int(rng.integers(1, 40))
        if way == 0:
            data[place] ^= 1 << int(rng.integers(8))
        elif way == 1:
            data[place : place + 4] = struct.pack("<I", int(rng.choice([0, 1, 2**31, 2**32 - 1])))
        elif way == 2:
            del data[place : place + length]
        elif way == 3:
            data[place:place] = data[place : place + length]
        elif way == 4:
            data[place : place + length] = other[place : place + length]
        else:
            del data[max(place, 1) :]
    return bytes(data)


def changed_directory(whole, other, rng):
    """Change a field of the zip's own headers: sizes, methods, flags, offsets."""
    data = bytearray(whole)
    marks = [m.start() for m in re.finditer(rb"PK(\x01\x02|\x03\x04|\x05\x06)", whole)]
    start = marks[int(rng.integers(len(marks)))]
    for _ in range(int(rng.integers(1, 4))):
        place = start + int(rng.integers(4, 46))
        value = int(rng.choice([0, 1, 8, 9, 12, 14, 99, 255, 2**16 - 1, 2**31, 2**32 - 1]))
        data[place : place + 4] = struct.pack("<I", value)[: len(data[place : place + 4])]
    return bytes(data)


# By content


def unpacked(whole):
    """The manifest and the arrays' bytes."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        return manifest, [archive.read(f"{i}.npy") for i in range(len(manifest["arrays"]))]


def packed(manifest, arrays, method=zipfile.ZIP_DEFLATED, text=None):
    """A file of these, as they are."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("manifest.json", json.dumps(manifest) if text is None else text)
        for i, content in enumerate(arrays):
            archive.writestr(f"{i}.npy", content)
    return stream.getvalue()


def checksum(array):
    """What the manifest has for an array."""
    digest = sha256(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def places(node, path=()):
    """The paths of all values in a tree."""
    yield path
    for key in (
        node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    ):
        yield from places(node[key], (*path, key))


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def odd_value(rng, old, manifest, other):
    """A value that does not belong there."""
    way = rng.integers(9)
    if way == 0:
        return at(manifest, rng_choice(rng, list(places(manifest))))
    if way == 1:
        return rng_choice(rng, SPECIAL)
    if way == 2:
        return rng_choice(rng, TEXTS)
    if way == 3:
        return rng_choice(rng, OTHERS)
    if way == 4:
        return unpacked(other)[0]["content"]
    if way == 5 and isinstance(old, list) and old:
        return old[:-1] if rng.integers(2) else [*old, old[0]]
    if way == 6:
        deep = old
        for _ in range(int(rng.choice([3, 60, 150]))):
            deep = [deep]
        return deep
    return rng_choice(rng, NUMBERS)


def rng_choice(rng, values):
    return values[int(rng.integers(len(values)))]


def changed_manifest(whole, other, rng):
    """Put odd values into the manifest, drop or rename names."""
    manifest, arrays = unpacked(whole)
    manifest = {**manifest, "content": copy.deepcopy(manifest["content"])}
    for _ in range(int(rng.integers(1, 4))):
        if not isinstance(manifest.get("content"), dict):
            break
        root = manifest if rng.random() < 0.05 else manifest["content"]
        path = rng_choice(rng, list(places(root))[1:] or [()])
        if not path:
            break
        inside, key = at(root, path[:-1]), path[-1]
        way = rng.random()
        if way < 0.1:
            del inside[key]
        elif way < 0.15 and isinstance(inside, dict):
            inside[rng_choice(rng, TEXTS)] = inside.pop(key)
        else:
            inside[key] = copy.deepcopy(odd_value(rng, inside[key], root, other))
    try:
        return packed(manifest, arrays)
    except (RecursionError, ValueError):
        return packed({}, arrays)


def changed_text(whole, other, rng):
    """Write a manifest that is hardly JSON, or far too much of it."""
    manifest, arrays = unpacked(whole)
    text = json.dumps(manifest)
    odd = [
        "[" * 100_000,
        '{"a":' * 5000,
        text[: int(rng.integers(len(text)))],
        text.replace("1", "1" * 400, 1),
        text.replace('"', "'"),
        "\ufeff" + text,
        text + text,
        text.encode("utf-16"),
        b"\xff\xfe" + text.encode(),
        text.replace("null", "NaN").replace("false", "1e999"),
        " " * (3 << 20) + text,
        b"[" + b"[]," * (2 << 20) + b"1]",
        text.replace('"n_features_in_": 5', '"n_features_in_": 25000'),
    ]
    return packed(manifest, arrays, text=rng_choice(rng, odd))


def changed_packing(whole, other, rng):
    """Pack in other ways: other methods, entries that swell, twice the same name, none at all."""
    manifest, arrays = unpacked(whole)
    method = int(rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
    way = int(rng.integers(5))
    if way == 0:
        return packed(manifest, arrays, method)
    if way == 1:
        return packed(manifest, arrays, text=json.dumps(manifest) + " " * (30 << 20))
    if way == 2:
        swollen = io.BytesIO()
        np.save(swollen, np.zeros(4 << 20))
        return packed({**manifest, "arrays": [checksum(np.zeros(4 << 20))]}, [swollen.getvalue()])
    if way == 3:
        return packed(manifest, arrays[:-1])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("manifest.json/", json.dumps(manifest))
    return stream.getvalue()


def changed_header(whole, other, rng):
    """Let an array's header claim another shape, type or order."""
    manifest, arrays = unpacked(whole)
    if not arrays:
        return changed_manifest(whole, other, rng)
    number = int(rng.integers(len(arrays)))
    content = arrays[number]
    length = 10 + struct.unpack("<H", content[8:10])[0]
    header, rest = content[10:length].decode(), content[length:]
    shapes = [
        "()",
        "(5,)",
        "(-1,)",
        "(999999999999,)",
        "(65536, 65536)",
        "(0, 5)",
        "(3, 0, 0)",
        "x",
    ]
    kinds = ["<f8", "<f4", "<i8", "|b1", ">f8", "|O", "<U9", "<c16", "<f2", "|V8", "f8,f8"]
    way = int(rng.integers(4))
    if way == 0:
        header = re.sub(r"\([^)]*\)", rng_choice(rng, shapes), header)
    elif way == 1:
        header = re.sub(r"'descr': '[^']*'", f"'descr': '{rng_choice(rng, kinds)}'", header)
    elif way == 2:
        header = header.replace("False", "True")
    else:
        header = rng_choice(rng, ["(" * 9000, "{}", header + " ", "-" * 9000, "\0" * 50])
    size = len(header) if rng.integers(5) else int(rng.integers(2**16))
    magic = content[:6] + bytes([int(rng.choice([1, 1, 1, 2, 3, 9])), 0])
    arrays[number] = magic + struct.pack("<H", size % 2**16) + header.encode() + rest
    return packed(manifest, arrays)


def changed_arrays(whole, other, rng):
    """Put odd numbers into arrays, or give them other shapes and types; checksums are right."""
    manifest, arrays = unpacked(whole)
    if not arrays:
        return changed_manifest(whole, other, rng)
    for _ in range(int(rng.integers(1, 4))):
        number = int(rng.integers(len(arrays)))
        array = odd_array(np.load(io.BytesIO(arrays[number])), rng)
        stream = io.BytesIO()
        np.save(stream, array)
        arrays[number], manifest["arrays"][number] = stream.getvalue(), checksum(array)
    return packed(manifest, arrays)


def odd_array(array, rng):
    way = int(rng.integers(8))
    if way == 0:
        return array[:-1] if array.ndim else array
    if way == 1:
        return np.concatenate([array, array]) if array.ndim else array
    if way == 2:
        return np.ascontiguousarray(array.T)
    if way == 3:
        return array.astype(rng_choice(rng, ["f4", "f8", "i8", "i4", "u1", "?"]))
    if way == 4:
        return array.ravel()
    array = array.copy()
    with np.errstate(all="ignore"):
        for _ in range(int(rng.integers(1, 5)) if array.size else 0):
            place = int(rng.integers(array.size))
            if array.dtype.kind == "f":
                odd = [np.nan, np.inf, 1e300, -1e300, 0.0, -1.0, 1e-300]
                array.ravel()[place] = rng_choice(rng, odd)
            elif array.dtype.kind == "i":
                odd = np.array([-1, 0, 1, 64, 65, 2**40, 2**62, -(2**63)])
                array.ravel()[place] = rng_choice(rng, odd.astype(array.dtype))
        if way == 5 and array.dtype.kind == "f":
            array *= rng_choice(rng, [0.0, -1.0, 1e200, 1e-200])
    return array


def changed_trees(whole, other, rng):
    """Change lines and numbers of LightGBM's text; the sizes it states are right, as a rule."""
    manifest, arrays = unpacked(whole)
    found = [p for p in places(manifest["content"]) if p and p[-1] == "booster_"]
    found = [p for p in found if at(manifest["content"], p)]
    if not found:
        return changed_arrays(whole, other, rng)
    path = rng_choice(rng, found)
    inside = at(manifest["content"], path[:-1])
    lines = inside["booster_"].split("\n")
    for _ in range(int(rng.integers(1, 4))):
        number = int(rng.integers(len(lines) if rng.random() < 0.3 else min(len(lines), 60)))
        line, way = lines[number], int(rng.integers(8))
        name, equals, value = line.partition("=")
        words = value.split(" ")
        if way < 4 and equals:
            words[int(rng.integers(len(words)))] = rng_choice(rng, LINES)
            lines[number] = f"{name}={' '.join(words)}"
        elif way == 4 and equals:
            lines[number] = f"{name}={' '.join(words[:-1] if rng.integers(2) else words * 2)}"
        elif way == 5:
            del lines[number]
        elif way == 6:
            lines.insert(
                number, rng_choice(rng, [line, "", "Tree=0", "parser:", "a=b=c", "[x", "\0"])
            )
        else:
            k = int(rng.integers(len(lines)))
            lines[number], lines[k] = lines[k], lines[number]
    text = "\n".join(lines)
    if rng.random() < 0.8:
        blocks = re.findall(r"Tree=\d+\n(?:.+\n)*\n\n", text)
        sizes = " ".join(str(len(block)) for block in blocks)
        text = re.sub(r"tree_sizes=.*", f"tree_sizes={sizes}", text)
    inside["booster_"] = text
    return packed(manifest, arrays)


WAYS = [
    ("bytes", changed_bytes),
    ("directory", changed_directory),
    ("manifest", changed_manifest),
    ("manifest", changed_manifest),
    ("manifest", changed_manifest),
    ("text", changed_text),
    ("packing", changed_packing),
    ("header", changed_header),
    ("arrays", changed_arrays),
    ("arrays", changed_arrays),
    ("trees", changed_trees),
    ("trees", changed_trees),
]
