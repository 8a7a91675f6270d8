"""A stored result and its figures as files: the same request gives the same bytes.

Nothing in these files tells whether the result was computed or recalled, when, or how long it
took. plotly.js lies once beside the figures, so that they open offline.
"""

import html
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from backends.codec import array_fields, pack
from backends.contract import Method, Request
from backends.jobs.base import Stored

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ margin: 0; color: #1b1f24; background: #fff; font-family: system-ui, sans-serif; }}
h1 {{ margin: 0; padding: 12px 16px 0; height: 36px; box-sizing: border-box;
  font-size: 17px; font-weight: 600; overflow: hidden; white-space: nowrap; }}
p {{ margin: 0; padding: 0 16px; height: 20px; color: #59636e; overflow: hidden;
  white-space: nowrap; font: 12px ui-monospace, monospace; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
{below}
</body>
</html>
"""
PLOTLY_CONFIG = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["sendChartToCloud"],
}


def request_json(method: Method[Any], request: Request) -> dict[str, Any]:
    """Return a request as the object that `run --request` reads."""
    return {"method": method.key, **request.model_dump(mode="json")}


def result_json(method: Method[Any], key: str, stored: Stored) -> dict[str, Any]:
    """Return a result's values and what its arrays are; undefined numbers are null."""
    arrays, values = pack(stored.result)
    axes = array_fields(method.result)
    described = {
        name: {"dtype": str(array.dtype), "shape": list(array.shape), "axes": axes[name]}
        for name, array in arrays.items()
    }
    return {
        "method": method.key,
        "version": method.version,
        "fingerprint": key,
        "values": values,
        "arrays": described,
        "provenance": stored.provenance,
    }


def provenance_line(method: Method[Any], provenance: Mapping[str, Any]) -> str:
    """Return what stands under every figure: model @ revision · dtype · device · N · seed."""
    parts = []
    if "model" in provenance:
        parts.append(f"{provenance['model']} @ {provenance['revision'][:12]}")
    parts += [str(provenance[name]) for name in ("dtype", "device") if name in provenance]
    named = (("N", "n"), ("seed", "seed"))
    parts += [f"{shown} {provenance[name]}" for shown, name in named if name in provenance]
    return " · ".join([*parts, f"{method.key} version {method.version}"])


def write_result(
    folder: Path, method: Method[Any], request: Request, key: str, stored: Stored
) -> None:
    """Write `request.json`, `result.json` and `result.npz`, all of them or none."""
    _write_together(folder, result_files(method, request, key, stored))


def result_files(
    method: Method[Any], request: Request, key: str, stored: Stored
) -> dict[str, bytes]:
    """Return `request.json`, `result.json` and `result.npz` by name."""
    return {
        "request.json": json_bytes(request_json(method, request)),
        "result.json": json_bytes(result_json(method, key, stored)),
        "result.npz": npz_bytes(stored),
    }


def npz_bytes(stored: Stored) -> bytes:
    """Return a result's arrays as a file of `numpy.load`."""
    arrays, _ = pack(stored.result)
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    return packed.getvalue()


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """Return JSON for people: indented, in UTF-8. Raise `ValueError` for a NaN."""
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def write_figures(
    folder: Path, figures: Mapping[str, Any], result: Any, lines: Sequence[str] = ()
) -> list[str]:
    """Write each figure that has something to draw as HTML; return their names.

    `lines` stand under each figure. Figures of these names that an earlier request left in the
    folder are removed once the new ones are there.
    """
    from plotly.offline import get_plotlyjs

    drawn = {name: draw(result, {}) for name, draw in figures.items()}
    files = {
        f"{name}.html": page(name, figure, lines, "directory").encode()
        for name, figure in drawn.items()
        if figure is not None
    }
    _write_together(folder / "figures", files | {"plotly.min.js": get_plotlyjs().encode()})
    remove_figures(folder, [name for name, figure in drawn.items() if figure is None])
    return [name for name, figure in drawn.items() if figure is not None]


def remove_figures(folder: Path, names: Iterable[str]) -> None:
    """Remove the figures of these names that an earlier request left in a folder."""
    for name in names:
        (folder / "figures" / f"{name}.html").unlink(missing_ok=True)


def page(name: str, figure: Any, lines: Sequence[str], plotlyjs: str | bool) -> str:
    """Return a page with a figure under its title, which is escaped already.

    `plotlyjs` is `"directory"` for a page beside plotly.min.js, True for one that holds it.
    """
    body = figure.to_html(
        full_html=False,
        include_plotlyjs=plotlyjs,
        div_id=name,
        config=PLOTLY_CONFIG,
        auto_play=False,
        default_height=f"calc(100vh - {48 + 20 * len(lines)}px)",
    )
    below = "\n".join(f"<p>{html.escape(line)}</p>" for line in lines)
    return PAGE.format(title=figure.layout.meta["title"], body=body, below=below)


def _write_together(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files aside and rename them when all are written; raise `OSError` with none changed."""
    folder.mkdir(parents=True, exist_ok=True)
    aside = {name: folder / f".{name}.{os.getpid()}.part" for name in files}
    try:
        for name, content in files.items():
            aside[name].write_bytes(content)
        for name, part in aside.items():
            part.replace(folder / name)
    finally:
        for part in aside.values():
            part.unlink(missing_ok=True)
