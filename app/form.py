"""The form of a tool: filled from a request, adapted to what was chosen, errors at their field."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app import messages
from app.drawing import Updates
from app.engine import Engine
from app.tool_page import ToolPage
from backends.contract import Request
from backends.errors import BadRequest, GlassworkError, ModelMissing
from views import fields


class Form:
    """What can happen to the fields of one tool."""

    def __init__(self, engine: Engine, page: ToolPage) -> None:
        self.engine = engine
        self.page = page
        self.method = page.tool.method

    def filled(self, request: Request | None) -> Updates:
        """Put a request's values into the form, and the models that are here now."""
        import gradio as gr

        form = self.page.form
        values = {} if request is None else request.model_dump(mode="json")
        props: dict[str, dict[str, Any]] = {name: self._right(name) for name in form}
        for name, each in self._adapted(values).items():
            props[name] |= each
        for name, value in values.items():
            props[name].setdefault("value", fields.plain(value))
        if "model" in form:
            props["model"]["choices"] = fields.model_choices(self.method, self.engine.known)
        for name in self.page.uploads:
            props[name]["visible"] = bool(values.get(name))
        return {form[name]: gr.update(**each) for name, each in props.items()}

    def changed(self, values: Mapping[str, Any], name: str) -> Updates:
        """Let fields offer what fits the values given so far; `name` is the one that changed."""
        import gradio as gr

        try:
            adapted = self._adapted(fields.raw(self.method, values), name)
        except GlassworkError as error:
            return {**self.right(), **self.problem(error)}
        props = {n: {**self._right(n), **adapted.get(n, {})} for n in self.page.form}
        for field in self.page.uploads:
            if "value" in props[field]:
                props[field]["visible"] = bool(props[field]["value"])
        emptied = {p: None for n, p in self.page.uploads.items() if props[n].get("value") == ""}
        return emptied | {self.page.form[n]: gr.update(**each) for n, each in props.items()}

    def uploaded(self, name: str, file: str | None, values: Mapping[str, Any]) -> Updates:
        """Put a file into the uploads and its digest into the form; None takes it out."""
        digest = ""
        if file:
            try:
                digest = self.engine.known.uploads.add(Path(file), name)
            except GlassworkError as error:
                return {self.page.uploads[name]: None, **self.right(), **self.problem(error)}
            finally:
                Path(file).unlink(missing_ok=True)
        updates = self.changed({**values, name: digest}, name)
        place = self.page.form[name]
        held = {"visible": bool(digest), "value": digest}
        return {**updates, place: {**held, **updates.get(place, {})}}

    def models(self) -> Updates:
        """Offer the models that are here now."""
        import gradio as gr

        place = self.page.form.get("model")
        choices = fields.model_choices(self.method, self.engine.known)
        return {} if place is None else {place: gr.update(choices=choices)}

    def problem(self, error: GlassworkError) -> Updates:
        """Show an error at its field and under the button."""
        import gradio as gr

        name = error.field if isinstance(error, BadRequest) else ""
        name = "model" if isinstance(error, ModelMissing) else name
        place, said = self.page.form.get(name), messages.problem(str(error))
        if place is None:
            return {self.page.status: said}
        return {place: gr.update(**messages.wrong(str(error))), self.page.status: said}

    def right(self) -> Updates:
        """Take the errors from all fields."""
        import gradio as gr

        return {self.page.form[name]: gr.update(**self._right(name)) for name in self.page.form}

    def _right(self, name: str) -> dict[str, Any]:
        return messages.right(fields.hint(name, self.method.request.model_fields[name]))

    def _adapted(
        self, values: Mapping[str, Any], changed: str = ""
    ) -> Mapping[str, Mapping[str, Any]]:
        adapt = self.page.tool.adapt
        return adapt(values, self.engine.known, changed) if adapt else {}
