select exists (select from cronty.channels where ahead and sealed is not null)
