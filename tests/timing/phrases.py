"""What people say, and what it means: all said on Wednesday 10 March 2027 at 20:00, on the clocks of the place.

New York's clocks go forward on 14 March, Berlin's on 28 March, Kolkata's never.
"""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from cronty.timing import Calendar, CalendarRule, Cron, Interval, Once, Span, Trigger
from cronty.timing.calendar_json import WEEKDAYS
from cronty.timing.calendar_rule import clock

PLACES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata"]


def now_in(zone_name: str) -> datetime:
    return datetime(2027, 3, 10, 20, 0, tzinfo=ZoneInfo(zone_name))


def shown(trigger: Trigger, zone_name: str) -> str:
    """A trigger as these tables write it: `once` in local time, `every` in seconds, `cron`, `calendar`."""
    match trigger:
        case Once(at=at):
            local = at.astimezone(ZoneInfo(zone_name))
            return f"once {local:%Y-%m-%d %H:%M}" + (f":{local:%S}" if local.second else "")
        case Interval(period=period, anchor=anchor):
            begins = (
                f" from {anchor.astimezone(ZoneInfo(zone_name)):%Y-%m-%d %H:%M}" if anchor > now_in(zone_name) else ""
            )
            return f"every {period.total_seconds():g}{begins}"
        case Cron(expression=expression):
            return f"cron {expression}"
        case Calendar():
            return _shown_calendar(trigger)
        case _:
            raise AssertionError(trigger)


def _shown_calendar(calendar: Calendar) -> str:
    bounds = [f"{name} {day}" for name, day in (("starts", calendar.starts), ("ends", calendar.ends)) if day]
    without = [f"without {','.join(map(str, calendar.without))}"] if calendar.without else []
    return " ".join(["calendar", " + ".join(map(_shown_rule, calendar.rules)), *bounds, *without])


def _shown_rule(rule: CalendarRule) -> str:
    said = [",".join(str(time) if isinstance(time, Span) else clock(time) for time in rule.times)]
    weekdays = [WEEKDAYS[day] for day in rule.weekdays] + [f"{nth}{WEEKDAYS[day]}" for nth, day in rule.nths]
    for name, values in (("", weekdays), ("days ", rule.days), ("business ", rule.business_days)):
        said += [f"{name}{','.join(map(str, values))}"] if values else []
    said += [f"months {','.join(map(str, rule.months))}"] if rule.months else []
    return " ".join([*said, f"every {rule.every} {rule.unit} since {rule.since}"] if rule.every > 1 else said)


def same(one: Trigger, other: Trigger) -> bool:
    """Whether two triggers are equal, or the same moment: it may have been said as a local time or not."""
    return one.at == other.at if isinstance(one, Once) and isinstance(other, Once) else one == other


def _rows(name: str) -> list[list[str]]:
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return [line.split(" | ") for line in lines if line and not line.startswith("#")]


