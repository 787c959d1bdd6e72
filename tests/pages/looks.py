#!/usr/bin/env python3
"""Renders pages as people see them: looks.py ATTN FOLDER [MODEL…]

Writes pictures of reports and heatmaps of models into FOLDER: the whole page at 400 and at 1,600 pixels, light and dark, and
the page on paper (A4, PDF). Without a MODEL it uses some of tests/data. Nothing may be cut off: a page that is wider than its
window, or has text that its box hides, is reported, and the exit code is 1. pages_test.py checks the same.
"""
import base64
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parent.parent / 'data'
DEMO = DATA.parent.parent / 'src/cli/commands/demo'
MODELS = {
    'reverser': [DEMO / 'reverser.keras', '--input', DEMO / 'word.npy'],
    'classifier': [DATA / 'text/classifier/model.keras', '--input', DATA / 'text/classifier/inputs.npz'],
    'nested': [DATA / 'keras/model/nested/model.keras'],
    'seq2seq': [DATA / 'generation/bart/preset', '--seq-len', '12'],
    'encoder': [],
}
WIDTHS = (400, 1600)
PAPER = 794  # width of A4 in pixels without margins

# Finds text hidden by a box that is too small. Boxes that scroll do not count, nor do invisible ones.
CUT = '''(() => {
  const found = [], wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) found.push(`the page is ${wide} px wider than its window`);
  for (const element of document.querySelectorAll('body *')) {
    const style = getComputedStyle(element), hides = (way) => ['hidden', 'clip'].includes(way);
    if (!element.textContent.trim() || !element.clientWidth || style.position === 'absolute') continue;
    if ((hides(style.overflowX) && element.scrollWidth > element.clientWidth + 1) ||
        (hides(style.overflowY) && element.scrollHeight > element.clientHeight + 1))
      found.push(`<${element.tagName.toLowerCase()} class="${element.className}"> hides "${element.textContent.trim().slice(0, 40)}"`);
  }
  return found;
})()'''
# Paper cannot scroll.
CUT_ON_PAPER = CUT.replace("['hidden', 'clip']", "['hidden', 'clip', 'auto', 'scroll']")


def cut(page, on_paper=False):
    """Returns the text of a page that is cut off."""
    return page.run(CUT_ON_PAPER if on_paper else CUT)


def on_paper(page, dark=False):
    """Lays the page out for A4; `dark` is the reader's preference for screens."""
    page.size(PAPER, 1123)
    page.send('Emulation.setEmulatedMedia', media='print',
              features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
    page.settled()


def pdf(page):
    return base64.b64decode(page.send('Page.printToPDF', printBackground=True, paperWidth=8.27, paperHeight=11.69)['data'])


def look(chromium, path, folder):
    """Writes the pictures of one page and returns what is cut off in them."""
    found, name = [], path.stem
    for dark in (False, True):
        for width in WIDTHS:
            page = browser.Page(chromium, path, width=width, dark=dark)
            page.wait()
            page.settled()
            theme = 'dark' if dark else 'light'
            found += [f'{name}, {width} px, {theme}: {what}' for what in cut(page)]
            page.screenshot(folder / f'{name}-{width}-{theme}.png', whole=True)
            page.close()
        # Paper is white, whatever the theme.
        page = browser.Page(chromium, path, dark=dark)
        page.wait()
        page.settled()
        (folder / f'{name}-{"dark" if dark else "light"}.pdf').write_bytes(pdf(page))
        on_paper(page, dark)
        found += [f'{name}, on paper: {what}' for what in cut(page, on_paper=True)]
        page.close()
    return found


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    attn, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    models = {pathlib.Path(model).stem: [model] for model in sys.argv[3:]} or MODELS
    chromium, found = browser.Browser(browser.find()), []
    try:
        for name, arguments in models.items():
            for command in ('report', 'heatmap'):
                path = folder / f'{name}-{command}.html'
                subprocess.run([attn, command, *map(str, arguments), '--quiet', '-o', path], check=True)
                found += look(chromium, path, folder)
    finally:
        chromium.close()
    for line in sorted(set(found)):
        print(line)
    print(f'{len(models)} models, {len(set(found))} places cut; pictures in {folder}')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
