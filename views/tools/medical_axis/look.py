"""What the look chooses of the axis: a domain and a layer; wrong values are the defaults."""

from backends.methods.medical_axis import MedicalAxisResult
from views.contract import Look


def chosen_domain(result: MedicalAxisResult, look: Look) -> int:
    """Return the index of the look's domain; the default is the first."""
    name = look.get("domain")
    return result.domains.index(name) if name in result.domains else 0


def chosen_layer(result: MedicalAxisResult, look: Look) -> int:
    """Return the look's layer; the default is the first one that most techniques cover."""
    default = int(result.agreement.max(axis=0).argmax()) if result.agreement.size else 0
    try:
        wanted = round(float(look["layer"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return default
    return min(max(wanted, 0), result.layers[-1])
