"""Models of the Hugging Face hub: one commit of a model, whole or not at all, and its deletion.

The network is touched in a process of its own, for two reasons: huggingface_hub reads
`HF_HUB_OFFLINE` when it is imported, and everything else here works offline; and a process can be
killed, whatever it waits for. It writes into a folder beside (`.part-…`). Only when every file is
there does this process rename the folder and note the commit in `HOME/models.json`; what is not
noted there does not count. Folders left by a killed program go at the next download.

The hub is that of `HF_ENDPOINT`, the token that of `HF_TOKEN`, as huggingface_hub reads them.
"""

import errno
import fnmatch
import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from backends.errors import BadRequest, ModelMissing
from backends.jobs.apart import Apart
from backends.models.catalog import (
    HUB_ID,
    HUB_RECORDS,
    HubRecord,
    folder_entry,
    hub_folder,
    hub_records,
    refusal,
)

log = logging.getLogger("glasswork.models")

Check = Callable[[], None]
Show = Callable[[int, int], None]

# Weights, configuration, tokenizer. Nothing that is code or is unpickled, nothing in subfolders.
_ALLOWED = ("*.safetensors", "*.json", "tokenizer.model", "*.txt", "chat_template.jinja")
# Mistral's second copy of the weights, which transformers does not read.
_IGNORED = ("*/*", "consolidated*")
_PART = ".part-"
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


def download(
    model: str,
    home: Path,
    check: Check = lambda: None,
    show: Show = lambda done, total: None,
) -> HubRecord:
    """Download a model's newest commit, unless one is here, and return its record.

    `check` is called while waiting and may raise to give up; `show` is told bytes done and in all.
    Raise `ModelMissing` or `BadRequest` with the reason why it cannot be had.
    """
    if not re.fullmatch(HUB_ID, model):
        raise BadRequest("model", _no_name(model))
    with _alone(home) as place:
        folder = hub_folder(home, model)
        record = hub_records(home).get(model)
        if record is not None and record.is_complete(folder):
            return record
        aside = Path(tempfile.mkdtemp(prefix=_PART, dir=place))
        record = _fetched(model, aside, check, show)
        entry = folder_entry(aside, model)
        if entry.state != "ready":
            raise ModelMissing(f"Model {model!r} cannot be used: {entry.why}.")
        _remove(folder)
        aside.rename(folder)
        _note(home, hub_records(home) | {model: record})
        return record


def delete(model: str, home: Path) -> None:
    """Delete a downloaded model. Raise `BadRequest` for any other."""
    with _alone(home):
        records = hub_records(home)
        if model not in records:
            sentence = f"{model!r} was not downloaded from the hub; only such models can be deleted"
            raise BadRequest("model", f"{sentence} here.")
        _note(home, {name: record for name, record in records.items() if name != model})
        _remove(hub_folder(home, model))


@contextmanager
def _alone(home: Path) -> Iterator[Path]:
    """Give the folder of hub models to one download or deletion at a time; clear what is left."""
    place = home / "models" / "hub"
    try:
        place.mkdir(parents=True, exist_ok=True)
        with FileLock(place / ".lock", blocking=False, fallback_to_soft=False):
            _clear(place)
            try:
                yield place
            finally:
                _clear(place)
    except Timeout as error:
        sentence = "Another download or deletion is under way; wait until it has ended."
        raise BadRequest("model", sentence) from error
    except OSError as error:
        reason = error.strerror or error
        raise ModelMissing(
            f"{str(error.filename or home)!r} cannot be written: {reason}."
        ) from error


def _clear(place: Path) -> None:
    for left in place.glob(f"{_PART}*"):
        shutil.rmtree(left, ignore_errors=True)


def _remove(folder: Path) -> None:
    """Remove a folder at once: under a name that counts as left over."""
    if folder.exists():
        gone = Path(tempfile.mkdtemp(prefix=_PART, dir=folder.parent))
        folder.rename(gone / folder.name)


def _note(home: Path, records: dict[str, HubRecord]) -> None:
    file = home / "models.json"
    aside = file.with_suffix(".json.new")
    aside.write_bytes(HUB_RECORDS.dump_json(records, indent=2))
    aside.replace(file)


def _fetched(model: str, aside: Path, check: Check, show: Show) -> HubRecord:
    """Fill a folder from a process that is ended, dead for certain, before this returns."""
    apart = Apart()
    call: Future[Any] | None = None
    try:
        # Its number is needed to kill it, so nothing is asked of it before that is known.
        apart.wait(apart.submit("os:getpid"), check)
        call = apart.submit("backends.models.hub:resolve", model)
        record: HubRecord = apart.wait(call, check)
        _check_space(model, record.bytes, aside)

        def poll() -> None:
            check()
            show(min(_size(aside), record.bytes), record.bytes)

        call = apart.submit("backends.models.hub:fetch", model, record, str(aside))
        apart.wait(call, poll)
        show(record.bytes, record.bytes)
        return record
    finally:
        apart.close()
        if call is not None:
            wait_for([call], timeout=10)


