"""Knowing a file by its checksum."""

import hashlib
from pathlib import Path

SHOWN = 12  # digits of a checksum in a sentence: enough to tell two apart


def fault(file: Path, checksum: str) -> str:
    """What is wrong with the file, or nothing; `checksum` is "md5:..." or "sha256:...", empty where any will do."""
    if not file.is_file():
        return "is missing"
    if not checksum:
        return ""
    method, _, expected = checksum.partition(":")
    with file.open("rb") as content:
        found = hashlib.file_digest(content, lambda: hashlib.new(method, usedforsecurity=False)).hexdigest()
    if found == expected.lower():
        return ""
    size = file.stat().st_size
    return f"has {method} {found[:SHOWN]}... and not {expected[:SHOWN]}... ({size} bytes: damaged, cut short, or other)"
