-- Those of these roles that are there and that this login isn't a member of, and the login. $1 roles.
select r.rolname as role, current_user as login
from pg_roles r
where r.rolname = any($1::text[]) and not pg_has_role(current_user, r.oid, 'member')
order by r.rolname
