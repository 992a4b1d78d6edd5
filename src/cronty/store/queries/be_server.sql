-- Say which server this database is. $1 its number.
select cronty.be_server($1)
