select j.origin::text
from cronty.jobs j
where j.owner_id = (select id from cronty.owners where name = $1) and j.number = $2
