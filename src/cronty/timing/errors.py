"""What goes wrong with a trigger."""


class BadTrigger(ValueError):
    """A trigger that can't be used: `message` says what was wrong, with the value, `hint` what to do instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}. {hint}" if hint else message)
        self.message = message
        self.hint = hint
