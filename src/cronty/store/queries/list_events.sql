-- Changes of an owner's runs after $2, in order; those with the same time are never split. $3 now, $4 how many, $5 only
-- changes written by this transaction or a later one, $6 only slots after this. The last half second is left for the next
-- call: transactions that are committing now may still add changes there.
select * from (
  select greatest(r.started_at, r.finished_at) as at, j.number as job_number, j.created_at, j.name, r.scheduled_for, r.state::text as verdict,
    r.attempt, r.reason, r.error
  from cronty.runs r
  cross join lateral (select j.number, j.created_at, j.name, j.deleted_at from cronty.jobs j where j.id = r.job_id offset 0) j
  where r.owner_id = (select id from cronty.owners where name = $1) and j.deleted_at is null
    and (r.started_at > $2 or r.finished_at > $2) and r.scheduled_for > $6
    and ($5::xid is null or age(r.xmin) <= age($5::xid))
) happened
where at > $2 and at <= coalesce($3::timestamptz, statement_timestamp()) - interval '0.5 seconds'
order by at
fetch first ($4::bigint) rows with ties
