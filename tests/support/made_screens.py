"""Screens of web pages with known elements: own HTML, drawn by Chromium, the truth taken from its document."""

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

LAYOUTS = ("login", "settings", "dashboard", "orders", "article", "dialog", "search", "checkout", "mail", "profile")
"""Each is drawn in every theme."""

_WORDS = {
    "en": (
        "Sign in;Email address;Password;Remember me;Forgot your password?;Create account;Settings;Save changes;Cancel;"
        "Search;Order number;Customer;Status;Amount;Paid;Open;Shipped;Delete this project?;This step can't be undone.;"
        "First name;Last name;Country;Language;Notifications;Weekly summary;Dark mode;Small;Medium;Large;Overview;"
        "Reports;Help;Next;Back;Card number;Expiry date;Pay now;Free delivery;Express delivery;The harbour opens early;"
        "Boats leave at six, and the first nets are back before noon.;Nobody waits for the fog to lift.;Read more;"
        "Inbox;Drafts;Archive;Visitors;Revenue;Returns"
    ),
    "de": (
        "Anmelden;E-Mail-Adresse;Kennwort;Angemeldet bleiben;Kennwort vergessen?;Konto anlegen;Einstellungen;Speichern;"
        "Abbrechen;Suchen;Bestellnummer;Kunde;Zustand;Betrag;Bezahlt;Offen;Verschickt;Dieses Projekt löschen?;"
        "Das lässt sich nicht rückgängig machen.;Vorname;Nachname;Land;Sprache;Benachrichtigungen;"
        "Wöchentliche Übersicht;Dunkle Farben;Klein;Mittel;Groß;Überblick;Berichte;Hilfe;Weiter;Zurück;Kartennummer;"
        "Ablaufdatum;Jetzt bezahlen;Kostenlose Lieferung;Schnelle Lieferung;Der Hafen öffnet früh;"
        "Die Boote fahren um sechs, die ersten Netze sind vor Mittag da.;Auf den Nebel wartet niemand.;Weiterlesen;"
        "Posteingang;Entwürfe;Archiv;Besucher;Umsatz;Rückgaben"
    ),
    "fr": (
        "Se connecter;Adresse de courriel;Mot de passe;Rester connecté;Mot de passe oublié ?;Créer un compte;Réglages;"
        "Enregistrer;Annuler;Rechercher;Commande;Client;État;Montant;Payée;Ouverte;Expédiée;Supprimer ce projet ?;"
        "Cette étape est définitive.;Prénom;Nom;Pays;Langue;Notifications;Résumé de la semaine;Mode sombre;Petit;Moyen;"
        "Grand;Aperçu;Rapports;Aide;Suivant;Retour;Numéro de carte;Date de fin;Payer;Livraison gratuite;"
        "Livraison rapide;Le port ouvre tôt;Les bateaux partent à six heures et rentrent avant midi.;"
        "Personne n'attend que la brume se lève.;Lire la suite;Boîte de réception;Brouillons;Archives;Visiteurs;"
        "Recettes;Retours"
    ),
    "es": (
        "Entrar;Correo;Contraseña;Recordar mis datos;¿Olvidó la contraseña?;Crear una cuenta;Ajustes;Guardar;Cancelar;"
        "Buscar;Pedido;Cliente;Estado;Importe;Pagado;Abierto;Enviado;¿Borrar este proyecto?;Este paso es definitivo.;"
        "Nombre;Apellido;País;Idioma;Avisos;Resumen semanal;Modo oscuro;Pequeño;Mediano;Grande;Resumen;Informes;Ayuda;"
        "Siguiente;Atrás;Número de tarjeta;Caducidad;Pagar ahora;Envío gratuito;Envío urgente;El puerto abre temprano;"
        "Los barcos salen a las seis y vuelven antes del mediodía.;Nadie espera a que pase la niebla.;Leer más;"
        "Recibidos;Borradores;Archivo;Visitas;Ingresos;Devoluciones"
    ),
}
_KEYS = (
    "sign_in;email;password;remember;forgot;create;settings;save;cancel;search;order;customer;status;amount;paid;open;"
    "shipped;delete;undone;first;last;country;language;notify;weekly;dark;small;medium;large;overview;reports;help;"
    "next;back;card;expiry;pay;free;express;title;one;two;more;inbox;drafts;archive;visitors;revenue;returns"
)
_PEOPLE = ("Mara Lindqvist", "Jonas Weber", "Aisha Rahman", "Pierre Caron", "Elena Ruiz", "Tom Hale", "Ines Prado")

