-- Which public holidays are stored, and where they come from.
select distinct name, source from cronty.calendars where source is not null order by name, source
