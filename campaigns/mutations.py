"""Seeded damage of files: flipped bits, hostile lengths, spliced pieces, forged documents.

Some mutations know a format: they change what lies below a compression or a checksum and then
repair the outer layer, because a reader would otherwise refuse the file before it looks at it.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

# Numbers that lengths, offsets and indices of a damaged file may have.
NUMBERS = (0, 1, -1, 2, 127, 128, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**62)
NUMBERS += (2**63 - 1, 2**63, 2**64 - 1, -(2**31), -(2**63))

# What a field of text may hold.
WORDS = (
    b"", b"nan", b"inf", b"-inf", b"1e999", b"-1e308", b"9" * 400, b'"', b'""', b"\x00", b"\xff",
    b"\xef\xbb\xbf", b",", b"\t", b"\n", b"\r", b"\r\n", b"1:2:3", b"-1:1", b"0:1", b"2000000000:1",
    b"99999999999999999999:1", b":", b"#", b"0x10", b"1_0", b"+", b"\xc3\xa9", b"=1+1", b"a" * 5000,
)  # fmt: skip

# What a document may hold in place of any of its values.
VALUES: tuple[Any, ...] = (
    10**400, -(10**400), 10**30, 2**63, 2**64, -1, 0, 1, True, False, None, "", "x" * 3000, "\x00",
    [], {}, [[]], [None], {"a": None}, 1e308, -1e308, 5e-324, 0.5, "NaN", "../../x", [1, 2], "<f8",
)  # fmt: skip

Mutation = Callable[[bytes, random.Random, list[bytes]], bytes]


def mutate(name: str, content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """Return a damaged copy of a file.

    Parameters
    ----------
    name : str
        The name of the file, by which mutations that know its format are chosen.
    content : bytes
        The sound file.
    draw : random.Random
        Fixes the damage.
    others : list of bytes
        Other files, of which pieces may be taken.
    """
    if draw.random() < 0.01:
        return draw.randbytes(draw.choice((0, 1, 7, 64, 4096)))
    special = _special_for(name, content)
    if special is not None and draw.random() < 0.6:
        return special(content, draw, others)
    return damage(content, draw, others)


def damage(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """Return bytes with one to four kinds of damage that know no format."""
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        content = draw.choice(PLAIN)(content, draw, others)
    return content


def _flip_bits(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 8)) if changed else 0):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _set_bytes(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 2, 5)) if changed else 0):
        changed[draw.randrange(len(changed))] = draw.choice((0, 255, 127, 128, draw.randrange(256)))
    return bytes(changed)


def _cut(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _cut_out(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    start = draw.randrange(len(content) + 1)
    return content[:start] + content[start + draw.choice((1, 2, 4, 8, 64)) :]


def _insert(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    start = draw.randrange(len(content) + 1)
    piece = draw.choice((draw.randbytes(draw.choice((1, 4, 64))), draw.choice(WORDS), bytes(16)))
    return content[:start] + piece + content[start:]


def _repeat(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    start = draw.randrange(len(content) + 1)
    piece = content[start : start + draw.choice((1, 8, 100, 1000))]
    return content[:start] + piece * draw.choice((2, 3, 20)) + content[start:]


def _splice(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    other = draw.choice(others)
    cut, start = draw.randrange(len(content) + 1), draw.randrange(len(other) + 1)
    return content[:cut] + other[start:]


def _swap(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    size = draw.choice((1, 4, 8, 32))
    if len(content) < 2 * size:
        return content
    one, two = sorted(draw.sample(range(len(content) // size), 2))
    one, two = one * size, two * size
    changed = bytearray(content)
    changed[one : one + size], changed[two : two + size] = (
        content[two : two + size],
        content[one : one + size],
    )
    return bytes(changed)


def _set_number(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """Overwrite what may be a length, an offset or an index, mostly near the front."""
    size = draw.choice((1, 2, 4, 4, 8, 8))
    if len(content) < size:
        return content
    last = len(content) - size
    start = draw.randrange(min(last, 256) + 1) if draw.random() < 0.5 else draw.randrange(last + 1)
    start -= start % size if draw.random() < 0.7 else 0
    number = draw.choice((*NUMBERS, len(content), len(content) + 1)) % 2 ** (8 * size)
    order = draw.choice(("little", "little", "big"))
    return content[:start] + number.to_bytes(size, order) + content[start + size :]


def _set_text_number(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """Replace a number that is written in digits."""
    found = list(re.finditer(rb"\d+", content))
    if not found:
        return _set_number(content, draw, others)
    place = draw.choice(found)
    number = str(draw.choice((*NUMBERS, 10**30))).encode()
    return content[: place.start()] + number + content[place.end() :]


def _set_word(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """Replace a field of text."""
    found = list(re.finditer(rb"[^\s,;:\"'{}\[\]()]+", content[:20_000]))
    if not found:
        return content + draw.choice(WORDS)
    place = draw.choice(found)
    return content[: place.start()] + draw.choice(WORDS) + content[place.end() :]


PLAIN: tuple[Mutation, ...] = (
    _flip_bits, _flip_bits, _set_bytes, _cut, _cut_out, _insert, _repeat, _splice, _swap,
    _set_number, _set_number, _set_number, _set_text_number, _set_word,
)  # fmt: skip


def _special_for(name: str, content: bytes) -> Mutation | None:
    """Return the mutation that knows the format of a file, if there is one."""
    if name.endswith((".json", ".zarray", ".zattrs", ".zgroup")):
        return forge_json
    if name.endswith(".part"):
        return forge_part
    if content[:4] == b"PK\x03\x04":
        return forge_zip
    if name.endswith(".mat") and content[124:128] == b"\x00\x01IM":
        return forge_mat
    if name.endswith(".png"):
        return forge_png
    return None


def forge_json(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """Change, remove, repeat or nest values of a document."""
    document = json.loads(content)
    for _ in range(draw.choice((1, 1, 2))):
        forge_value(document, draw)
    text = json.dumps(document)
    if draw.random() < 0.1:
        deep = "[" * draw.choice((100, 100_000))
        text = text.replace(": ", f": {deep}", 1)
    if draw.random() < 0.05:
        text = text.replace("{", '{"format": 1, "n_clusters": 2, ', 1)
    return text.encode()


def forge_value(document: Any, draw: random.Random) -> None:
    """Change one value of a document in place."""
    places = list(_places(document))
    if not places:
        return
    holder, key = draw.choice(places)
    choice = draw.random()
    if choice < 0.15:
        del holder[key]
    elif choice < 0.25 and isinstance(holder[key], list):
        holder[key] = holder[key] * 2 if draw.random() < 0.5 else holder[key][:-1]
    elif choice < 0.4 and isinstance(holder[key], int | float):
        holder[key] = draw.choice((-holder[key], holder[key] + 1, holder[key] * 1000, 1e300))
    elif choice < 0.5:
        other_holder, other_key = draw.choice(places)
        holder[key] = json.loads(json.dumps(other_holder[other_key]))
    else:
        holder[key] = draw.choice(VALUES)


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every value of a document as its holder and its key in it."""
    pairs: Any = ()
    if isinstance(document, dict):
        pairs = list(document.items())
    elif isinstance(document, list):
        pairs = list(enumerate(document))
    for key, value in pairs:
        yield document, key
        yield from _places(value)


