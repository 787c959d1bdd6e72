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
  for (const node of section.nodes) {
    const group = make("g", {class: node.kind}, make("title", {}, node.title.join("\n")));
    group.append(make("rect", {x: node.x, y: node.y, width: node.width, height: node.height, rx: 6}));
    node.lines.forEach((line, i) => group.append(make("text",
      {x: node.x + 12, y: node.y + 21 + i * section.line_height, class: i ? "detail" : "name"}, line)));
    svg.append(group);
  }
  for (const edge of section.edges) {
    svg.append(make("path", {class: edge.backward ? "edge backward" : "edge", d: edge.path,
      [edge.head_at_start ? "marker-start" : "marker-end"]: "url(#arrow)"}));
  }
  return el("div", {className: "scroll drawing", tabIndex: 0}, svg);
};
