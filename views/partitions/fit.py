"""What the controls offer and hold for a result and a wanted look, which may be wrong."""

from collections.abc import Mapping
from typing import Any

from backends.partitions.result import PartitionResult
from views.contract import Look
from views.partitions.look import (
    chosen_cell,
    chosen_direction,
    chosen_place,
    color_scale,
    is_log,
    n_scales,
    wanted_elements,
)

COLORS = (("linear", "linear"), ("logarithmic", "log"))


def fit(result: PartitionResult, look: Look) -> Mapping[str, Mapping[str, Any]]:
    """Return each control's properties."""
    s, t = chosen_cell(result, look)
    direction, scales = chosen_direction(look), n_scales(result)
    names = zip(result.scale_names, result.n_clusters.tolist(), strict=True)
    choices = [(f"{name} (k = {k})", str(m)) for m, (name, k) in enumerate(names)]
    return {
        "cell": {"value": f"{s},{t}"},
        "color": {"value": "log" if is_log(look) else "linear"},
        "colorby": {"choices": choices, "value": str(color_scale(result, look))},
        "elements": {"value": wanted_elements(look)},
        "direction": {"value": direction},
        "at": {
            "minimum": 0,
            "maximum": scales - 1,
            "step": 1,
            "value": chosen_place(result, look),
        },
    }
