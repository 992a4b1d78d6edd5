select cronty.erase_audit($1, $2)
