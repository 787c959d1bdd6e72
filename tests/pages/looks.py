#!/usr/bin/env python3
"""Pages as people see them: looks.py ATTN FOLDER [MODEL…]

Writes into FOLDER what reports and heatmaps of models look like: a picture of the whole page at 400 and at 1,600 pixels, light
and dark, and the page on paper (A4, PDF). Without a MODEL it takes some of tests/data. Nothing may be cut: a page that is wider
than its window, or has text that its box hides, is named, and the exit code is 1. pages_test.py asks for the same.
"""
import base64
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parent.parent / 'data'
MODELS = {
    'reverser': [DATA / 'docs/reverser.keras', '--input', DATA / 'docs/word.npy'],
    'classifier': [DATA / 'text/classifier/model.keras', '--input', DATA / 'text/classifier/inputs.npz'],
    'nested': [DATA / 'keras/model/nested/model.keras'],
    'seq2seq': [DATA / 'generation/bart/preset', '--seq-len', '12'],
    'encoder': [],
}
WIDTHS = (400, 1600)
PAPER = 794  # pixels of A4 between its edges

# What is hidden because its box is too small. Boxes that scroll hide nothing, and neither do those that are not shown.
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
# On paper nothing scrolls.
CUT_ON_PAPER = CUT.replace("['hidden', 'clip']", "['hidden', 'clip', 'auto', 'scroll']")


def cut(page, on_paper=False):
    """What is not to be seen of a page as it stands."""
    return page.run(CUT_ON_PAPER if on_paper else CUT)


def on_paper(page, dark=False):
    """Lays the page out as for A4; `dark` is what its reader prefers on screens."""
    page.size(PAPER, 1123)
    page.send('Emulation.setEmulatedMedia', media='print',
              features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
    page.settled()


def pdf(page):
    return base64.b64decode(page.send('Page.printToPDF', printBackground=True, paperWidth=8.27, paperHeight=11.69)['data'])


def look(chromium, path, folder):
    """Writes the pictures of one page; what is cut on them."""
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
        # Whatever the screen shows, paper is white.
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
