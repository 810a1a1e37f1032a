"""Color schemes and widths for tests of the web page, and a check of its accessibility with axe."""

from typing import Literal

from axe_playwright_python.sync_playwright import Axe

from tests.page.browser import Tab

Scheme = Literal["light", "dark"]
Width = Literal["desk", "phone"]

_PIXELS: dict[Width, int] = {"desk": 1280, "phone": 390}
_SCHEMES: tuple[Scheme, ...] = ("light", "dark")
LOOKS: list[tuple[Scheme, Width]] = [(scheme, width) for scheme in _SCHEMES for width in _PIXELS]


def set_look(tab: Tab, scheme: Scheme, width: Width) -> None:
    tab.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    tab.page.set_viewport_size({"width": _PIXELS[width], "height": 900})


def axe_violations(tab: Tab) -> list[str]:
    """The serious and critical accessibility violations that axe finds on the page."""
    violations = Axe().run(tab.page).response["violations"]
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in violations
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]
