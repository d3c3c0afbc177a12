"""SHA-256 of what has to be told apart from everything else."""

from __future__ import annotations


def sha256_hex(data: bytes) -> str:
    """The digest as 64 hexadecimal digits."""
    import hashlib  # brings OpenSSL along, which most compiles do not need

    return hashlib.sha256(data).hexdigest()
