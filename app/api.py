"""The HTTP API: one endpoint per method, made from its request, over the same door as the page.

`client.predict(domain="age", api_name="/knowledge_map")` gives a result as JSON and its arrays as
a file. An endpoint yields progress at least every 0.25 s, so that a client that cancels or goes
away leaves its job. Files are named by digest here, never by path.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np

from app.describe import describe, field_text
from app.engine import Engine
from app.export import npz_bytes, request_json, result_json
from app.messages import told
from backends.accept import accept
from backends.codec import pack
from backends.contract import Method, Request
from backends.jobs.base import Stored
from backends.watch import Progress

MOST_NUMBERS = 100_000
"""A result of so many numbers is not sent as JSON."""
MOST_AT_ONCE = 8
"""Calls under way at a time. Each holds one of Gradio's 40 threads, which the page needs too."""

Answer: TypeAlias = tuple[dict[str, Any], dict[str, Any] | None]


def add_endpoints(engine: Engine) -> None:
    """Add one endpoint per method to the `gr.Blocks` that is open."""
    from gradio.components import Component
    from gradio.context import get_blocks_context
    from gradio.events import api

    for method in engine.found.methods.values():
        added = api(
            endpoint_for(method, engine),
            api_name=method.key,
            concurrency_limit=MOST_AT_ONCE,
            concurrency_id="api",
        )
        blocks = get_blocks_context()
        assert blocks is not None
        texts = map(field_text, describe(method)["fields"].values())
        for number, text in zip(added["inputs"], texts, strict=True):
            # Gradio shows this beside the parameter and offers no other way to give it.
            parameter = blocks.blocks[number]
            assert isinstance(parameter, Component)
            parameter.api_info()["additional_description"] = text


def endpoint_for(method: Method[Any], engine: Engine) -> Callable[..., Iterator[Answer]]:
    """Return a function that takes a request's fields and yields progress, then the result."""
    signature = _signature(method)

    def answer(*values: Any, **named: Any) -> Iterator[Answer]:
        given = signature.bind(*values, **named)
        given.apply_defaults()
        yield from _answers(method, given.arguments, engine)

    answer.__name__ = answer.__qualname__ = method.key
    answer.__doc__ = _docstring(method)
    answer.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    answer.__signature__ = signature  # type: ignore[attr-defined]
    return answer


def _signature(method: Method[Any]) -> inspect.Signature:
    """Return a request's fields as parameters. One that has no default has the example's value."""
    from gradio import FileData

    example = method.example.model_dump(mode="json")
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=field.get("default", example[name]),
            annotation=method.request.model_fields[name].annotation,
        )
        for name, field in describe(method)["fields"].items()
    ]
    returned = tuple[dict[str, Any], FileData]
    return inspect.Signature(parameters, return_annotation=returned)


def _docstring(method: Method[Any]) -> str:
    fields = describe(method)["fields"].items()
    return "\n".join(
        [
            method.about,
            "",
            "Args:",
            *(f"    {name}: {field_text(field)}" for name, field in fields),
            "",
            "Returns:",
            "    The result as a JSON object, and its arrays as the file result.npz.",
        ]
    )


def _answers(method: Method[Any], raw: Mapping[str, Any], engine: Engine) -> Iterator[Answer]:
    with _told():
        request = accept(method, raw, engine.known)
        job = engine.runner.submit(method, request)
        try:
            for progress in job.events():
                yield _progress_json(job.key, progress), None
            stored = job.result()
        finally:
            job.leave()
        with TemporaryDirectory(prefix="glasswork-") as folder:
            # Gradio copies the file while the answer is yielded.
            yield answer_json(method, request, job.key, stored), _file(Path(folder), stored)


def answer_json(method: Method[Any], request: Request, key: str, stored: Stored) -> dict[str, Any]:
    """Return `result.json` with the request, and the arrays where they are small.

    `data` holds the arrays as nested lists, in which what is not a finite number is null. It is
    null itself for 100,000 numbers and more; `data_left_out` then says where they are.
    """
    arrays, _ = pack(stored.result)
    count = sum(array.size for array in arrays.values())
    is_small = count < MOST_NUMBERS
    why = (
        f"The arrays hold {count:,} numbers, and under {MOST_NUMBERS:,} are sent as JSON; "
        "they are in result.npz, the second output."
    )
    return {
        **result_json(method, key, stored),
        "request": request_json(method, request),
        "data": {name: _nested(array) for name, array in arrays.items()} if is_small else None,
        "data_left_out": None if is_small else why,
    }


def _nested(array: np.ndarray) -> Any:
    nested = array.astype(object)
    nested[~np.isfinite(array)] = None
    return nested.tolist()


def _file(folder: Path, stored: Stored) -> dict[str, Any]:
    from gradio import FileData

    path = folder / "result.npz"
    path.write_bytes(npz_bytes(stored))
    return FileData(path=str(path), orig_name=path.name).model_dump()


def _progress_json(key: str, progress: Progress) -> dict[str, Any]:
    names = ("done", "total", "note", "seconds_left")
    return {"fingerprint": key, "progress": {name: getattr(progress, name) for name in names}}


@contextmanager
def _told() -> Iterator[None]:
    """Turn an error into the sentence that the page and the command line show too."""
    import gradio as gr

    try:
        yield
    except Exception as error:
        raise gr.Error(told(error), print_exception=False) from None
