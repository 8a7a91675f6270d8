"""Where the techniques agree and where not, in numbers."""

from itertools import combinations

import numpy as np

from backends.methods.medical_axis import MedicalAxisResult
from views.contract import Look
from views.tools.medical_axis.look import chosen_domain, chosen_layer

HIGH_CONFIDENCE = 3


def words_html(result: MedicalAxisResult, look: Look) -> str:
    """Say what each technique finds at the chosen layer and how the domain's techniques agree."""
    d, layer = chosen_domain(result, look), chosen_layer(result, look)
    domain = result.domains[d]
    parts = [
        f"<h3>{domain}, layer {layer}</h3>",
        f"<p>{_at_layer(result, d, layer)}</p>",
        f"<p>{_agreement(result, d)}</p>",
        f"<p>{_pairs(result, d)}</p>",
        f"<p>{_stability(result, d)}</p>",
    ]
    return "".join(part for part in parts if part != "<p></p>")


def _at_layer(result: MedicalAxisResult, d: int, layer: int) -> str:
    found = []
    for t, technique in enumerate(result.techniques):
        value, control = result.curve[d, t, layer], result.control[d, t, layer]
        if not np.isfinite(value):
            found.append(f"{technique}: not defined")
            continue
        beside = f" (control {control:.3g})" if np.isfinite(control) else ""
        inside = ", in an interval" if result.covered[d, t, layer] else ""
        found.append(f"{technique} {value:.3g}{beside}{inside}")
    return "; ".join(found) + "."


def _agreement(result: MedicalAxisResult, d: int) -> str:
    with_interval = int(result.covered[d].any(axis=1).sum())
    high = np.flatnonzero(result.agreement[d] >= HIGH_CONFIDENCE)
    if with_interval < HIGH_CONFIDENCE:
        return (
            f"{with_interval} of {len(result.techniques)} techniques have an interval here; three "
            "are needed to speak of agreement."
        )
    listed = ", ".join(map(str, high)) or "none"
    return (
        f"Layers that at least three of {with_interval} techniques cover: {len(high)} ({listed}). "
        f"Intervals moved at random: {result.chance[d]:.1f} on average, as many or more in "
        f"{100 * result.chance_p[d]:.0f} % of 500 moves."
    )


def _pairs(result: MedicalAxisResult, d: int) -> str:
    names = result.techniques
    values = [
        f"{names[a]} and {names[b]} {result.overlap[d, a, b]:.2f}"
        for a, b in combinations(range(len(names)), 2)
        if np.isfinite(result.overlap[d, a, b])
    ]
    return f"Shared layers (Jaccard index): {', '.join(values)}." if values else ""


def _stability(result: MedicalAxisResult, d: int) -> str:
    values = [
        f"{technique} {value:.2f}"
        for technique, value in zip(result.techniques, result.stability[d], strict=True)
        if np.isfinite(value)
    ]
    if not values:
        return "Stability over templates and seeds: not computed."
    return f"Stability over templates and seeds (mean Jaccard index): {', '.join(values)}."
