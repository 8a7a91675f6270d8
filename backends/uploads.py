"""Files of the user, kept by content under `GLASSWORK_HOME/uploads`.

A request holds a digest, never a path: a link, the API or a worker can name a file that was put
here before, and nothing else of this machine. Uploads are not cache: they are never evicted.
"""

import hashlib
import os
from pathlib import Path

from backends.errors import BadRequest

LARGEST = 20 * 2**20


class Uploads:
    """A folder of files named by their SHA-256."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, path: Path, field: str = "file") -> str:
        """Copy a file in and return its digest. Raise `BadRequest` if it cannot be read."""
        try:
            size = path.stat().st_size
            with path.open("rb") as file:
                content = b"" if size > LARGEST else file.read(LARGEST + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise BadRequest(field, f"File {str(path)[:80]!r} cannot be read: {why}.") from error
        if (size := max(size, len(content))) > LARGEST:
            raise BadRequest(
                field,
                f"File {path.name!r} has {size / 2**20:.1f} MiB; "
                f"at most {LARGEST // 2**20} MiB are allowed.",
            )
        return self.add_bytes(content)

    def add_bytes(self, content: bytes) -> str:
        """Put in what was made here, such as a table for another method, and return its digest."""
        digest = hashlib.sha256(content).hexdigest()
        target = self._folder / digest
        if not target.exists():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            aside = target.with_suffix(f".{os.getpid()}.part")
            aside.write_bytes(content)
            aside.replace(target)
        return f"sha256:{digest}"

    def read(self, digest: str, field: str = "file") -> bytes:
        """Return a file's content. Raise `BadRequest` if this machine does not have it."""
        try:
            return (self._folder / digest.removeprefix("sha256:")).read_bytes()
        except OSError as error:
            raise BadRequest(
                field, f"The uploaded file {digest[:19]}… is not on this machine."
            ) from error