_BASE = """*{box-sizing:border-box} body{margin:0;font:15px/1.45 sans-serif;color:#222;background:#fff}
main{padding:24px;max-width:860px} h1{font-size:27px;margin:0 0 18px} h2{font-size:20px;margin:16px 0 10px}
.field{margin:0 0 14px} .field>span{display:block;margin-bottom:5px} input.t,select,textarea{width:320px;height:38px;
padding:6px 10px;font:inherit;border:1px solid #8a8f98;border-radius:4px;background:#fff;color:#222}
::placeholder{color:#9aa0a6;opacity:1} .b{font:inherit;padding:9px 18px;border:1px solid #1a5fb4;background:#1a5fb4;
color:#fff;border-radius:4px;margin-right:10px} .b.q{background:#fff;color:#1a5fb4} .tick{display:flex;gap:9px;
align-items:center;margin:0 0 12px} input[type=checkbox],input[type=radio]{width:16px;height:16px;margin:0}
a{color:#1a5fb4} nav{display:flex;gap:26px;padding:14px 24px;border-bottom:1px solid #ccc}
.tabs{display:flex;gap:4px;border-bottom:1px solid #bbb;margin-bottom:18px} .tabs>div{padding:9px 16px}
.tabs>.on{border-bottom:3px solid #1a5fb4;color:#1a5fb4} table{border-collapse:collapse;margin:8px 0 16px}
th,td{border:1px solid #bbb;padding:7px 14px;text-align:left;white-space:nowrap} th{background:#eef1f5}
.cards{display:flex;gap:18px;flex-wrap:wrap} .card{border:1px solid #c4c8ce;border-radius:6px;padding:16px 20px;
width:230px} .big{font-size:25px} .row{display:flex;align-items:center;gap:12px;padding:9px 0} li{margin:3px 0}"""

THEMES: dict[str, tuple[str, str, tuple[int, int]]] = {
    # name -> language, style, size of the window
    "plain": ("en", "", (1024, 768)),
    "dark": (
        "de",
        """body{background:#1d2026;color:#e6e6e6} input.t,select,textarea{background:#2a2e36;color:#f0f0f0;
        border-color:#6b7280} ::placeholder{color:#8b919b} nav{border-color:#444} .b.q{background:#1d2026;color:#8ab4f8}
        a{color:#8ab4f8} th{background:#2a2e36} th,td{border-color:#555} .card{background:#262a31;border-color:#4a505a}
        .tabs{border-color:#555} .tabs>.on{color:#8ab4f8;border-color:#8ab4f8} .dialog{background:#2a2e36}""",
        (1200, 800),
    ),
    "mobile": (
        "fr",
        """main{padding:16px} input.t,select,textarea{width:100%;height:46px;border-radius:10px} h1{font-size:24px}
        .b{padding:12px 22px;border-radius:22px;background:#00796b;border-color:#00796b} .b.q{color:#00796b}
        a,.tabs>.on{color:#00796b} .tabs>.on{border-color:#00796b} th,td{padding:7px 8px;font-size:13px}
        nav{gap:16px;padding:12px 16px} .card{width:100%}""",
        (412, 915),
    ),
    "soft": (
        "es",
        """body{background:#f4f5f7;font-family:serif;font-size:17px} input.t,select,textarea{border:1px solid #d0d4da;
        border-radius:8px} .b{background:#e4572e;border-color:#e4572e;border-radius:8px} .b.q{background:#fff;
        color:#c0431f} a{color:#c0431f} th,td{border:0;border-bottom:1px solid #d5d8dd;background:#fff}
        .card{background:#fff;border-color:#e2e5e9} .tabs>.on{color:#c0431f;border-color:#c0431f}""",
        (1280, 900),
    ),
}


