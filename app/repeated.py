"""Answers of a generator as Gradio's browser side needs them: updates are repeated for a while.

Gradio sends each answer of a generator as a difference to the one before, and its browser side
applies that difference to the object that it may not have shown yet. Where the next answer leaves a
component alone, the properties of its update are then deleted before they were seen (a Stop button
that never appears). So the same update is sent again for some seconds; the difference is empty.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Updates = dict[Any, Any]
SECONDS = 2.0


def repeated(
    answers: Iterable[Updates], clock: Callable[[], float] = time.monotonic
) -> Iterator[Updates]:
    """Yield the answers, each with the property updates of the last two seconds."""
    held: dict[Any, tuple[float, dict[str, Any]]] = {}
    for answer in answers:
        now = clock()
        held = {place: kept for place, kept in held.items() if kept[0] > now}
        whole: Updates = {place: update for place, (_, update) in held.items()}
        for place, update in answer.items():
            whole[place] = update
            if _is_update(update):
                before = held[place][1] if place in held else {}
                whole[place] = {**before, **update}
                held[place] = (now + SECONDS, whole[place])
            else:
                held.pop(place, None)
        yield whole


def _is_update(value: Any) -> bool:
    return isinstance(value, dict) and value.get("__type__") == "update"