# The table of said.txt: a phrase and its readings.
SAID = [(text, readings) for text, *readings in _rows("said.txt")]
# The table of choices.txt: a phrase and the words of each thing it may mean.
CHOICES = [(text, words) for text, *words in _rows("choices.txt")]
PHRASES = [
    # A while from now.
    ("in 2h30m", "once 2027-03-10 22:30"),
    ("in 90 minutes", "once 2027-03-10 21:30"),
    ("In 5 Minutes", "once 2027-03-10 20:05"),
    ("in 30 seconds", "once 2027-03-10 20:00:30"),
    ("in 1 hour and 15 minutes", "once 2027-03-10 21:15"),
    ("in 1 hour, 15 minutes", "once 2027-03-10 21:15"),
    ("in an hour", "once 2027-03-10 21:00"),
    ("in a minute", "once 2027-03-10 20:01"),
    ("in half an hour", "once 2027-03-10 20:30"),
    ("in an hour and a half", "once 2027-03-10 21:30"),
    ("in 1.5 hours", "once 2027-03-10 21:30"),
    ("in two hours", "once 2027-03-10 22:00"),
    ("in a quarter of an hour", "once 2027-03-10 20:15"),
    ("2 hours from now", "once 2027-03-10 22:00"),
    ("after 10 min", "once 2027-03-10 20:10"),
    ("2h30m", "once 2027-03-10 22:30"),
    ("45m", "once 2027-03-10 20:45"),
    ("1d2h30m", "once 2027-03-11 22:30"),
    ("in 1 day", "once 2027-03-11 20:00"),
    ("in 3 days", "once 2027-03-13 20:00"),
    ("in 2 days at 9", "once 2027-03-12 09:00"),
    ("in 3 weeks at 9:30", "once 2027-03-31 09:30"),
    ("in a month", "once 2027-04-10 20:00"),
    ("in 2 months at noon", "once 2027-05-10 12:00"),
    ("in a year", "once 2028-03-10 20:00"),
    ("PT1H30M", "once 2027-03-10 21:30"),
    ("in PT90S", "once 2027-03-10 20:01:30"),
    ("P1D", "once 2027-03-11 20:00"),
    ("p1dt2h", "once 2027-03-11 22:00"),
    ("P1M", "once 2027-04-10 20:00"),
    # Today, tomorrow.
    ("today at 21:00", "once 2027-03-10 21:00"),
    ("today at 9pm", "once 2027-03-10 21:00"),
    ("tonight at 9", "once 2027-03-10 21:00"),
    ("tonight at 11:30", "once 2027-03-10 23:30"),
    ("at 10 tonight", "once 2027-03-10 22:00"),
    ("tonight at midnight", "once 2027-03-11 00:00"),
    ("tonight at 2", "once 2027-03-11 02:00"),
    ("this evening at 9", "once 2027-03-10 21:00"),
    ("today at midnight", "once 2027-03-11 00:00"),
    ("tomorrow at 9am", "once 2027-03-11 09:00"),
    ("tomorrow 9am", "once 2027-03-11 09:00"),
    ("9am tomorrow", "once 2027-03-11 09:00"),
    ("tomorrow at 9", "once 2027-03-11 09:00"),
    ("tomorrow at 9:00", "once 2027-03-11 09:00"),
    ("tomorrow at 17:30", "once 2027-03-11 17:30"),
    ("tomorrow at 5:30 p.m.", "once 2027-03-11 17:30"),
    ("tomorrow at 9 a.m.", "once 2027-03-11 09:00"),
    ("tomorrow at 9.30", "once 2027-03-11 09:30"),
    ("tomorrow at nine o'clock", "once 2027-03-11 09:00"),
    ("tomorrow at noon", "once 2027-03-11 12:00"),
    ("tomorrow at 12 noon", "once 2027-03-11 12:00"),
    ("tomorrow at 12:30", "once 2027-03-11 12:30"),
    ("tomorrow at 12pm", "once 2027-03-11 12:00"),
    ("tomorrow at 12am", "once 2027-03-11 00:00"),
    ("tomorrow at half past nine", "once 2027-03-11 09:30"),
    ("tomorrow at quarter to 9", "once 2027-03-11 08:45"),
    ("tomorrow at a quarter past 10", "once 2027-03-11 10:15"),
    ("tomorrow at ten past eight", "once 2027-03-11 08:10"),
    ("tomorrow morning at 6", "once 2027-03-11 06:00"),
    ("tomorrow afternoon at 3", "once 2027-03-11 15:00"),
    ("tomorrow evening at 7", "once 2027-03-11 19:00"),
    ("tomorrow night at 1", "once 2027-03-12 01:00"),
    ("tomorrow at 9 at night", "once 2027-03-11 21:00"),
    ("tomorrow at 9 local time", "once 2027-03-11 09:00"),
    ("tomorrow at 6 in the morning", "once 2027-03-11 06:00"),
    ("tomorrow at 3 in the afternoon", "once 2027-03-11 15:00"),
    ("the day after tomorrow at 8", "once 2027-03-12 08:00"),
    ("please remind me tomorrow at 9:15", "once 2027-03-11 09:15"),
    ("Remind me at 17:00 tomorrow, please.", "once 2027-03-11 17:00"),
    ("  tomorrow   at  9 ", "once 2027-03-11 09:00"),
    # A time alone is the next one.
    ("at 17:00", "once 2027-03-11 17:00"),
    ("21:30", "once 2027-03-10 21:30"),
    ("8am", "once 2027-03-11 08:00"),
    ("at 08:30", "once 2027-03-11 08:30"),
    ("at 9 in the morning", "once 2027-03-11 09:00"),
    ("noon", "once 2027-03-11 12:00"),
    ("at midnight", "once 2027-03-11 00:00"),
    ("at 20:00", "once 2027-03-11 20:00"),
    ("at 20:00:01", "once 2027-03-10 20:00:01"),
    # Days of the week.
    ("on Friday at 9", "once 2027-03-12 09:00"),
    ("Friday 17:00", "once 2027-03-12 17:00"),
    ("at 9am on Friday", "once 2027-03-12 09:00"),
    ("this Friday at 9:00", "once 2027-03-12 09:00"),
    ("this coming Saturday at 10", "once 2027-03-13 10:00"),
    ("next Monday at 9", "once 2027-03-15 09:00"),
    ("next Wednesday at 9", "once 2027-03-17 09:00"),
    ("Friday this week at 9", "once 2027-03-12 09:00"),
    ("Friday next week at 9", "once 2027-03-19 09:00"),
    ("next week on Thursday at 14:00", "once 2027-03-18 14:00"),
    ("Wednesday at 9", "once 2027-03-17 09:00"),
    ("sat 10:00", "once 2027-03-13 10:00"),
    ("Friday night at 1", "once 2027-03-13 01:00"),
    ("Friday morning at 6:30", "once 2027-03-12 06:30"),
    # Dates.
    ("on 3 May at 9:00", "once 2027-05-03 09:00"),
    ("May 3rd 9am", "once 2027-05-03 09:00"),
    ("May 3 at 9am", "once 2027-05-03 09:00"),
    ("May 3, 2027 at 9:00", "once 2027-05-03 09:00"),
    ("the 3rd of May at 9", "once 2027-05-03 09:00"),
    ("9:00 on 3 May 2028", "once 2028-05-03 09:00"),
    ("Monday 3 May at 9", "once 2027-05-03 09:00"),
    ("on 3 March at 9", "once 2028-03-03 09:00"),
    ("29 February at 9", "once 2028-02-29 09:00"),
    ("2027-12-31 09:00", "once 2027-12-31 09:00"),
    ("2027-12-31 at 9am", "once 2027-12-31 09:00"),
    ("2027/12/31 23:59", "once 2027-12-31 23:59"),
    ("2027-12-31T09:00", "once 2027-12-31 09:00"),
    ("2027-12-31t09:00:30", "once 2027-12-31 09:00:30"),
    ("31.12.2027 9:30", "once 2027-12-31 09:30"),
    ("31/12 at 8:00", "once 2027-12-31 08:00"),
    ("12/31/2027 at 8am", "once 2027-12-31 08:00"),
    ("04/04 at 9", "once 2027-04-04 09:00"),
    # Periods: time that elapses.
    ("every 15 minutes", "every 900"),
    ("every hour", "every 3600"),
    ("hourly", "every 3600"),
    ("every minute", "every 60"),
    ("every second", "every 1"),
    ("every 30 seconds", "every 30"),
    ("every 7 minutes", "every 420"),
    ("every 90 minutes", "every 5400"),
    ("every 2h30m", "every 9000"),
    ("every 1 hour 30 minutes", "every 5400"),
    ("every half hour", "every 1800"),
    ("every PT15M", "every 900"),
    ("each 10 min", "every 600"),
    ("every 24 hours", "every 86400"),
    ("every 2 days", "every 172800"),
    ("every other day", "every 172800"),
    ("every 2 weeks", "every 1.2096e+06"),
    ("every third hour", "every 10800"),
    # Days and times: what the clock shows.
    ("daily at 9", "cron 0 9 * * *"),
    ("every day at 9", "cron 0 9 * * *"),
    ("Every day at 9:00", "cron 0 9 * * *"),
    ("at 9 every day", "cron 0 9 * * *"),
    ("each day at 21:15", "cron 15 21 * * *"),
    ("every day at 9am and 5pm", "cron 0 9,17 * * *"),
    ("every day at 9, 12 and 17", "cron 0 9,12,17 * * *"),
    ("every day at 8:30 and 20:30", "cron 30 8,20 * * *"),
    ("every day at noon", "cron 0 12 * * *"),
    ("every day at midnight", "cron 0 0 * * *"),
    ("every morning at 7", "cron 0 7 * * *"),
    ("every evening at 6", "cron 0 18 * * *"),
    ("every night at 11", "cron 0 23 * * *"),
    ("nightly at 2", "cron 0 2 * * *"),
    ("every day at 7 in the morning and 6 in the evening", "cron 0 7,18 * * *"),
    ("every day at 5 in the morning", "cron 0 5 * * *"),
    ("every weekday at 8:30", "cron 30 8 * * MON-FRI"),
    ("weekdays at 8", "cron 0 8 * * MON-FRI"),
    ("on weekdays at 8am", "cron 0 8 * * MON-FRI"),
    ("every working day at 7:45", "cron 45 7 * * MON-FRI"),
    ("Monday to Friday at 9", "cron 0 9 * * MON-FRI"),
    ("mon-fri at 9", "cron 0 9 * * MON-FRI"),
    ("Sunday to Thursday at 9", "cron 0 9 * * MON,TUE,WED,THU,SUN"),
    ("from Monday through Thursday at 9", "cron 0 9 * * MON,TUE,WED,THU"),
    ("every Monday and Thursday at 10", "cron 0 10 * * MON,THU"),
    ("every Monday, Wednesday and Friday at 7:15", "cron 15 7 * * MON,WED,FRI"),
    ("Mondays at 9", "cron 0 9 * * MON"),
    ("on Tuesdays and Sundays at 18:00", "cron 0 18 * * TUE,SUN"),
    ("weekly on Monday at 9", "cron 0 9 * * MON"),
    ("every week on Friday at 16:00", "cron 0 16 * * FRI"),
    ("every Friday afternoon at 4", "cron 0 16 * * FRI"),
    ("every weekend at 10", "cron 0 10 * * SAT,SUN"),
    ("weekends at 10:30", "cron 30 10 * * SAT,SUN"),
    ("every day in December at 9", "cron 0 9 * DEC *"),
    ("every weekday in June through August at 8", "cron 0 8 * JUN-AUG MON-FRI"),
    # Every so many weeks: the first coming day is in the first of them. This week leaves 0 over when divided by 2.
    ("every 2 weeks on Monday at 10", "cron 0 10 * * MON%2+1"),
    ("every two weeks on Mondays at 10:00", "cron 0 10 * * MON%2+1"),
    ("Mondays at 10 every 2 weeks", "cron 0 10 * * MON%2+1"),
    ("every other Friday at 17:00", "cron 0 17 * * FRI%2"),
    ("on every other Friday at 17:00", "cron 0 17 * * FRI%2"),
    ("every other week on Friday at 17:00", "cron 0 17 * * FRI%2"),
    ("biweekly on Tuesday at 9", "cron 0 9 * * TUE%2+1"),
    ("fortnightly on Monday at 9", "cron 0 9 * * MON%2+1"),
    ("every fortnight on Thursday at noon", "cron 0 12 * * THU%2"),
    ("every 3 weeks on Monday and Thursday at 8:30", "cron 30 8 * * MON,THU%3+2"),
    ("every other Monday and Thursday at 9", "cron 0 9 * * MON,THU%2"),
    ("every 2 weeks on Wednesday at 19:00", "cron 0 19 * * WED%2+1"),
    ("every 2 weeks on Wednesday at 21:00", "cron 0 21 * * WED%2"),
    ("every 2 weeks on weekdays at 9", "cron 0 9 * * MON-FRI%2"),
    ("every other weekend at 10", "cron 0 10 * * SAT,SUN%2"),
    ("every 2 weeks on Monday through Sunday at 9", "cron 0 9 * * *%2"),
    ("every 2 weeks on Friday night at 1", "cron 0 1 * * SAT%2"),
    ("every 6th Friday at 10", "cron 0 10 * * FRI%6+2"),
    ("every 52 weeks on Monday at 9", "cron 0 9 * * MON%52+21"),
    ("every 2 weeks on Monday at 10, counting from 5 January 2026", "cron 0 10 * * MON%2+1"),
    ("every 2 weeks on Monday at 10, counting from 2026-01-18", "cron 0 10 * * MON%2"),
    ("every 15 minutes between 9 and 17 every 2 weeks on Monday", "cron */15 9-16 * * MON%2+1"),
    ("every hour on Mondays every 2 weeks", "cron 0 * * * MON%2+1"),
    # Days of the month and of the year.
    ("last day of the month at 17:00", "cron 0 17 L * *"),
    ("on the last day of every month at 5pm", "cron 0 17 L * *"),
    ("last weekday of the month at 17:00", "cron 0 17 LW * *"),
    ("first Monday of the month at 9", "cron 0 9 * * MON#1"),
    ("on the 2nd Tuesday of every month at 10", "cron 0 10 * * TUE#2"),
    ("last Friday of the month at 16:00", "cron 0 16 * * FRIL"),
    ("first and third Monday of the month at 9", "cron 0 9 * * MON#1,MON#3"),
    ("first and first Monday of the month at 9", "cron 0 9 * * MON#1"),
    ("every first Monday at 9", "cron 0 9 * * MON#1"),
    ("every second Monday of the month at 9", "cron 0 9 * * MON#2"),
    ("on the 1st and 15th at 8", "cron 0 8 1,15 * *"),
    ("on the 1st of the month at 8", "cron 0 8 1 * *"),
    ("first day of the month at 8", "cron 0 8 1 * *"),
    ("every 15th at 8:00", "cron 0 8 15 * *"),
    ("monthly on the 15th at 9", "cron 0 9 15 * *"),
    ("every month on the 15th at 9", "cron 0 9 15 * *"),
    ("on the 1st through 7th of the month at 9", "cron 0 9 1-7 * *"),
    ("on the 1st through 31st of the month at 9", "cron 0 9 * * *"),
    ("on the 1st through 31st, or on Mondays, at 9:00", "cron 0 9 * * *"),
    ("on the 1st, or Monday through Sunday, at 9:00", "cron 0 9 * * *"),
    ("at 9:00 on the 1st, or on Mondays, in May", "cron 0 9 1 MAY MON"),
    ("on the 1st through 31st of every May at 9", "cron 0 9 * MAY *"),
    ("on the 1st and last day of the month at 9", "cron 0 9 1,L * *"),
    ("on the 1st of every January and July at 8", "cron 0 8 1 JAN,JUL *"),
    ("every year on 3 May at 9", "cron 0 9 3 MAY *"),
    ("every May 3rd at 9am", "cron 0 9 3 MAY *"),
    ("3 May every year at 9", "cron 0 9 3 MAY *"),
    ("yearly on 31 December at 23:59", "cron 59 23 31 DEC *"),
    ("every year on the first Monday of May at 9", "cron 0 9 * MAY MON#1"),
    ("at 9:00 on the 1st, or on Mondays", "cron 0 9 1 * MON"),
    # A rhythm of the clock.
    ("every hour on the hour", "cron 0 * * * *"),
    ("every hour at minute 15", "cron 15 * * * *"),
    ("hourly at :30", "cron 30 * * * *"),
    ("at 10 past every hour", "cron 10 * * * *"),
    ("every hour at minutes 5 and 35", "cron 5,35 * * * *"),
    ("every hour at minutes 0 through 29", "cron 0-29 * * * *"),
    ("every hour at minutes 5, 10 to 15 and 45", "cron 5,10-15,45 * * * *"),
    ("every other hour at minutes 5 and 35", "cron 5,35 */2 * * *"),
    ("every 15 minutes by the clock", "cron */15 * * * *"),
    ("every 15 minutes on weekdays", "cron */15 * * * MON-FRI"),
    ("every 15 minutes between 9 and 17 on weekdays", "cron */15 9-16 * * MON-FRI"),
    ("every 15 minutes between 9am and 5pm", "cron */15 9-16 * * *"),
    ("every 10 minutes from 9 to 5 on weekdays", "cron */10 9-16 * * MON-FRI"),
    ("every 15 minutes from 09:00 through 16:45", "cron */15 9-16 * * *"),
    ("every hour from 9:00 through 08:00", "cron 0 * * * *"),
    ("weekdays 9-17 every 30 minutes", "cron */30 9-16 * * MON-FRI"),
    ("weekdays 9 to 5 9-17 every 30 minutes", "cron */30 9-16 * * MON-FRI"),
    ("every 5 minutes between 22:00 and 06:00", "cron */5 22-23,0-5 * * *"),
    ("every minute between 8 and 9 on Mondays", "cron * 8 * * MON"),
    ("every hour from 9 through 17", "cron 0 9-17 * * *"),
    ("every hour from 9:30 through 16:30 on weekdays", "cron 30 9-16 * * MON-FRI"),
    ("every 2 hours from 8 through 18", "cron 0 8-18/2 * * *"),
    ("every 2 hours on Sundays", "cron 0 */2 * * SUN"),
    # Cron itself.
    ("30 9 * * MON-FRI", "cron 30 9 * * MON-FRI"),
    ("*/15 9-16 * * 1-5", "cron */15 9-16 * * 1-5"),
    ("0 9 1 1 1", "cron 0 9 1 1 1"),
    ("cron: 0 9 * * *", "cron 0 9 * * *"),
    ("0 10 * * MON%2", "cron 0 10 * * MON%2"),
    ("@daily", "cron @daily"),
]

