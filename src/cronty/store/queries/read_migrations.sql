select name, older_code_works, walls from cronty.migrations
