"use strict";
builders.plot = (section) => {
  const make = (tag, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const {width, height} = section;
  const svg = make("svg", {class: "plot", role: "img", width, height, viewBox: `0 0 ${width} ${height}`});
  svg.append(make("defs", {}, make("marker",
    {id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse"},
    make("path", {class: "arrow", d: "M0 0L8 4L0 8z"}))));
  const groups = section.nodes.map((node) => {
    const group = make("g", {class: node.kind}, make("title", {}, node.title.join("\n")));
    group.append(make("rect", {x: node.x, y: node.y, width: node.width, height: node.height, rx: 6}));
    node.lines.forEach((line, i) => group.append(make("text",
      {x: node.x + 12, y: node.y + 21 + i * section.line_height, class: i ? "detail" : "name"}, line)));
    svg.append(group);
    return group;
  });
  for (const edge of section.edges) {
    svg.append(make("path", {class: edge.backward ? "edge backward" : "edge", d: edge.path,
      [edge.head_at_start ? "marker-start" : "marker-end"]: "url(#arrow)"}));
  }
  const drawing = el("div", {className: "scroll drawing", tabIndex: 0}, svg);
  if (!section.layers) return drawing;

  // ---- zoom: the picture grows in a scrolling frame, and the point under the pointer keeps its place
  let zoom = 1;
  const zoomTo = (wanted, x = drawing.clientWidth / 2, y = drawing.clientHeight / 2) => {
    const next = Math.max(0.05, Math.min(8, wanted)), grown = next / zoom;
    const [left, top] = [(drawing.scrollLeft + x) * grown - x, (drawing.scrollTop + y) * grown - y];
    zoom = next;
    svg.setAttribute("width", width * zoom);
    svg.setAttribute("height", height * zoom);
    [drawing.scrollLeft, drawing.scrollTop] = [left, top];
  };
  const fit = () => zoomTo(Math.min(1, drawing.clientWidth / width, drawing.clientHeight / height));
  drawing.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = drawing.getBoundingClientRect();
    zoomTo(zoom * Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
  }, {passive: false});

  // ---- pan
  let held = null;
  drawing.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse") held = {x: event.clientX, y: event.clientY, moved: false};
  });
  drawing.addEventListener("pointermove", (event) => {
    if (!held) return;
    held.moved = held.moved || Math.hypot(event.clientX - held.x, event.clientY - held.y) > 4;
    if (!held.moved) return;
    drawing.scrollLeft -= event.movementX;
    drawing.scrollTop -= event.movementY;
  });
  for (const name of ["pointerup", "pointerleave"]) {
    drawing.addEventListener(name, () => setTimeout(() => { held = null; }));
  }

  // ---- search
  const found = el("output", {className: "soft"});
  const search = el("input", {type: "search", placeholder: "a layer’s name, class or shape"});
  search.setAttribute("aria-label", "Search the graph");
  let hits = [], at = 0;
  const show = (i) => {
    const node = section.nodes[i];
    drawing.scrollLeft = (node.x + node.width / 2) * zoom - drawing.clientWidth / 2;
    drawing.scrollTop = (node.y + node.height / 2) * zoom - drawing.clientHeight / 2;
  };
  const seek = (step) => {
    const wanted = search.value.trim().toLowerCase();
    const matches = wanted === "" ? [] : section.nodes.flatMap((node, i) =>
      node.title.some((line) => line.toLowerCase().includes(wanted)) ? [i] : []);
    at = step && hits.length ? (at + step + hits.length) % hits.length : 0;
    hits = matches;
    groups.forEach((group, i) => group.classList.toggle("found", hits.includes(i)));
    found.textContent = wanted === "" ? "" : hits.length ? `${at + 1} of ${hits.length}` : "none";
    if (hits.length) show(hits[at]);
  };
  search.addEventListener("input", () => seek(0));
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") seek(event.shiftKey ? -1 : 1);
  });

  // ---- jump to the layer's row in the table of layers
  groups.forEach((group, i) => group.addEventListener("click", () => {
    if (held && held.moved) return;
    const row = document.querySelector(`tr[data-layer="${CSS.escape(section.nodes[i].title[0])}"]`);
    if (!row) return;
    row.scrollIntoView({block: "center", behavior: "smooth"});
    row.classList.add("found");
    setTimeout(() => row.classList.remove("found"), 2000);
  }));

  // ---- print: at the width of the paper, in pieces of at most a page that do not cut a layer
  const PAGE = {width: 700, height: 940};
  const pieces = el("div", {className: "paper"});
  const printed = matchMedia("print");
  const cut = () => {
    if (pieces.firstChild) return;
    const scale = Math.min(1, PAGE.width / width), most = PAGE.height / scale;
    const free = (y) => section.nodes.every((node) => y <= node.y - 4 || y >= node.y + node.height + 4);
    for (let top = 0; top < height - 1;) {
      let bottom = Math.min(height, top + most);
      if (bottom < height) {
        let y = bottom;
        while (y > top + most / 3 && !free(y)) y -= 2;
        if (free(y)) bottom = y;
      }
      const piece = svg.cloneNode(true);
      for (const [name, value] of [["width", width * scale], ["height", (bottom - top) * scale],
        ["viewBox", `0 ${top} ${width} ${bottom - top}`]]) piece.setAttribute(name, value);
      pieces.append(piece);
      top = bottom;
    }
  };
  printed.addEventListener("change", () => printed.matches && cut());
  addEventListener("beforeprint", cut);

  const button = (text, label, act) => {
    const made = el("button", {type: "button"}, text);
    made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
    return made;
  };
  return el("div", {className: "graph"}, el("div", {className: "tools"}, search, found,
    button("−", "Smaller", () => zoomTo(zoom / 1.25)), button("+", "Larger", () => zoomTo(zoom * 1.25)),
    button("Fit", "Fit into the frame", fit), button("1:1", "At its own size", () => zoomTo(1))), drawing, pieces);
};
