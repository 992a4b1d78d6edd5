from tests.house.tables_page import PAGE, page


def test_the_page_about_the_tables_is_as_generated() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "Run `just reference`."
