"""What a person looks at, read from the rows as they are; nothing is kept for it."""

from cronty.store.database import Database


class OverviewStore:
    def __init__(self, database: Database) -> None:
        self._database = database
