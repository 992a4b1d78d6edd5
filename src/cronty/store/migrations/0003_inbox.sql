-- Prompts wait in the queue for an agent that asks for them, not for a worker: this is its way to find them.
create index queue_inbox on cronty.queue (owner_id, due_at) where task = 'prompt';
