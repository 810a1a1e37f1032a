"""The looks of the page, light and dark, wide and narrow, and what axe finds wrong with it."""

from typing import Literal

from axe_playwright_python.sync_playwright import Axe

from tests.page.browser import Tab

Scheme = Literal["light", "dark"]
Width = Literal["desk", "phone"]

_PIXELS: dict[Width, int] = {"desk": 1280, "phone": 390}
_SCHEMES: tuple[Scheme, ...] = ("light", "dark")
LOOKS: list[tuple[Scheme, Width]] = [(scheme, width) for scheme in _SCHEMES for width in _PIXELS]


def look(tab: Tab, scheme: Scheme, width: Width) -> None:
    tab.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    tab.page.set_viewport_size({"width": _PIXELS[width], "height": 900})


def faults(tab: Tab) -> list[str]:
    """What is serious or critical in the page as it stands."""
    found = Axe().run(tab.page).response["violations"]
    return [
        f"{fault['id']}: {node['target']} {node['failureSummary']}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
