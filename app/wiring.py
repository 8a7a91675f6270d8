"""Form and figures ↔ runner: the only place where events meet jobs.

Every tool is wired in the same way: run, stop, progress, preliminary pictures, errors at their
field, the look, clicks, follow-up requests, restoring from a link. A session keeps the request it
shows and nothing else; whatever is drawn is recalled from the store.

A run is a generator that yields at least every quarter of a second, so that a closed page ends it
there. Stop sets a flag which the generator looks at, so that a follower leaves exactly once.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from app import messages
from app.drawing import Shown, Updates, drawn, fitted, foot, placeholder, value
from app.engine import Engine
from app.form import Form
from app.repeated import repeated
from app.restore import restored
from app.runs import Run, Runs
from app.tool_page import ToolPage
from backends.accept import accept, request_key
from backends.contract import Method, Request
from backends.errors import BadRequest, Cancelled, GlassworkError
from backends.jobs.base import Job, Stored
from views import fields
from views.contract import FollowUp, View
from views.slot import is_slot

STOPPED = "Stopped. What was computed is kept: Run goes on from there."


class Wiring:
    """What happens on one tool's page.

    `is_first`: the page opens on it without a link; `tools` are the keys of all tools of the page.
    """

    def __init__(
        self,
        engine: Engine,
        page: ToolPage,
        is_first: bool = False,
        tools: Collection[str] | None = None,
    ) -> None:
        self.engine = engine
        self.page = page
        self.method: Method[Any] = page.tool.method
        self.is_first = is_first
        self.tools = set(engine.found.methods) if tools is None else set(tools)
        self.form = Form(engine, page)
        self.runs = Runs()

    def split(self, values: tuple[Any, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the form's and the look's values by name."""
        count = len(self.page.form)
        return dict(zip(self.page.form, values[:count], strict=True)), self.look(values[count:])

    def look(self, values: tuple[Any, ...]) -> dict[str, Any]:
        """Return the look's values by name."""
        return dict(zip(self.page.panel.look, values, strict=True))

    # Running

    def run(self, goes_on: bool, shown: Shown, *values: Any) -> Iterator[Updates]:
        """Run what the form says, or recall it."""
        form, look = self.split(values)

        def steps() -> Iterator[Updates]:
            yield self.form.right()
            request = accept(self.method, fields.raw(self.method, form), self.engine.known)
            job = self.engine.runner.submit(self.method, request, goes_on=goes_on)
            yield from self._followed(request, job, look if shown else {})

        yield from self._guarded(steps)

    def stop(self, running: str) -> Updates:
        """Ask a session's run to end; its generator says when it has."""
        if not self.runs.stop(running):
            return self._nothing()
        return {self.page.status: messages.message("Stopping.")}

    def _followed(self, request: Request, job: Job, look: Mapping[str, Any]) -> Iterator[Updates]:
        page = self.page
        with self.runs.begun(job, look) as run:
            yield {
                page.running: run.id,
                page.shown: {},
                page.foot: None,
                **self._emptied(page.panel.follow_ups),
                **self._buttons(True),
            }
            for state in job.events():
                if run.is_stopped:
                    break
                updates = {page.status: messages.progress(state)}
                if state.partial is not None:
                    run.partial = state.partial
                    updates |= self._preliminary(run)
                yield updates
            else:
                stored = job.result()
        if run.is_stopped:
            yield {page.status: messages.message(STOPPED), **self._buttons(False)}
        else:
            yield {**self._result(request, job.key, stored, run.look), **self._buttons(False)}

    def _preliminary(self, run: Run) -> Updates:
        look, controls = fitted(self.page, run.partial, run.look)
        return {**controls, **drawn(self.page, run.partial, look, preliminary=True)}

    def _result(
        self, request: Request, key: str, stored: Stored, look: Mapping[str, Any]
    ) -> Updates:
        page = self.page
        in_force, controls = fitted(page, stored.result, look)
        return {
            page.status: messages.done(stored),
            page.shown: {"key": key, "request": request.model_dump(mode="json")},
            page.foot: foot(page, request, key, stored, in_force),
            **controls,
            **drawn(page, stored.result, in_force),
        }

    def _buttons(self, is_running: bool) -> Updates:
        import gradio as gr

        page = self.page
        return {
            page.run: gr.update(interactive=not is_running),
            page.stop: gr.update(visible=is_running),
        } | ({} if is_running else {page.running: ""})

    # The look

    def relook(self, name: str, shown: Shown, running: str, *values: Any) -> Updates:
        """Draw again what depends on a control that was moved."""
        look = self.look(values)
        return self._answered(lambda: self._relooked(name, shown, running, look))

    def pick(self, name: str, keys: Any, shown: Shown, running: str, *values: Any) -> Updates:
        """Write what was clicked or selected into a control, and draw what depends on it."""
        chosen = ",".join(map(str, keys)) if isinstance(keys, list) else str(keys or "")[:100]
        look = self.look(values) | {name: chosen}
        return self._answered(lambda: self._relooked(name, shown, running, look, True))

    def advance(self, shown: Shown, running: str, *values: Any) -> Updates:
        """Move the slider that plays by one, from its end to its begin."""
        look = self.look(values)
        return self._answered(lambda: self._advanced(shown, running, look))

    def _advanced(self, shown: Shown, running: str, look: dict[str, Any]) -> Updates:
        name, result = self.page.panel.play, self._source(shown, running)
        if result is None:
            return self._nothing()
        offered = self.page.panel.fit(result, look)[name]
        nearest = int(look[name] or 0) + 1
        look[name] = nearest if nearest <= offered["maximum"] else offered["minimum"]
        return self._relooked(name, shown, running, look, True)

    def _relooked(
        self,
        name: str,
        shown: Shown,
        running: str,
        look: dict[str, Any],
        moves_controls: bool = False,
    ) -> Updates:
        page, result = self.page, self._source(shown, running)
        if result is None:
            self.runs.look(running, {name: look[name]})
            return self._nothing()
        in_force, controls = fitted(page, result, look)
        self.runs.look(running, {name: in_force[name]})
        views = [
            view
            for view in page.panel.views
            if not view.moves_with(name) and (view.uses is None or name in view.uses)
        ]
        updates = drawn(page, result, in_force, views, preliminary=not shown)
        if moves_controls:
            updates[page.panel.look[name]] = controls[page.panel.look[name]]
        if shown:
            stored = self._recalled(shown)
            request = self.method.request.model_validate(shown["request"])
            updates[page.foot] = foot(page, request, shown["key"], stored, in_force)
        return updates or self._nothing()

    def _source(self, shown: Shown, running: str) -> Any:
        """Return what is on the screen: a preliminary result, else the stored one, else None."""
        if shown:
            return self._recalled(shown).result
        run = self.runs.get(running)
        return None if run is None else run.partial

    def _recalled(self, shown: Shown) -> Stored:
        stored = self.engine.runner.recall(self.method, shown["key"])
        if stored is None:
            raise BadRequest("request", "This result left the cache; press Run to compute it.")
        return stored

    def _nothing(self) -> Updates:
        import gradio as gr

        return {self.page.status: gr.skip()}

    # Follow-up requests

    def ask(self, follow_up: FollowUp, shown: Shown, *values: Any) -> Iterator[Updates]:
        """Run the request of another method that a control asks for, and show its result."""
        yield from self._guarded(lambda: self._asked(follow_up, shown, self.look(values)))

    def _asked(
        self, follow_up: FollowUp, shown: Shown, look: Mapping[str, Any]
    ) -> Iterator[Updates]:
        opened = follow_up.opens(self._recalled(shown).result, look) if shown else None
        if opened is None:
            yield self._emptied([follow_up]) if shown else self._nothing()
            return
        method = self.engine.found.get(opened[0])
        request = accept(method, opened[1], self.engine.known)
        job = self.engine.runner.submit(method, request)
        with self.runs.begun(job, look) as run:
            yield {self.page.running: run.id, **self._buttons(True)}
            for state in job.events():
                if run.is_stopped:
                    break
                yield {self.page.status: messages.progress(state)}
            else:
                stored = job.result()
        if run.is_stopped:
            yield {self.page.status: messages.message(STOPPED), **self._buttons(False)}
            return
        yield {
            follow_up.place: value(View(follow_up.place, follow_up.draw), stored.result, look),
            self.page.status: messages.done(stored),
            **self._buttons(False),
        }

    def _emptied(self, follow_ups: Sequence[FollowUp]) -> Updates:
        """Take away what was shown for an earlier choice."""
        import gradio as gr

        hidden = gr.update(visible=False)
        return {each.place: "" if is_slot(each.place) else hidden for each in follow_ups}

    # The form

    def visit(self, query: Mapping[str, str], visits: int) -> Iterator[Updates]:
        """Fill the form at the first visit: from the link, else from the example."""
        page, method = self.page, self.method
        elsewhere = query.get("method", method.key) != method.key
        first = visits == 0 or (visits == 1 and self.is_first and elsewhere)
        if not first or (visits == 0 and self.is_first and elsewhere and self._known(query)):
            yield {page.visits: visits + 1, **self.form.models()}
            return
        yield from self._guarded(lambda: self._opened(query))

    def _known(self, query: Mapping[str, str]) -> bool:
        return query.get("method") in self.tools

    def _strange(self, query: Mapping[str, str]) -> list[str]:
        """Say that a link names no method of this page."""
        if not self.is_first or "method" not in query or self._known(query):
            return []
        return [f"Method {query['method'][:40]!r} is unknown here; the page opens without a link."]

    def _opened(self, query: Mapping[str, str]) -> Iterator[Updates]:
        page, known = self.page, self.engine.known
        link = restored(self.method, query, known, self.engine.store)
        yield {
            page.visits: 2,
            page.banner: messages.banner([*self._strange(query), *link.sentences]),
            **self.form.filled(link.request),
            **placeholder(page, "Press Run to draw this figure."),
            **self._buttons(False),
        }
        if link.request is None:
            return
        key = request_key(self.method, link.request, known)
        job = self.engine.runner.find(key)
        stored = self.engine.runner.recall(self.method, key)
        if stored is not None:
            yield self._result(link.request, key, stored, link.look)
        elif job is not None and job.join():  # A new one is never begun for a link.
            yield from self._followed(link.request, job, link.look)

    # Errors

    def _guarded(self, steps: Callable[[], Iterator[Updates]]) -> Iterator[Updates]:
        """Yield from steps; an error becomes a sentence, at its field where it has one."""
        yield from repeated(self._told(steps))

    def _told(self, steps: Callable[[], Iterator[Updates]]) -> Iterator[Updates]:
        try:
            yield from steps()
        except Cancelled:
            ended = messages.message("Stopped on the status page.")
            yield {self.page.status: ended, **self._buttons(False)}
        except GlassworkError as error:
            yield {**self.form.problem(error), **self._buttons(False)}
        except Exception as error:
            yield {self.page.status: messages.problem(messages.told(error)), **self._buttons(False)}

    def _answered(self, answer: Callable[[], Updates]) -> Updates:
        """Return an answer; an error becomes a sentence. A run that is under way goes on."""
        try:
            return answer()
        except GlassworkError as error:
            return self.form.problem(error)
        except Exception as error:
            return {self.page.status: messages.problem(messages.told(error))}
