"""What mkdocs does beyond its configuration: folders in the nav, and links to files that are no pages."""

from pathlib import Path
import re
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SHOWN = {".md", ".png", ".svg", ".json"}  # what a browser can show; the rest is left out of the site


def on_config(config: Any) -> Any:
    config.nav = [_unfolded(entry) for entry in config.nav]
    return config


def _unfolded(entry: Any) -> Any:
    """`folder/` as its README.md or index.md and the pages that this links to, in its order."""
    if isinstance(entry, str):
        if not entry.endswith("/"):
            return entry
        first = next(name for name in ("README.md", "index.md") if (DOCS / entry / name).is_file())
        index = (DOCS / entry / first).read_text(encoding="utf-8")
        pages = dict.fromkeys(target for _, target, _ in LINK.findall(index) if re.fullmatch(r"[\w-]+\.md", target))
        return [f"{entry}{first}", *(entry + page for page in pages)]
    if isinstance(entry, list):
        return [_unfolded(each) for each in entry]
    return {title: _unfolded(below) for title, below in entry.items()}


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    home = (DOCS / page.file.src_uri).parent

    def shown(link: re.Match[str]) -> str:
        text, target = link[1], link[2]
        if "://" in target:
            return link[0]
        return _outside(text, (home / target).resolve(), config.repo_url) or link[0]

    return LINK.sub(shown, markdown)


def _outside(text: str, file: Path, repository: str | None) -> str:
    """A link to a file of the repository that is no page; its name, where the repository has no address."""
    if file.is_relative_to(DOCS) and file.suffix in SHOWN:
        return ""
    path = file.relative_to(ROOT).as_posix()
    if repository:
        return f"[{text}]({repository.rstrip('/')}/blob/main/{path})"
    return f"`{path}`" if text.strip("`") in path else f"{text} (`{path}`)"
