"""A stored result and its figures as files: the same request gives the same bytes.

Nothing in these files tells whether the result was computed or recalled, when, or how long it
took. plotly.js lies once beside the figures, so that they open offline.
"""

import json
from collections.abc import Iterable, Mapping
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
</style>
</head>
<body>
<h1>{title}</h1>
{body}
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


def write_result(
    folder: Path, method: Method[Any], request: Request, key: str, stored: Stored
) -> None:
    """Write `request.json`, `result.json` and `result.npz`."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / "request.json", request_json(method, request))
    _write_json(folder / "result.json", result_json(method, key, stored))
    arrays, _ = pack(stored.result)
    with (folder / "result.npz").open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def write_figures(folder: Path, figures: Mapping[str, Any], result: Any) -> list[str]:
    """Write each figure that has something to draw as HTML; return their names.

    Figures of these names that an earlier request left in the folder are removed.
    """
    place = folder / "figures"
    place.mkdir(parents=True, exist_ok=True)
    remove_figures(folder, figures)
    written = []
    for name, draw in figures.items():
        figure = draw(result, {})
        if figure is None:
            continue
        (place / f"{name}.html").write_text(_page(name, figure), encoding="utf-8")
        written.append(name)
    _copy_plotly(place)
    return written


def remove_figures(folder: Path, names: Iterable[str]) -> None:
    """Remove the figures of these names that an earlier request left in a folder."""
    for name in names:
        (folder / "figures" / f"{name}.html").unlink(missing_ok=True)


def _page(name: str, figure: Any) -> str:
    """Return a page with a figure under its title, which is escaped already."""
    body = figure.to_html(
        full_html=False,
        include_plotlyjs="directory",
        div_id=name,
        config=PLOTLY_CONFIG,
        auto_play=False,
        default_height="calc(100vh - 48px)",
    )
    return PAGE.format(title=figure.layout.meta["title"], body=body)


def _copy_plotly(place: Path) -> None:
    from plotly.offline import get_plotlyjs

    (place / "plotly.min.js").write_text(get_plotlyjs(), encoding="utf-8")


def _write_json(file: Path, value: Mapping[str, Any]) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, sort_keys=False)
    file.write_text(text + "\n", encoding="utf-8")
