"""Errors that a user can understand, and one that is silent.

GlassworkError
├── BadRequest      the request is wrong: names the field, the value and the allowed range
├── ModelMissing    the model is unknown or not on this machine
├── OutOfMemory     the device ran out of memory; says what would help
└── Cancelled       someone pressed Stop; never shown

The page, the API and the command line show the same sentence. Anything else is a fault of ours:
it goes to the log with its traceback, and the user sees one plain sentence.
"""


class GlassworkError(Exception):
    """Base of all errors whose text is meant to be read by the user."""


class BadRequest(GlassworkError):
    """A request that the user can mend. `field` is where the sentence is shown."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


class ModelMissing(GlassworkError):
    """A model that is unknown, or known but not on this machine."""


class OutOfMemory(GlassworkError):
    """The device ran out of memory."""


class Cancelled(GlassworkError):
    """The work was stopped on request."""

    def __init__(self) -> None:
        super().__init__("Stopped.")