@dataclass(frozen=True)
class MadeElement:
    """One element of the document; a line of text that is no control's stands for itself."""

    role: str
    text: str
    box: tuple[float, float, float, float]
    state: str | None = None


@dataclass(frozen=True)
class MadeScreen:
    """A drawn page and what stands on it."""

    path: Path
    layout: str
    theme: str
    elements: tuple[MadeElement, ...]


def browser_program() -> str | None:
    """Where Chromium is, if it is installed."""
    return shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def browser() -> Iterator[Any]:
    """A Chromium without a profile, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=browser_program(), args=["--no-sandbox", "--disable-lcd-text"], timeout=120_000
        )
        yield chromium
        chromium.close()


def make_screen(chromium: Any, path: Path, layout: str, theme: str, scale: float = 1.0) -> MadeScreen:
    """Draw a layout in a theme; the truth's boxes are in the picture's pixels."""
    language, style, size = THEMES[theme]
    body = _LAYOUT[layout](_Page(language, random.Random(f"{layout} {theme}")))
    elements = draw_page(chromium, path, f"<style>{_BASE}{style}</style><body>{body}</body>", size, scale)
    return MadeScreen(path, layout, theme, elements)


def draw_page(
    chromium: Any, path: Path, html: str, size: tuple[int, int], scale: float = 1.0
) -> tuple[MadeElement, ...]:
    """Draw HTML in a window of a size, in CSS pixels; what is seen in it, boxes in the picture's pixels."""
    width, height = size
    page = chromium.new_page(viewport={"width": width, "height": height}, device_scale_factor=scale)
    page.set_content(f"<!doctype html><meta charset=utf-8>{html}")
    page.screenshot(path=str(path))
    found = page.evaluate(_TRUTH)
    page.close()
    return tuple(
        MadeElement(one["role"], one["text"], tuple(scale * edge for edge in one["box"]), one["state"])
        for one in found
        if one["box"][0] >= 0 and one["box"][2] <= width and one["box"][1] >= 0 and one["box"][3] <= height
    )


class _Page:
    """Pieces of HTML in one language."""

    def __init__(self, language: str, rng: random.Random) -> None:
        self.say = dict(zip(_KEYS.split(";"), map(escape, _WORDS[language].split(";")), strict=True))
        self.rng = rng

    def __getitem__(self, key: str) -> str:
        return self.say[key]

    def people(self, count: int) -> list[str]:
        return self.rng.sample(_PEOPLE, count)

    def field(self, key: str, value: str = "", hint: str = "", kind: str = "text") -> str:
        return (
            f'<div class="field"><span>{self[key]}</span>'
            f'<input class="t" type="{kind}" value="{value}" placeholder="{hint}"></div>'
        )

    def tick(self, key: str, on: bool, kind: str = "checkbox") -> str:
        return f'<label class="tick"><input type="{kind}"{" checked" * on}><span>{self[key]}</span></label>'

    def buttons(self, *keys: str) -> str:
        return "<div>" + "".join(
            f'<button class="b{" q" * (number > 0)}">{self[key]}</button>' for number, key in enumerate(keys)
        ) + "</div>"  # fmt: skip

    def link(self, key: str) -> str:
        return f'<div><a href="#">{self[key]}</a></div>'

    def nav(self, *keys: str) -> str:
        return "<nav>" + "".join(self.link(key) for key in keys) + "</nav>"

    def tabs(self, on: int, *keys: str) -> str:
        tabs = (f'<div role="tab" class="{"on" * (index == on)}">{self[key]}</div>' for index, key in enumerate(keys))
        return f'<div class="tabs">{"".join(tabs)}</div>'

    def picture(self, width: int, height: int) -> str:
        hue = self.rng.randrange(360)
        return (
            f'<svg width="{width}" height="{height}" style="display:block"><rect width="100%" height="100%" '
            f'fill="hsl({hue},45%,62%)"/><circle cx="{width * 0.3}" cy="{height * 0.4}" r="{height * 0.22}" '
            f'fill="hsl({hue + 60},70%,50%)"/><path d="M0 {height} L{width * 0.6} {height * 0.45} L{width} {height}" '
            f'fill="hsl({hue + 140},40%,40%)"/></svg>'
        )

    def amount(self) -> str:
        return f"{self.rng.uniform(5, 900):.2f}"


