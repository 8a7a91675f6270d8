"""What a tool is: the figures of one method, and how the page shows them.

A figure is a pure function of a stored result and the look (what changes only the picture: the
layer shown, the coloring). It returns None where the request has nothing of that kind to draw.

A tool without `build` gets a page of its figures, one below the other. With `build` it places
controls and figures itself and returns a `Panel`, which says in data what depends on what;
`app/wiring.py` connects all tools in the same way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go

from backends.contract import Known, Method

Look = Mapping[str, Any]
Figure = Callable[[Any, Look], go.Figure | None]
Adapt = Callable[[Mapping[str, Any], Known, str], Mapping[str, Mapping[str, Any]]]
Frames = Callable[[Any, Look], Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class View:
    """A place on the page and what is drawn there from a result and the look.

    `draw` returns a figure for a figure slot, else the component's value; None hides the place.
    `uses` are the look controls that the picture depends on, None for all of them.

    When the control `follows` moves, the browser changes the figure by itself: it shows the frame
    of the control's value, of the plotly frames (points that move) that `frames` returns by value;
    without `frames` it marks the value by a line across the x axis. Of the controls in `marks` it
    marks the value by the shape that `layout.meta["marks"]` names: `cell` (a ring around "row,
    column"), `row`, `column`, `lag` (lines over a board), `window` (shades outside "first,last").

    A click on a point with `customdata` writes it into the control `click`; a selection writes the
    points' into `select`, joined by commas.
    """

    place: Any
    draw: Callable[[Any, Look], Any]
    uses: tuple[str, ...] | None = None
    frames: Frames | None = None
    follows: str = ""
    marks: tuple[str, ...] = ()
    click: str = ""
    select: str = ""

    def moves_with(self, control: str) -> bool:
        """Say whether the browser shows a control's value by itself, without a new drawing."""
        return control == self.follows or control in self.marks


@dataclass(frozen=True)
class FollowUp:
    """A request of another method that a look control asks for, and where its result is shown.

    `opens` returns the method's key and its fields, or None to ask nothing. The request runs as
    an ordinary job with a link of its own.
    """

    control: str
    place: Any
    opens: Callable[[Any, Look], tuple[str, Mapping[str, Any]] | None]
    draw: Callable[[Any, Look], Any]


@dataclass(frozen=True)
class Panel:
    """The right side of a tool. `look` names the controls that change only the picture.

    `fit` returns, for a result and a wanted look, what each control then offers and holds
    (`{"layer": {"maximum": 29, "value": 12}}`); wanted values come from links and may be wrong,
    and what `fit` returns as `value` is what is drawn. `play` names a slider of whole numbers
    that gets a play button, which stands in `play_place`.
    """

    views: Sequence[View]
    look: Mapping[str, Any] = field(default_factory=dict)
    fit: Callable[[Any, Look], Mapping[str, Mapping[str, Any]]] = lambda result, look: {}
    follow_ups: Sequence[FollowUp] = ()
    play: str = ""
    play_button: Any = None


@dataclass(frozen=True)
class Tool:
    """The views of one method. `figures` maps a name, which is also the exported file's, to a
    function; `tab` (a key of `views/tabs.py`) and `order` say where the page shows it.

    `fields` are shown at once, in this order; the others of the request stand under *More
    settings*. `adapt` returns what fields offer or hold for the values given so far (label columns
    of the chosen set). `caution` is a sentence that always stands on the tool's page.
    """

    method: Method[Any]
    title: str
    sentence: str
    figures: Mapping[str, Figure]
    tab: str
    order: int = 100
    fields: tuple[str, ...] = ()
    build: Callable[[], Panel] | None = None
    adapt: Adapt | None = None
    caution: str = ""
