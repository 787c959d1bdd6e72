"use strict";
(async () => {
  const main = document.querySelector("main");
  document.title = data.title;
  main.append(el("h1", {}, data.title));
  for (const line of data.about) main.append(el("p", {className: "soft"}, line));
  for (const warning of data.warnings) main.append(el("p", {className: "warning"}, warning));
  const titled = data.sections.filter((section) => section.title);
  if (titled.length > 1) {
    main.append(el("nav", {}, ...titled.map((section) => {
      const link = el("button", {type: "button"}, section.title);
      link.addEventListener("click", () => section.heading.scrollIntoView({behavior: "smooth"}));
      return link;
    })));
  }
  for (const section of data.sections) {
    if (section.title) main.append(section.heading = el("h2", {}, section.title));
    for (const line of section.notes || []) main.append(el("p", {className: "soft"}, line));
    main.append(await builders[section.kind](section));
  }
  document.documentElement.dataset.ready = "yes";
  document.dispatchEvent(new Event("drawn"));
})().catch((error) => {
  document.querySelector("main").append(el("p", {className: "warning"},
    "This browser could not draw the page, which needs a browser from 2023 or newer. " + error));
});