# The zone is said, so that the one of the place doesn't matter.
ZONED = [
    ("every day at 9am Europe/Berlin", "cron 0 9 * * *", "Europe/Berlin"),
    ("every day at 9 Berlin time", "cron 0 9 * * *", "Europe/Berlin"),
    ("every weekday at 8:30, New York time", "cron 30 8 * * MON-FRI", "America/New_York"),
    ("weekdays at 9 america/los_angeles", "cron 0 9 * * MON-FRI", "America/Los_Angeles"),
    ("every day at 9 UTC", "cron 0 9 * * *", "UTC"),
    ("every day at 9:00 (UTC)", "cron 0 9 * * *", "UTC"),
    ("every day at 9am in Tokyo", "cron 0 9 * * *", "Asia/Tokyo"),
    ("every day at 9 Port of Spain time", "cron 0 9 * * *", "America/Port_of_Spain"),
    ("every day at 9 Buenos Aires time", "cron 0 9 * * *", "America/Argentina/Buenos_Aires"),
    ("every day at 9 Calcutta time", "cron 0 9 * * *", "Asia/Kolkata"),
    ("every day at 9 Singapore time please", "cron 0 9 * * *", "Asia/Singapore"),
    ("0 9 * * * Europe/Paris", "cron 0 9 * * *", "Europe/Paris"),
    ("@hourly UTC", "cron @hourly", "UTC"),
    ("2027-12-31T09:00 Europe/Berlin", "once 2027-12-31 09:00", "Europe/Berlin"),
    ("on 3 May at 17:00 London time", "once 2027-05-03 17:00", "Europe/London"),
    ("2027-12-31T09:00+01:00 Berlin time", "once 2027-12-31 09:00", "Europe/Berlin"),
    ("2027-12-31T08:00Z Berlin time", "once 2027-12-31 09:00", "Europe/Berlin"),
    # Clocks that cities share, and that show the same.
    ("every day at 9 Eastern time", "cron 0 9 * * *", "America/New_York"),
    ("9am Eastern time every weekday", "cron 0 9 * * MON-FRI", "America/New_York"),
    ("every day at 9 ET", "cron 0 9 * * *", "America/New_York"),
    ("every day at 9am EST", "cron 0 9 * * *", "America/New_York"),
    ("9am EST tomorrow", "once 2027-03-11 09:00", "America/New_York"),
    ("every Sunday at 8 PM PST", "cron 0 20 * * SUN", "America/Los_Angeles"),
    ("3 July at 9am PT", "once 2027-07-03 09:00", "America/Los_Angeles"),
    ("3 July at 9am EDT", "once 2027-07-03 09:00", "America/New_York"),
    ("3 July at 9am BST", "once 2027-07-03 09:00", "Europe/London"),
    ("every day at 9 EET", "cron 0 9 * * *", "Europe/Athens"),
    ("every day at 9 WET", "cron 0 9 * * *", "Europe/Lisbon"),
    ("11 March at 10am GMT", "once 2027-03-11 10:00", "UTC"),
    ("every day at 9am US Eastern", "cron 0 9 * * *", "America/New_York"),
    ("every day at 9am US Pacific time", "cron 0 9 * * *", "America/Los_Angeles"),
    ("every day at 9am Eastern Standard Time", "cron 0 9 * * *", "America/New_York"),
    ("every day at 9am (Berlin time)", "cron 0 9 * * *", "Europe/Berlin"),
    ("every day at 09:00Z", "cron 0 9 * * *", "UTC"),
]