def _check_space(model: str, needed: int, place: Path) -> None:
    free = shutil.disk_usage(place).free
    if free < needed:
        raise ModelMissing(
            f"{model} needs {needed / 1e9:.1f} GB; {free / 1e9:.1f} GB are free on the disk."
        )


def _size(folder: Path) -> int:
    """Return the bytes in a folder whose files may go while they are counted."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                size += (Path(place) / name).stat().st_size
            except FileNotFoundError:
                continue
    return size


def resolve(model: str) -> HubRecord:
    """Ask the hub for a model's newest commit and its files. Runs in a process of its own."""
    with _online(model):
        from huggingface_hub import HfApi

        found = HfApi().model_info(model, files_metadata=True, timeout=30)
        if found.id != model:
            raise ModelMissing(f"The hub calls this model {found.id!r}; ask for it by that name.")
        sizes = {f.rfilename: f.size for f in found.siblings or [] if _is_wanted(f.rfilename)}
        if not any(name.endswith(".safetensors") for name in sizes):
            why = "it has no .safetensors weights, and other formats are not loaded"
            raise ModelMissing(f"Model {model!r} cannot be used: {why}.")
        files = {name: size for name, size in sizes.items() if size is not None}
        if files != sizes:
            raise ValueError("a file without a size")
        licenses = [t for t in found.tags or [] if t.startswith("license:")]
        return HubRecord(
            revision=str(found.sha),
            files=files,
            bytes=sum(files.values()),
            downloaded=datetime.now(UTC).isoformat(timespec="seconds"),
            license=licenses[0].removeprefix("license:") if licenses else None,
            gated=None if found.gated is None else bool(found.gated),
        )


def fetch(model: str, record: HubRecord, folder: str) -> None:
    """Bring one commit's files into a folder, the configuration first. Runs apart, too."""
    with _online(model):
        from huggingface_hub import hf_hub_download, snapshot_download

        if "config.json" in record.files:
            hf_hub_download(model, "config.json", revision=record.revision, local_dir=folder)
        why = _first_look(Path(folder) / "config.json")
        if why:
            raise ModelMissing(f"Model {model!r} cannot be used: {why}.")
        snapshot_download(
            model,
            revision=record.revision,
            local_dir=folder,
            cache_dir=Path(folder) / ".cache",
            allow_patterns=list(_ALLOWED),
            ignore_patterns=list(_IGNORED),
        )
    shutil.rmtree(Path(folder) / ".cache", ignore_errors=True)
    if not record.is_complete(Path(folder)):
        raise ModelMissing(_broken_off(model))


def _is_wanted(name: str) -> bool:
    def matches(patterns: tuple[str, ...]) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    return matches(_ALLOWED) and not matches(_IGNORED)


def _first_look(config: Path) -> str:
    """Say why a model cannot be used before its weights are fetched."""
    try:
        return refusal(json.loads(config.read_text(encoding="utf-8")), has_weights=True)
    except FileNotFoundError:
        return "it has no config.json"
    except (OSError, ValueError, AttributeError, TypeError):
        return "its config.json cannot be read"


@contextmanager
def _online(model: str) -> Iterator[None]:
    """Let huggingface_hub reach the hub, in this process only, and put its errors in a sentence."""
    os.environ["HF_HUB_OFFLINE"] = "0"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    # Xet would speak to other servers, and keep a cache outside of our folder.
    os.environ["HF_HUB_DISABLE_XET"] = "1"
    from httpx2 import HTTPError

    try:
        yield
    except (HTTPError, OSError, ValueError, KeyError, TypeError) as error:
        log.warning("downloading %s", model, exc_info=error)
        raise ModelMissing(_sentence(model, error)) from error


def _sentence(model: str, error: BaseException) -> str:
    """Say what went wrong: the first cause that is understood."""
    from httpx2 import HTTPStatusError, RequestError
    from huggingface_hub.constants import ENDPOINT
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        RepositoryNotFoundError,
    )

    if isinstance(error, HFValidationError):
        return _no_name(model)
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, HfHubHTTPError | HTTPStatusError):
            status, is_gated = cause.response.status_code, isinstance(cause, GatedRepoError)
            is_unknown = isinstance(cause, RepositoryNotFoundError) or status == 401
            if is_gated or status == 403:
                terms = f"accept its terms at {ENDPOINT}/{model} and set HF_TOKEN to a token"
                return f"The hub does not give out {model!r} ({status}): {terms} that may read it."
            if is_unknown:
                return f"The hub knows no model {model!r}, or shows it only with a valid HF_TOKEN."
            return f"The hub answered {status} when asked for {model!r}; try again later."
        if isinstance(cause, RequestError):
            return f"The hub cannot be reached at {ENDPOINT}; all that is here works without it."
        if isinstance(cause, OSError) and cause.errno in _NO_SPACE:
            return f"The disk is full; {model!r} was not downloaded."
        cause = cause.__cause__
    if isinstance(error, OSError):
        return _broken_off(model)
    return f"The answer for {model!r} is not one of a hub; is HF_ENDPOINT ({ENDPOINT}) right?"


def _no_name(model: str) -> str:
    return f"{model!r} is no name of the hub; those are owner/name."


def _broken_off(model: str) -> str:
    return f"The download of {model!r} broke off; start it again."
