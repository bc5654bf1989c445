"""What a source says of the files that it is read from: where they lie on the web, and how to know them."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Download:
    """One file on the web.

    `checksum` is "md5:..." or "sha256:...", or empty where none is published: then the source's `contents` judge.
    An archive (.tar.gz, .zip, also one inside another) is unpacked into the set's folder and not kept.
    """

    name: str
    urls: tuple[str, ...]  # the official one first, then mirrors
    checksum: str = ""
    archive: bool = False