# What may mean several things, in each of the three places unless one is named.
AMBIGUOUS = [
    ("at 8", ["once 2027-03-11 08:00", "once 2027-03-11 20:00"]),
    ("at 9", ["once 2027-03-10 21:00", "once 2027-03-11 09:00"]),
    ("8:30", ["once 2027-03-10 20:30", "once 2027-03-11 08:30"]),
    ("at 12", ["once 2027-03-11 00:00", "once 2027-03-11 12:00"]),
    ("tomorrow at 5", ["once 2027-03-11 05:00", "once 2027-03-11 17:00"]),
    ("tomorrow at 12", ["once 2027-03-11 00:00", "once 2027-03-11 12:00", "once 2027-03-12 00:00"]),
    ("tomorrow at a quarter past twelve", ["once 2027-03-11 00:15", "once 2027-03-11 12:15", "once 2027-03-12 00:15"]),
    ("tomorrow at midnight", ["once 2027-03-11 00:00", "once 2027-03-12 00:00"]),
    ("Wednesday at 21:00", ["once 2027-03-10 21:00", "once 2027-03-17 21:00"]),
    ("next Friday 17:00", ["once 2027-03-12 17:00", "once 2027-03-19 17:00"]),
    ("next Sunday at 9", ["once 2027-03-14 09:00", "once 2027-03-21 09:00"]),
    ("03/04 at 9", ["once 2027-04-03 09:00", "once 2028-03-04 09:00"]),
    ("5/6/2027 at 9:00", ["once 2027-05-06 09:00", "once 2027-06-05 09:00"]),
    ("on the 15th at 9", ["once 2027-03-15 09:00", "cron 0 9 15 * *"]),
    ("the 15 at 9", ["once 2027-03-15 09:00", "cron 0 9 15 * *"]),
    ("first Monday of May at 9", ["once 2027-05-03 09:00", "cron 0 9 * MAY MON#1"]),
    ("every day at 5", ["cron 0 5 * * *", "cron 0 17 * * *"]),
    ("every day at 12", ["cron 0 0 * * *", "cron 0 12 * * *"]),
    ("every Friday at 5:30", ["cron 30 5 * * FRI", "cron 30 17 * * FRI"]),
    ("every Monday at midnight", ["cron 0 0 * * MON", "cron 0 0 * * TUE"]),
    ("every second Tuesday at 9", ["cron 0 9 * * TUE%2+1", "cron 0 9 * * TUE#2"]),
    ("every 3rd Friday at 10", ["cron 0 10 * * FRI%3+2", "cron 0 10 * * FRI#3"]),
    ("biweekly on Monday and Friday at 9", ["cron 0 9 * * MON,FRI%2", "cron 0 9 * * MON,FRI"]),
    ("every 2 weeks on Friday at 5", ["cron 0 5 * * FRI%2", "cron 0 17 * * FRI%2"]),
    ("every 2 weeks on Sunday at midnight", ["cron 0 0 * * SUN%2", "cron 0 0 * * MON%2+1"]),
    ("every hour between 9 and 17", ["cron 0 9-16 * * *", "cron 0 9-17 * * *"]),
    ("every 2 hours from 9 to 17", ["cron 0 9-15/2 * * *", "cron 0 9-17/2 * * *"]),
    ("every 15 minutes between 2 and 4", ["cron */15 2-3 * * *", "cron */15 14-15 * * *"]),
]
# Zone by zone: days of the calendar are not 24 hours where clocks change.
AMBIGUOUS_SOMEWHERE = [
    ("in 5 days", "America/New_York", ["once 2027-03-15 20:00", "once 2027-03-15 21:00"]),
    ("in 5 days", "Europe/Berlin", ["once 2027-03-15 20:00"]),
    ("in 3 weeks", "Europe/Berlin", ["once 2027-03-31 20:00", "once 2027-03-31 21:00"]),
    ("P21DT1H", "Europe/Berlin", ["once 2027-03-31 21:00", "once 2027-03-31 22:00"]),
    ("in 504 hours", "Europe/Berlin", ["once 2027-03-31 21:00"]),
    ("in 3 weeks", "Asia/Kolkata", ["once 2027-03-31 20:00"]),
    ("28 March at 2:30", "Europe/Berlin", ["once 2027-03-28 03:00", "once 2027-03-28 14:30"]),
    ("every day at 9 Pacific time", "UTC", ["cron 0 9 * * *", "cron 0 9 * * *"]),
    ("every day at 9 Pacific time", "America/Vancouver", ["cron 0 9 * * *"]),
]

