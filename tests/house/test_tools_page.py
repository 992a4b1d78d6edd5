"""The page about the tools says what the tools say."""

from tests.house.tools_page import PAGE, page


def test_the_page_about_the_tools_is_as_generated() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "Run `just reference`."
