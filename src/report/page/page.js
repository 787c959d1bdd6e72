"use strict";
// A page is drawn from the JSON in it. Text from a model becomes text nodes, never markup.
const builders = {};
const data = JSON.parse(document.getElementById("data").textContent);

function el(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// A name such as "block/dense" may be broken after each slash.
function broken(text) {
  return String(text ?? "").split("/").flatMap((part, i) => i ? ["/", el("wbr"), part] : [part]);
}

// The bytes of a payload: base64 of a zlib stream.
async function payload(index) {
  const text = atob(document.getElementById("payload-" + index).textContent);
  const packed = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

builders.facts = (section) => {
  const list = el("dl");
  for (const [key, value] of section.items) list.append(el("dt", {}, key), el("dd", {}, value));
  return list;
};

builders.table = (section) => {
  const kind = (column) => section.columns[column].right ? "number" : "";
  const head = el("tr", {}, ...section.columns.map((c, i) => el("th", {scope: "col", className: kind(i)}, c.header)));
  const rows = section.rows.map((row, r) => {
    const made = el("tr", {}, ...row.map((cell, i) => el("td", {className: kind(i)}, ...broken(cell))));
    if (section.layers) made.dataset.layer = section.layers[r];
    return made;
  });
  return el("div", {className: "scroll", tabIndex: 0}, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
};