# What can't be read or kept, said in Berlin: the text, what was wrong, what to do.
EXAMPLES = (
    'Say it as in "in 2h30m", "tomorrow at 9:00", "every weekday at 8:30" or "last day of the month at 17:00", '
    "or give a cron expression."
)
CRON = ' Example: "30 9 * * MON-FRI" is 09:30 on weekdays (minute hour day-of-month month day-of-week).'
REGION = 'Use a region name such as "Europe/Berlin" or "America/New_York", or "UTC".'
REFUSED = [
    ("", "Can't read an empty time", EXAMPLES),
    ("please", 'Can\'t read "please"', EXAMPLES),
    ("now", 'Can\'t read "now"', 'A schedule is for later: say "in 1 minute", or run it now.'),
    ("soon", 'Can\'t read "soon"', 'Say when, as in "in 10 minutes".'),
    (
        "tomorrow",
        '"tomorrow" doesn\'t say at what time',
        'Say at what time, as in "tomorrow at 9:00" or "on 3 May at 17:30".',
    ),
    (
        "every day",
        '"every day" doesn\'t say at what time',
        'Say at what time, as in "every day at 9:00". For 24 hours from now on say "every 24 hours".',
    ),
    ("every Monday", '"every Monday" doesn\'t say at what time', 'Say at what time, as in "every Monday at 9:00".'),
    (
        "daily",
        '"daily" doesn\'t say at what time',
        'Say at what time, as in "daily at 9:00". For 24 hours from now on say "every 24 hours".',
    ),
    ("weekly", '"weekly" doesn\'t say on which day', 'Say on which day, as in "every Monday at 9:00".'),
    (
        "monthly at 9",
        '"monthly at 9" doesn\'t say on which day',
        'Say on which day, as in "on the 1st of every month at 9:00" or "last day of the month at 17:00".',
    ),
    (
        "every month at 9",
        '"every month at 9" doesn\'t say on which day',
        'Say on which day, as in "on the 1st of every month at 9:00" or "last day of the month at 17:00".',
    ),
    (
        "yearly at 9",
        '"yearly at 9" doesn\'t say on which day',
        'Say on which day, as in "every year on 3 May at 9:00".',
    ),
    (
        "on 3 May",
        '"on 3 May" doesn\'t say at what time',
        'Say at what time, as in "tomorrow at 9:00" or "on 3 May at 17:30".',
    ),
    (
        "today at 8",
        "Wednesday 10 March 2027 at 08:00 has passed: it is already 20:00, Berlin time",
        'Say "tomorrow at 08:00".',
    ),
    (
        "today at 17:00",
        "Wednesday 10 March 2027 at 17:00 has passed: it is already 20:00, Berlin time",
        'Say "tomorrow at 17:00".',
    ),
    (
        "tonight at 8",
        "Wednesday 10 March 2027 at 20:00 has passed: it is already 20:00, Berlin time",
        'Say "tomorrow at 20:00".',
    ),
    (
        "2027-01-31 09:00",
        "Sunday 31 January 2027 at 09:00 has passed: it is already Wednesday 10 March 2027, Berlin time",
        "Name a later time.",
    ),
    (
        "2027-03-10T19:00:00+01:00",
        "2027-03-10T19:00:00+01:00 has passed: it is 2027-03-10T20:00:00+01:00",
        "Name a later time.",
    ),
    (
        "10 March at 9",
        "Wednesday 10 March 2027 at 09:00 has passed: it is already 20:00, Berlin time",
        'Say "tomorrow at 09:00" or "today at 21:00".',
    ),
    (
        "3 May 2026 at 9",
        "Sunday 3 May 2026 at 09:00 has passed: it is already Wednesday 10 March 2027, Berlin time",
        "Name a later time.",
    ),
    ("30 February at 9", "There is no 30 February", 'Name a day that exists, or say "last day of the month".'),
    ("2027-02-29 at 9:00", "There is no 29 February 2027", 'Name a day that exists, or say "last day of the month".'),
    ("on the 32nd at 9", "No month has a day 32", 'Say "1st" to "31st", or "last day of the month".'),
    ("every 31 February at 9", "There is no 31 February", 'Name a day that exists, or say "last day of the month".'),
    ("at 25:00", "25:00 is not a time of day", 'Hours run from 0 to 23; the end of a day is "00:00" of the next one.'),
    ("at 25", "25 is not a time of day", 'Hours run from 0 to 23; the end of a day is "00:00" of the next one.'),
    ("tomorrow at 9:75", "There is no minute 75", 'Minutes run from 00 to 59, as in "9:30".'),
    ("tomorrow at 13pm", "13 pm is not a time of day", 'Say "1pm" or "13:00".'),
    ("15:00 in the morning", "15:00 is not in the morning", 'Say "9am", "5pm" or "17:00".'),
    (
        "every 2 weeks at 9",
        '"every 2 weeks at 9" doesn\'t say on which day',
        'Say on which day, as in "every 2 weeks on Monday at 9:00".',
    ),
    (
        "every 3 weeks on Monday",
        '"every 3 weeks on Monday" doesn\'t say at what time',
        'Say at what time, as in "every 3 weeks on Monday at 9:00".',
    ),
    (
        "biweekly",
        '"biweekly" may be every 2 weeks, or twice a week',
        'Say "every 2 weeks on Monday at 9:00", or "every Monday and Thursday at 9:00".',
    ),
    (
        "bimonthly",
        'Can\'t read "bimonthly"',
        'It may be twice a month or every two months: say "on the 1st and 15th of every month at 9:00".',
    ),
    (
        "every 2 weeks on the 1st at 9",
        'Can\'t keep "every 2 weeks on the 1st at 9" in one schedule: weeks go with days of the week only',
        'Leave the others out, as in "every 2 weeks on Monday and Thursday at 9:00".',
    ),
    (
        "every 2 weeks on Friday and Sunday at midnight",
        'Can\'t tell which night is meant by "every 2 weeks on Friday and Sunday at midnight"',
        'Say "at 00:00" for the beginning of the day, or "at 23:59" for its end.',
    ),
    (
        "every 2 weeks on Monday at 9, counting from 5 January",
        'Can\'t read the date after "counting from" in "every 2 weeks on Monday at 9, counting from 5 January"',
        'Give it with its year, as in "every 2 weeks on Monday at 9:00, counting from 5 January 2026".',
    ),
    (
        "every day at 9 counting from 5 January 2026",
        'Can\'t read "counting from" in "every day at 9 counting from 5 January 2026"',
        'It says which weeks are meant, as in "every 2 weeks on Monday at 9:00, counting from 5 January 2026".',
    ),
    (
        "every 7 minutes on weekdays",
        "Can't keep \"every 7 minutes on weekdays\" by the clock: the minutes don't divide an hour evenly",
        "Use 1, 2, 3, 4, 5, 6, 10, 12, 15, 20 or 30 minutes, or leave out the days and hours.",
    ),
    (
        "every 5 hours on Mondays",
        "Can't keep \"every 5 hours on Mondays\" by the clock: the hours don't divide a day evenly",
        "Use 1, 2, 3, 4, 6, 8 or 12 hours, or leave out the days.",
    ),
    (
        "every 30 seconds on Mondays",
        'Can\'t keep "every 30 seconds on Mondays" by the clock: it has no seconds',
        "Use 1, 2, 3, 4, 5, 6, 10, 12, 15, 20 or 30 minutes, or leave out the days and hours.",
    ),
    (
        "every weekday from 9 to 17",
        '"every weekday from 9 to 17" doesn\'t say how often',
        'Say it as in "every 15 minutes between 9:00 and 17:00".',
    ),
    (
        "every 15 minutes at 9",
        'Can\'t read "every 15 minutes at 9": a period and a time of day',
        'Say "every day at 9:00", or the hours, as in "every 15 minutes between 9:00 and 17:00".',
    ),
    ("every day at 9:00:30", '"every day at 9:00:30" has seconds', "A repeated time has minutes only; leave them out."),
    (
        "tomorrow at 9 and 17",
        '"tomorrow at 9 and 17" names several times for one day',
        'Make a job for each, or say "every day at 9:00 and 17:00".',
    ),
    (
        "last Friday at 9",
        '"last Friday" may be the one that has passed',
        'Say "last Friday of the month", or "on Friday" for the next one.',
    ),
    ("sixth Monday of the month at 9", "No month has a 6th Monday", 'Say "first" to "fourth", or "last".'),
    ("6th Monday of the month at 9", "No month has a 6th Monday", 'Say "first" to "fourth", or "last".'),
    ("Sunday 3 May 2027 at 9", "Monday 3 May 2027 is not a Sunday", "Correct one of the two, or leave out the name."),
    ("tomorrow Monday at 9", 'Can\'t read "tomorrow Monday at 9": the two days differ', "Name one day."),
    (
        "last day of the month at midnight",
        'Can\'t tell which night is meant by "last day of the month at midnight"',
        'Say "at 00:00" for the beginning of the day, or "at 23:59" for its end.',
    ),
    ("evry day at 9", 'Can\'t read "evry" in "evry day at 9"', 'Did you mean "every"? ' + EXAMPLES),
    ("every dya at 9", 'Can\'t read "dya" in "every dya at 9"', 'Did you mean "day"? ' + EXAMPLES),
    ("every day at 9 Mars time", "Unknown time zone: Mars", REGION),
    ("every day at 9 Europe/Berln", "Unknown time zone: Europe/Berln", 'Did you mean "Europe/Berlin"? ' + REGION),
    (
        "every Christmas at 9",
        'Can\'t read "christmas" in "every Christmas at 9"',
        'Holidays aren\'t known by name; give the date, as in "on 25 December at 9:00".',
    ),
    ("wake up at 9", 'Can\'t read "wake" in "wake up at 9"', EXAMPLES),
    (
        "every hour at minutes 10 to 5",
        'Can\'t read the minutes in "every hour at minutes 10 to 5"',
        'Say it as in "every hour at minutes 0 through 29".',
    ),
    (
        "remind me to call mom tomorrow at 9",
        'Can\'t read "call" in "to call mom tomorrow at 9"',
        'Give only the time, as in "tomorrow at 9:00"; what is to be done is said elsewhere.',
    ),
    (
        "every 5",
        'Can\'t read "every 5": every what?',
        'Say the unit, as in "every 5 minutes", or the day, as in "every Monday at 9:00".',
    ),
    ("in 5", 'Can\'t read "in 5": 5 what?', 'Say the unit, as in "in 5 minutes".'),
    (
        "every",
        'Can\'t read "every": every what?',
        'Say the unit, as in "every 5 minutes", or the day, as in "every Monday at 9:00".',
    ),
    ("in 0 minutes", 'Can\'t schedule "in 0 minutes": no time at all', 'Say how long, as in "in 5 minutes".'),
    ("every 0 minutes", 'Can\'t repeat "every 0 minutes"', "A period is from 1 second to 10 years."),
    ("every 11 years", 'Can\'t repeat "every 11 years"', "A period is from 1 second to 10 years."),
    ("every 5000 days", 'Can\'t repeat "every 5000 days"', "A period is from 1 second to 10 years."),
    ("in 99999999999 hours", "Can't use the number 99999999999", "It is too large for a time."),
    ("in 999999999 hours", "Can't schedule beyond the year 9999", "Name a nearer date."),
    ("in 9999999 days", "Can't schedule beyond the year 9999", "Name a nearer date."),
    ("in 999999999 days", "Can't use the number 999999999", "It is too large for a time."),
    ("every 999999999 weeks", "Can't use the number 999999999", "It is too large for a time."),
    ("every 9999999 weeks", 'Can\'t repeat "every 9999999 weeks"', "A period is from 1 second to 10 years."),
    ("9999-12-31 at 9:00", "Time out of range: 9999-12-31T09:00:00", "Name a time from the year 2 to 9998."),
    (
        "every day every 2 weeks",
        '"every day every 2 weeks" doesn\'t say on which day',
        'Say on which day, as in "every 2 weeks on Monday at 9:00".',
    ),
    ("in 9000 years", "Can't schedule beyond the year 9999", "Name a nearer date."),
    ("in 1.5 months", "Can't tell how long 1.5 months are", "Months differ in length; say days, or a date."),
    ("P1H", 'Can\'t read the duration "P1H"', 'Give it as in "PT1H30M" or "P1D".'),
    ("61 * * * *", "Invalid cron expression: 61 * * * *", 'minute: 61 is outside 0-59; try "0" or "*/15".' + CRON),
    ("0 9 * *", "Invalid cron expression: 0 9 * *", "It has 4 fields; exactly five are needed." + CRON),
    (
        "@reboot",
        "Invalid cron expression: @reboot",
        "Known nicknames are @hourly @daily @midnight @weekly @monthly @yearly @annually; for a fixed "
        "period use an interval." + CRON,
    ),
    (
        "every day at 9 every day at 10",
        'Can\'t read "every day at 9 every day at 10": it names the rhythm twice',
        "Name it once, or make two jobs.",
    ),
    ("tomorrow on Friday at 9", 'Can\'t read "tomorrow on Friday at 9": the two days differ', "Name one day."),
    ("tomorrow at ٩", "Can't read '٩' in \"tomorrow at ٩\"", "Use plain letters and digits."),
    ("tomorrow at 9 😀", "Can't read '😀' in \"tomorrow at 9 😀\"", "Use plain letters and digits."),
    (
        "twice a day",
        '"twice a day" doesn\'t say when',
        'Say when, as in "every day at 9:00 and 17:00", or how far apart, as in "every 12 hours".',
    ),
    ("5 times a day", '"5 times a day" doesn\'t say when', 'Say when, as in "every day at 9:00 and 17:00".'),
    (
        "every day at 3, 4 and 5 and 6",
        '"every day at 3, 4 and 5 and 6" leaves too many times open',
        'Say "am" or "pm", or write "09:00" and "21:00".',
    ),
    ("in 2 hours every day", 'Can\'t read "in 2 hours every day": a delay and a day', "Give one of the two."),
    (
        "in 2 hours at 9",
        'Can\'t read "in 2 hours at 9": a delay and a time of day',
        'Give one of the two, or "in 2 days at 9:00".',
    ),
    (
        "next week",
        'Can\'t read "next" in "next week"',
        'Say which day, as in "next Monday at 9:00" or "on 3 May at 9:00".',
    ),
    ("next month", '"next month" doesn\'t say on which day', 'Say which day, as in "on 3 May at 9:00".'),
    ("at 9 on the hour", 'Can\'t read "at 9 on the hour": how often?', 'Say it as in "every hour at minute 15".'),
    ("tomorrow at 9 " * 36, "Can't read a time of 504 characters", "At most 500 are allowed. Give only the time."),
]
# The table of refused.txt: a phrase, what was wrong, what to do.
REFUSED_TOO = [(text, wrong, hint.replace("EXAMPLES", EXAMPLES)) for text, wrong, hint in _rows("refused.txt")]
