-- How far retiming has come; $3 says that it has come to the end.
update cronty.tzdata set retimed_through = $2, retimed_at = case when $3 then statement_timestamp() end where id = $1
