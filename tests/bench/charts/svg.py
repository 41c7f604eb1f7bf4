"""A small writer of SVG: text, boxes and lines, legible on light and dark pages."""

from xml.sax.saxutils import escape, quoteattr

# (light, dark) of each class. The first two hues of bars differ for every kind of color blindness, and no bar is known by its
# color alone: each is labeled.
COLORS = {
    "page": ("#ffffff", "#1c1e26"),
    "ink": ("#1a1a1a", "#ececec"),
    "faint": ("#595959", "#b0b0b0"),
    "grid": ("#d9d9d9", "#41444f"),
    "blue": ("#0072b2", "#56b4e9"),
    "orange": ("#d55e00", "#e69f00"),
    "gray": ("#767676", "#9a9a9a"),
}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def _rules(theme: int) -> str:
    return "".join(f".{name}{{fill:{colors[theme]};stroke:{colors[theme]}}}" for name, colors in COLORS.items())


STYLE = (
    f"text{{font-family:{FONT}}}"
    # After the colors: text has no outline, boxes neither.
    f"{_rules(0)}@media (prefers-color-scheme:dark){{{_rules(1)}}}text,rect,path{{stroke:none!important}}"
)


class Drawing:
    """Collects elements from top to bottom; what is drawn later lies above."""

    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        self._size = width, height
        self._title, self._description = title, description
        self._parts: list[str] = []
        self.box(0, 0, width, height, "page", radius=6)

    def text(
        self, x: float, y: float, text: str, color: str = "ink", *, size: int = 14, anchor: str = "", bold: bool = False
    ) -> None:
        """A line of text; `y` is its baseline, `anchor` is "middle" or "end" if `x` is not where it starts."""
        weight = ' font-weight="600"' if bold else ""
        ends = f' text-anchor="{anchor}"' if anchor else ""
        place = f'x="{x:g}" y="{y:g}" class="{color}" font-size="{size}"'
        self._parts.append(f"<text {place}{ends}{weight}>{escape(text)}</text>")

    def box(self, x: float, y: float, width: float, height: float, color: str, *, radius: int = 0) -> None:
        """A filled rectangle."""
        round_ = f' rx="{radius}"' if radius else ""
        place = f'x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}"'
        self._parts.append(f'<rect {place}{round_} class="{color}"/>')

    def line(self, x: float, top: float, bottom: float, color: str, width: float = 1) -> None:
        """A vertical line."""
        self._parts.append(
            f'<line x1="{x:.1f}" y1="{top:g}" x2="{x:.1f}" y2="{bottom:g}" class="{color}" stroke-width="{width:g}"/>'
        )

    def triangle(self, x: float, y: float, color: str) -> None:
        """A triangle that points down at this place."""
        self._parts.append(f'<path d="M{x - 5:.1f} {y - 7:g}h10l-5 7z" class="{color}"/>')

    def render(self) -> str:
        """The file."""
        width, height = self._size
        space = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        parts = (
            f'<svg xmlns="http://www.w3.org/2000/svg" {space} role="img" aria-label={quoteattr(self._title)}>',
            f"<title>{escape(self._title)}</title>",
            f"<desc>{escape(self._description)}</desc>",
            f"<style>{STYLE}</style>",
            *self._parts,
            "</svg>",
        )
        return "\n".join(parts) + "\n"
