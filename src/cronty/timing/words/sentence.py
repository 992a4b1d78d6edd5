"""What a whole sentence said, while it is being read and after."""

from typing import Final

from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.words.said import Bounds, CalendarDate, Rhythm, Said, Window

AND: Final = frozenset({"and", "&", "plus"})
_DAYS: Final = (
    *("weeks", "counting_from", "date", "weekdays", "month_days", "business_days", "nths", "months", "months_of_day"),
    *("rhythm", "again", "either"),
)


class Sentence:
    """What a whole sentence said: groups of days with their times, and the bounds that hold for all of them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bounds = Bounds()
        self.groups = [Said(text)]
        self.link = ""
        self.before = ""
        self.ranked = False
        self.broken = False
        self.times_last = False
        self.bounded = False
        self.by = False
        self.once = False
        self.from_now = False
        self.month_of_year = ""
        self.often: tuple[int, str] | None = None
        self.alternatives: list[Said] = []
        self.hours_or_minutes = False
        self.unsure: list[tuple[Said, int, Window, bool]] = []

    @property
    def said(self) -> Said:
        """The group that is being spoken of."""
        return self.groups[-1]

    def begin(self, *, after: str = "", again: bool = False, rhythm: Rhythm = "", lent: bool = False) -> None:
        """Begin another group; `after` what stands before it."""
        after = after or ("and" if not AND.isdisjoint(self.link.split()) else ",")
        self.groups.append(Said(self.text, after=after, again=again, rhythm=rhythm, lent=lent))

    def refuse(self, why: str, hint: str) -> BadTrigger:
        return Unread(f'Can\'t read "{self.text}": {why}', hint)

    @property
    def is_full(self) -> bool:
        """Whether the group has days that repeat and after them their times: more days are another group."""
        said = self.said
        if not self.times_last:
            return False
        days = said.weekdays or said.of_month or said.nths or said.rhythm or said.again
        return bool((said.clocks or said.windows) and days and said.relative is None)

    def lend_rhythms(self, since: CalendarDate | None) -> None:
        """`every 2 weeks on Monday at 9 and on Friday at 10`: both may be every 2 weeks, and of the same weeks."""
        for said, other in zip(self.groups[1:], self.groups[:-1], strict=True):
            if said.lent:
                said.weeks, said.every, said.counting_from = other.weeks, other.every, other.counting_from or since

    def settle_hours(self) -> None:
        """`9 to 17` beside a period is hours of the day; alone it is refused: not 16:51; `10 to 12` may be either."""
        if self.hours_or_minutes and all(said.every is None for said, *_ in self.unsure):
            raise self.refuse(
                "minutes to an hour, or from one hour to another?",
                'Say the time, as in "at 11:50", or how often, as in "every 15 minutes from 10:00 to 12:00".',
            )
        for said, place, window, sure in reversed(self.unsure):
            if said.every is not None or not sure:
                del said.clocks[place]
                said.windows.append(window)

    def share_days(self) -> None:
        """A rhythm within hours that has no days has those of the group that follows."""
        for said, other in [*zip(self.groups[-2::-1], self.groups[:0:-1], strict=True)]:
            if said.every is not None and said.windows and other.windows and not said.names_day and not said.months:
                for fact in _DAYS:
                    setattr(said, fact, getattr(other, fact))

    def share_years(self) -> None:
        """`1 January and 1 July at 9 every year`: both are of every year."""
        for said, other in [*zip(self.groups[-2::-1], self.groups[:0:-1], strict=True)]:
            if said.date and other.date and other.rhythm == "year" and not said.rhythm:
                said.rhythm, said.again = other.rhythm, other.again

    def share_times(self) -> None:
        """`every other Monday and every Thursday at 9`: a group without a time has that of its neighbor."""
        pairs = [*zip(self.groups[-2::-1], self.groups[:0:-1], strict=True)]
        for said, other in [*pairs, *zip(self.groups[1:], self.groups[:-1], strict=True)]:
            # A part of the day that was said is a time of its own: "every Monday at 19:00 and Tuesday morning".
            if not said.clocks and not said.windows and said.every is None and not said.part:
                said.clocks, said.windows, said.part = list(other.clocks), list(other.windows), other.part
