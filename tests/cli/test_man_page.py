from tests.cli.man_page import SHARE, files


def test_the_man_page_and_the_completions_are_as_generated() -> None:
    found = {path.relative_to(SHARE).as_posix(): path.read_text("utf-8") for path in SHARE.rglob("*") if path.is_file()}
    assert found == files(), "Run `just reference`."
