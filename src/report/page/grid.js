"use strict";
builders.grid = (section) => {
  const largest = Math.max(...section.values.flat().map((value) => Math.abs(value ?? 0)), 0);
  const shown = el("output", {className: "soft"}, "Point at a cell, or move through the cells with the arrow keys.");
  const cells = [];
  const rows = section.rows.map((name, r) => el("tr", {}, el("th", {scope: "row"}, ...broken(name)),
    ...section.columns.map((column, c) => {
      const value = section.values[r][c];
      const text = section.words ? section.words[r][c] : section.short[r][c];
      const cell = el("td", {tabIndex: r + c ? -1 : 0, className: value === null ? "" : value < 0 ? "down" : "up"}, text);
      cell.style.setProperty("--share", largest ? Math.abs(value ?? 0) / largest : 0);
      const describe = () => {
        const words = section.words ? text + ", " : "";
        shown.textContent = `${name}, ${column}: ${words}${value === null ? "no number" : value}`;
      };
      cell.addEventListener("pointerenter", describe);
      cell.addEventListener("focus", describe);
      (cells[r] ||= [])[c] = cell;
      return cell;
    })));
  const head = el("tr", {}, el("th", {}), ...section.columns.map((name) => el("th", {scope: "col"}, name)));
  const table = el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows));
  const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
  table.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step) return;
    const r = cells.findIndex((row) => row.includes(document.activeElement));
    if (r < 0) return;
    const next = cells[r + step[0]]?.[cells[r].indexOf(document.activeElement) + step[1]];
    if (!next) return;
    event.preventDefault();
    document.activeElement.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  return el("div", {className: "grid"}, el("div", {className: "scroll"}, table), shown);
};