def _login(page: _Page) -> str:
    return (
        f"<main><h1>{page['sign_in']}</h1>{page.field('email', hint='name@example.org')}"
        f"{page.field('password', 'geheim77')}{page.tick('remember', True)}{page.buttons('sign_in', 'create')}"
        f'<div style="height:18px"></div>{page.link("forgot")}</main>'
    )


def _settings(page: _Page) -> str:
    return (
        f"{page.nav('overview', 'reports', 'help')}<main><h1>{page['settings']}</h1><h2>{page['notify']}</h2>"
        f"{page.tick('weekly', True)}{page.tick('notify', False)}{page.tick('dark', False)}<h2>{page['language']}</h2>"
        f"<div class=field><select><option>{page['language']} 1</option></select></div>"
        f"{page.tick('small', False, 'radio')}{page.tick('medium', True, 'radio')}{page.tick('large', False, 'radio')}"
        f"{page.buttons('save', 'cancel')}</main>"
    )


def _dashboard(page: _Page) -> str:
    cards = "".join(
        f'<div class="card" data-box><div>{page[key]}</div><div class="big">{page.rng.randrange(100, 9999)}</div></div>'
        for key in ("visitors", "revenue", "returns")
    )
    return (
        f"{page.nav('overview', 'reports', 'settings', 'help')}<main><h1>{page['overview']}</h1>"
        f'<div class="cards">{cards}</div><h2>{page["reports"]}</h2>{page.picture(360, 170)}</main>'
    )


def _orders(page: _Page) -> str:
    rows = "".join(
        f"<tr><td>A-{page.rng.randrange(1000, 9999)}</td><td>{name}</td>"
        f"<td>{page[page.rng.choice(('paid', 'open', 'shipped'))]}</td><td>{page.amount()}</td></tr>"
        for name in page.people(6)
    )
    head = "".join(f"<th>{page[key]}</th>" for key in ("order", "customer", "status", "amount"))
    return (
        f"<main><h1>{page['overview']}</h1>{page.field('search', hint='A-1000')}"
        f"<table><tr>{head}</tr>{rows}</table>{page.buttons('next', 'back')}</main>"
    )


def _article(page: _Page) -> str:
    return (
        f"{page.nav('overview', 'archive', 'help')}<main><h1>{page['title']}</h1><p>{page['one']} {page['two']} "
        f"{page['one']}</p>{page.picture(300, 190)}<p>{page['two']} {page['one']} {page['two']}</p>"
        f"<h2>{page['more']}</h2><ul><li>{page['visitors']}</li><li>{page['returns']}</li></ul>"
        f"{page.link('more')}</main>"
    )


def _dialog(page: _Page) -> str:
    return (
        f"<main><h1>{page['settings']}</h1><p>{page['one']}</p></main>"
        f'<div style="position:fixed;inset:0;background:rgba(0,0,0,.45)"></div>'
        f'<div data-box class=dialog style="position:fixed;left:8%;top:180px;width:360px;background:#fff;'
        f'border-radius:8px;padding:24px"><h2>{page["delete"]}</h2><p>{page["undone"]}</p>'
        f"{page.buttons('next', 'cancel')}</div>"
    )


def _search(page: _Page) -> str:
    results = "".join(
        f'<div style="margin:16px 0">{page.link(key)}<div>{name} · {page.amount()}</div><div>{page[text]}</div></div>'
        for key, name, text in zip(
            ("title", "reports", "weekly"), page.people(3), ("one", "two", "undone"), strict=True
        )
    )
    return (
        f'<main><div class="row"><input class="t" value="{page["title"]}">'
        f'<button class="b">{page["search"]}</button></div>{page.tabs(0, "overview", "reports", "archive")}'
        f"{results}</main>"
    )


