"""Pages that differ from the plain ones of made_screens: dense, dark, tiny, huge, full of things that have no role."""

_STYLE = """<style>*{box-sizing:border-box} body{margin:0;padding:20px;font:15px/1.4 sans-serif;color:#222}
button{padding:8px 16px;border:1px solid #1a5fb4;border-radius:6px;background:#1a5fb4;color:#fff;font:inherit}
input[type=text],select{height:36px;padding:0 10px;border:1px solid #888;border-radius:4px;font:inherit;width:260px;
background:transparent;color:inherit} .field{margin:0 0 12px} .field>span{display:block} table{border-collapse:collapse}
td,th{border:1px solid #999;padding:5px 10px;text-align:left} h1{font-size:26px;margin:0 0 16px}
.switch{display:inline-block;width:40px;height:22px;border-radius:11px;background:#2e9e4f;padding:2px;
vertical-align:middle;margin-right:8px} .switch i{display:block;width:18px;height:18px;
border-radius:9px;background:#fff} .switch.on i{margin-left:18px}
.row{display:flex;align-items:center;gap:8px;margin:8px 0}</style>"""
_DARK = "<style>body{background:#15181e;color:#e6e6e6} input[type=text]{border-color:#777}</style>"


def _field(label: str, value: str) -> str:
    return f'<div class=field><span>{label}</span><input type=text value="{value}"></div>'


def _switch(label: str, on: bool) -> str:
    return f'<div class=row><span class="switch{" on" * on}"><i></i></span><span>{label}</span></div>'


def _tick(kind: str, label: str, more: str = "") -> str:
    return f"<div class=row><input type={kind} {more}><span>{label}</span></div>"


_ROWS = "".join(
    f"<tr><td>{number}</td><td>Invoice {4100 + 7 * number}</td><td>{17.5 * number:.2f}</td><td>Paid</td></tr>"
    for number in range(1, 19)
)
_FORM = "".join(_field(f"Detail {number}", f"Value {number * 11}") for number in range(1, 9))
PAGES: dict[str, tuple[str, tuple[int, int], float]] = {
    "dark with switches": (
        f"{_DARK}<h1>Preferences</h1>{_switch('Automatic updates', True)}{_switch('Share usage data', False)}"
        f"{_tick('checkbox', 'Show hidden files', 'checked')}{_tick('checkbox', 'Sort by name')}"
        f"{_tick('radio', 'Light theme', 'name=a')}{_tick('radio', 'Dark theme', 'name=a checked')}",
        (800, 500),
        1.0,
    ),
    "disabled": (
        f"<h1>Order</h1><button disabled style='background:#e4e4e4;color:#9a9a9a;border-color:#e4e4e4'>Send</button> "
        f"<button>Back</button><br><br>{_tick('checkbox', 'Gift wrapping', 'disabled')}"
        f"{_tick('checkbox', 'Newsletter', 'disabled checked')}{_field('Voucher', 'SPRING25')}",
        (700, 420),
        1.0,
    ),
    "icons": (
        "<div class=row style='gap:24px'>"
        + "".join(
            f"<svg width=24 height=24><path d='{path}' stroke='#333' stroke-width=2 fill=none /></svg>"
            for path in ("M3 12h18M12 3v18", "M4 6h16M4 12h16M4 18h16", "M5 5l14 14M19 5L5 19")
        )
        + "</div><p>Three icons stand above this line.</p><button>Done</button>",
        (600, 260),
        1.0,
    ),
    "dense form": (f"<div style='columns:2;font-size:13px'>{_FORM}</div><button>Save all</button>", (760, 520), 1.0),
    "long table": (
        f"<table style='font-size:13px'><tr><th>No<th>Document<th>Amount<th>State</tr>{_ROWS}</table>",
        (700, 640),
        1.0,
    ),
    "dialog over a table": (
        f"<table>{_ROWS}</table><div style='position:fixed;inset:0;background:rgba(0,0,0,.5)'></div>"
        "<div data-box style='position:fixed;left:180px;top:120px;width:340px;background:#fff;padding:20px'>"
        "<h2 style='margin:0 0 10px'>Remove entry?</h2><p>It can be restored for a week.</p><button>Remove</button>"
        "</div>",
        (700, 520),
        1.0,
    ),
    "telephone": (
        f"<h1>Account</h1>{_field('Name', 'Mara Lindqvist')}{_field('City', 'Oslo')}<button>Save</button>",
        (390, 700),
        3.0,
    ),
    "4K, twice as large": (f"<h1>Overview</h1><table>{_ROWS}</table><button>Export</button>", (1920, 1080), 2.0),
    "4K, small letters": (f"<h1>Overview</h1><table>{_ROWS}</table><button>Export</button>{_FORM}", (3840, 2160), 1.0),
    "from right to left": (
        f"<div dir=rtl><h1>Overview</h1>{_field('Name', 'Oslo')}{_tick('checkbox', 'Agree')}"
        f"<button>Next</button></div>",
        (700, 400),
        1.0,
    ),
    "Arabic": ("<div dir=rtl><h1>نظرة عامة</h1><p>هذا نص عربي قصير.</p><button>التالي</button></div>", (700, 300), 1.0),
    "very small": (
        "<p style='font-size:9px'>The smallest print that lawyers write is nine pixels high.</p>",
        (600, 200),
        1.0,
    ),
}
"""Name: HTML, the window's size in CSS pixels, pixels a CSS pixel. The style that all share goes before."""


def page_html(name: str) -> str:
    """The whole page."""
    return _STYLE + PAGES[name][0]
