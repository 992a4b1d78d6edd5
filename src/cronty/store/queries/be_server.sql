-- Set the number of this database server. $1 the number.
select cronty.be_server($1)
