select enqueue_key from cronty.server
