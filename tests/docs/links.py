"""Finds links in HTML and Markdown pages, and checks the targets of these links.

The tests have no network access. So for a link to another host, they check only the syntax of the URL.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from myst_parser.mdit_to_docutils.base import default_slugify

# HTML tags whose targets a browser loads together with the page.
_LOADING_TAGS = {"script", "img", "iframe", "source", "video", "audio", "object", "embed"}
_LOADING_RELATIONS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "manifest"}


@dataclass
class Links(HTMLParser):
    """The link targets of a page, the resources that a browser loads with it, and its anchors."""

    targets: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        address = values.get("href") or values.get("src") or values.get("data")
        if not address:
            return
        relations = set(values.get("rel", "").split())
        is_loaded = tag in _LOADING_TAGS or (tag == "link" and bool(relations & _LOADING_RELATIONS))
        (self.loaded if is_loaded else self.targets).append(address)


def links_in_html(text: str) -> Links:
    links = Links()
    links.feed(text)
    return links


def links_in_markdown(text: str) -> Links:
    """The links of a Markdown page. `anchors` contains the anchors that Sphinx creates for the headings."""
    markdown = MarkdownIt("gfm-like", {"linkify": False})
    links = links_in_html(markdown.render(text))
    tokens = markdown.parse(text)
    titles = [inside.content for heading, inside in pairwise(tokens) if heading.type == "heading_open"]
    links.anchors.update(default_slugify(title) for title in titles)
    return links


def links_of(page: Path) -> Links:
    read: Callable[[str], Links] = links_in_html if page.suffix == ".html" else links_in_markdown
    return read(page.read_text(encoding="utf-8"))


def is_external(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.scheme or parts.netloc)


def faults(page: Path) -> list[str]:
    """The broken links of a page. Each text contains the page, the URL and the problem."""
    links = links_of(page)
    messages = []
    for address in (*links.targets, *links.loaded):
        problem = _problem(address) if is_external(address) else _local_problem(page, links, address)
        if problem:
            messages.append(f"{page.name}: {address}: {problem}")
    return messages


def _problem(address: str) -> str:
    parts = urlsplit(address)
    is_well_formed = parts.scheme == "https" and re.fullmatch(r"[a-z0-9.-]+\.[a-z]+", parts.netloc)
    return "" if is_well_formed else "is not an https address"


def _local_problem(page: Path, links: Links, address: str) -> str:
    parts = urlsplit(address)
    target = page.parent / unquote(parts.path) if parts.path else page
    if not target.exists():
        return "does not exist"
    if not parts.fragment or target.suffix not in (".html", ".md"):
        return ""
    anchors = links.anchors if target == page else links_of(target).anchors
    return "" if unquote(parts.fragment) in anchors else "has no such anchor"
