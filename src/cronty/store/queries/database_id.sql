select cronty.database_id()
