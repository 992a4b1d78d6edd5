-- What an owner has used since the hour ($2) and the day ($3) began, and what is counted by the minute ($5) since that ($4).
select u.what, sum(u.used)::bigint as used from cronty.usage u join cronty.owners o on o.id = u.owner_id
where o.name = $1 and case when u.what = $5 then u.since = $4 else u.since in ($2, $3) end and u.what not like 'refused %'
group by u.what
order by u.what