def _checkout(page: _Page) -> str:
    lines = "".join(
        f'<tr><td>{page[key]}</td><td style="text-align:right">{page.amount()}</td></tr>'
        for key in ("free", "express", "returns")
    )
    return (
        f"<main><h1>{page['pay']}</h1>{page.field('card', '4000 1234 5678 9010')}{page.field('expiry', hint='12/29')}"
        f"{page.tick('free', True, 'radio')}{page.tick('express', False, 'radio')}<table>{lines}</table>"
        f"{page.tick('remember', False)}{page.buttons('pay', 'back')}</main>"
    )


def _mail(page: _Page) -> str:
    rows = "".join(
        f'<div class="row">{page.picture(36, 36)}<div><div>{name}</div><div>{page[text]}</div></div></div>'
        for name, text in zip(page.people(5), ("one", "two", "undone", "title", "weekly"), strict=True)
    )
    return f"<main>{page.tabs(1, 'inbox', 'drafts', 'archive')}{rows}{page.buttons('more')}</main>"


def _profile(page: _Page) -> str:
    first, last = page.people(1)[0].split()
    return (
        f"<main><h1>{page['create']}</h1>{page.field('first', first)}{page.field('last', last)}"
        f"<div class=field><span>{page['country']}</span><select><option>España</option></select></div>"
        f'<div class=field><span>{page["help"]}</span><textarea style="height:90px">{page["one"]}</textarea></div>'
        f"{page.tick('weekly', False)}{page.tick('notify', True)}{page.buttons('create', 'cancel')}</main>"
    )


_LAYOUT = {
    "login": _login, "settings": _settings, "dashboard": _dashboard, "orders": _orders, "article": _article,
    "dialog": _dialog, "search": _search, "checkout": _checkout, "mail": _mail, "profile": _profile,
}  # fmt: skip

# Controls count whole, with what is written in them; all other text counts by its lines.
_TRUTH = """() => {
  const found = [], box = r => [r.left, r.top, r.right, r.bottom];
  const add = (role, text, rect, state) =>
    found.push({role, text: text.replace(/\\s+/g, ' ').trim(), box: box(rect), state: state || null});
  const covered = e => { const r = e.getBoundingClientRect();
    const top = document.elementFromPoint((r.left + r.right) / 2, (r.top + r.bottom) / 2);
    return top && !e.contains(top) && !top.contains(e); };
  for (const e of document.querySelectorAll('input,select,textarea,button,svg,table,[data-box],[role=tab]')) {
    if (covered(e)) continue;
    const r = e.getBoundingClientRect(), kind = e.type;
    if (e.matches('svg')) add('image', '', r);
    else if (e.matches('table')) add('table', '', r);
    else if (e.matches('[data-box]')) add('box', '', r);
    else if (e.matches('[role=tab]')) add('tab', e.innerText, r, e.matches('.on') ? 'selected' : 'unselected');
    else if (e.matches('button')) add('button', e.innerText, r);
    else if (e.matches('select')) add('combobox', e.selectedOptions[0].innerText, r, 'filled');
    else if (kind == 'checkbox' || kind == 'radio') add(kind, '', r, e.checked ? 'checked' : 'unchecked');
    else add('textbox', e.value || e.placeholder, r, e.value ? 'filled' : e.placeholder ? 'placeholder' : 'empty');
  }
  const roles = [['h1,h2,h3', 'heading'], ['th,td', 'cell'], ['a', 'link']];
  for (const block of document.querySelectorAll('h1,h2,p,li,a,th,td,span,div')) {
    if (block.closest('button,[role=tab],select') || covered(block)) continue;
    const lines = [];
    for (const node of block.childNodes) {
      if (node.nodeType != 3) continue;
      for (const match of node.data.matchAll(/\\S+/g)) {
        const range = document.createRange();
        range.setStart(node, match.index); range.setEnd(node, match.index + match[0].length);
        const r = range.getBoundingClientRect(), last = lines.at(-1);
        if (last && Math.abs(last.top - r.top) < 4) { last.text += ' ' + match[0]; last.right = r.right; }
        else lines.push({text: match[0], left: r.left, top: r.top, right: r.right, bottom: r.bottom});
      }
    }
    const role = (roles.find(([selector]) => block.matches(selector)) || [0, 'text'])[1];
    for (const line of lines) add(role, line.text, line);
  }
  return found;
}"""