def forge_part(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """Change the document or the arrays of a part of a checkpoint, and repair its checksum."""
    line, _, rest = content[:-32].partition(b"\n")
    if draw.random() < 0.6:
        header = json.loads(line)
        forge_value(header, draw)
        line = json.dumps(header).encode()
    else:
        rest = damage(rest, draw, others)
    changed = line + b"\n" + rest
    return changed + hashlib.sha256(changed).digest()


def forge_zip(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """Damage one file of an archive, and write the archive again around it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        entries = old.infolist()
        victim = draw.choice(entries)
        for entry in entries:
            inside = old.read(entry)
            if entry is victim:
                inside = damage(inside, draw, others)
            new.writestr(entry.filename, inside, entry.compress_type)
    return out.getvalue()


def forge_mat(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """Damage a compressed element of a MatLab file below its compression, or one tag."""
    start, places = 128, []
    while start + 8 <= len(content):
        kind, size = struct.unpack_from("<II", content, start)
        places.append((start, kind, size))
        start += 8 + size
    if not places:
        return damage(content, draw, others)
    start, kind, size = draw.choice(places)
    inside = content[start + 8 : start + 8 + size]
    if kind == 15:
        inside = zlib.compress(damage(zlib.decompress(inside), draw, others))
    else:
        inside = _set_number(inside, draw, others)
    head = struct.pack("<II", kind, len(inside))
    return content[:start] + head + inside + content[start + 8 + size :]


def forge_png(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """Damage one chunk of a PNG, and repair its checksum."""
    start, chunks = 8, []
    while start + 12 <= len(content):
        (size,) = struct.unpack_from(">I", content, start)
        chunks.append(content[start + 4 : start + 8 + size])
        start += 12 + size
    victim = draw.randrange(len(chunks))
    chunks[victim] = chunks[victim][:4] + damage(chunks[victim][4:], draw, others)
    packed = [
        struct.pack(">I", len(one) - 4) + one + struct.pack(">I", zlib.crc32(one)) for one in chunks
    ]
    return content[:8] + b"".join(packed)
