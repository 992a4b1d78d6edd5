-- What an owner has used since the hour ($2) and the day ($3) began.
select u.what, sum(u.used)::bigint as used from cronty.usage u join cronty.owners o on o.id = u.owner_id
where o.name = $1 and u.since in ($2, $3) and u.what not like 'refused %'
group by u.what
order by u.what
