"""What a form offers for the concept set that was chosen: its label columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from backends.concepts.medical import LABELS
from backends.concepts.table import read_table
from backends.contract import Known

DEFAULT_DOMAIN = "drug"
FEWEST_CLASSES = 2


def adapt(values: Mapping[str, Any], known: Known, changed: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the label columns to choose from. A table takes the place of a domain, until another
    domain is chosen.

    Raise `BadRequest` for a table that cannot be read.
    """
    takes_domain = changed == "domain" and values.get("domain")
    if takes_domain or not values.get("table"):
        columns = {str(domain): names for domain, names in LABELS.items()}
        domain = str(values.get("domain"))
        offered = _offered(columns.get(domain, columns[DEFAULT_DOMAIN]), values)
        return {"labels": offered, **({"table": {"value": ""}} if takes_domain else {})}
    concepts = read_table(known.uploads.read(values["table"], "table"))
    usable = [c for c in concepts.labels if len(concepts.usable_classes(c)) >= FEWEST_CLASSES]
    return {
        "domain": {"value": None},
        "template": {"value": "A"},
        "labels": _offered(usable, values),
    }


def _offered(columns: Sequence[str], values: Mapping[str, Any]) -> Mapping[str, Any]:
    chosen, first = values.get("labels"), next(iter(columns), None)
    return {"choices": list(columns), "value": chosen if chosen in columns else first}
