"""A server that is told to leave does leave, whoever is connected to it."""

from pathlib import Path

import pytest

from tests.stories.conftest import Town, calling, serving

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_server_leaves_although_somebody_listens(town: Town, tmp_path: Path) -> None:
    server = serving(town.environment, tmp_path)
    url = await server.__aenter__()
    async with calling(url, town.bearer) as client, client.listen(resource_subscriptions=["job://1"]):
        await server.__aexit__(None, None, None)
