"""Somebody's program with tasks of its own, for `cronty mcp --app` and `cronty serve --app`."""

from cronty import Cronty

cronty = Cronty()


@cronty.task
def run_backup(path: str = "/data", *, compress: bool = False) -> str:
    """Back a folder up."""
    return f"backed up {path}, compress={compress}"


@cronty.task
def cleanup_temp_files(folder: str = "/tmp") -> str:
    """Remove what is no longer needed."""
    return f"cleaned {folder}"


@cronty.task
def fill_the_disk() -> None:
    """Fail, as things do."""
    raise RuntimeError("disk full\nwith a second line that only the operator sees")
