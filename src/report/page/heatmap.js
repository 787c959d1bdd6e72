"use strict";
builders.heatmap = async (section) => {
  const THUMB = 72, LINE = 18, MOST_LINKS = 6, DECADES = 4;
  const layers = section.layers;
  const bytes = await payload(section.payload);
  const levels = section.bits === 16 ? new Uint16Array(bytes) : new Uint8Array(bytes);
  const most = section.bits === 16 ? 65535 : 255;
  let offset = 0;
  const headsInAll = layers.reduce((sum, layer) => sum + layer.heads.length, 0);
  for (const layer of layers) {
    for (const head of layer.heads) {
      head.levels = levels.subarray(offset, offset += layer.rows * layer.columns);
      head.columns = layer.columns;
    }
  }

  const state = {layer: 0, head: 0, view: "matrix", colours: "", row: -1, column: -1};
  const COLOURS = ["head", "one", "log", "row", "spread"];
  // The default scale of a layer. In a causal layer, later queries divide their weight among more keys.
  let chosen = section.log_scale ? "log" : null;
  const coloursOf = (layer) => chosen || layers[layer].scaling;
  const dark = matchMedia("(prefers-color-scheme: dark)"), paper = matchMedia("print");
  const isDark = () => dark.matches && !paper.matches;
  const layerNow = () => layers[state.layer];
  const headNow = () => layerNow().heads[state.head];
  // Levels are square roots, so that small weights keep their digits.
  const weight = (head, cell) => head.scale * (head.levels[cell] / most) ** 2;
  const shade = (head, cell) => {
    const share = (head.levels[cell] / most) ** 2;
    if (state.colours === "one") return Math.min(1, share * head.scale);
    if (state.colours === "row") {
      const most = largestOfRows(head)[Math.floor(cell / head.columns)];
      return most > 0 ? (head.levels[cell] / most) ** 2 : 0;
    }
    if (state.colours === "spread") {
      const least = leastOf(head);
      return least < 1 ? Math.max(0, (share - least) / (1 - least)) : 0;
    }
    if (state.colours === "log") return share > 0 ? Math.max(0, 1 + Math.log10(share) / DECADES) : 0;
    return share;
  };
  const largestOfRows = (head) => {
    if (!head.rowsMost) {
      head.rowsMost = Array.from({length: head.levels.length / head.columns}, (_, row) =>
        head.levels.subarray(row * head.columns, (row + 1) * head.columns).reduce((a, b) => Math.max(a, b), 0));
    }
    return head.rowsMost;
  };
  const leastOf = (head) => {
    if (head.least === undefined) head.least = (head.levels.reduce((a, b) => b > 0 ? Math.min(a, b) : a, most) / most) ** 2;
    return head.least;
  };
  const number = (value) => value === null ? "-" : value === 0 ? "0" : value >= 1e-4 ? value.toPrecision(3) : value.toExponential(1);

  // ---- colors
  let ramp = [];
  const prepareRamp = () => {
    const stops = section.ramps[isDark() ? "dark" : "light"]
      .map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
    ramp = Array.from({length: 256}, (_, i) => {
      const at = i / 255 * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2);
      return stops[low].map((c, k) => Math.round(c + (stops[low + 1][k] - c) * (at - low)));
    });
  };
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // ---- names of positions
  const labelsOf = (count) => section.labels[count] || null;
  const position = (cell, count) => {
    const block = layerNow().block, first = cell * block, last = Math.min(first + block, count) - 1;
    return first === last ? exact(first, count) : `${exact(first, count)} to ${exact(last, count)}`;
  };
  const exact = (at, count) => labelsOf(count) ? `${at} “${labelsOf(count)[at]}”` : at;
  const short = (cell, count) => {
    const first = cell * layerNow().block, labels = labelsOf(count);
    return labels ? labels[first] : String(first);
  };

  // ---- the frame
  const choose = (name, options, key) => {
    const select = el("select", {});
    options.forEach(([value, text]) => select.append(el("option", {value}, text)));
    select.addEventListener("change", () => update({[key]: typeof state[key] === "number" ? +select.value : select.value}));
    return [el("label", {}, name, select), select];
  };
  const [layerLabel, layerSelect] = choose("Layer", layers.map((l, i) => [i, `${l.index} · ${l.name}`]), "layer");
  const [headLabel, headSelect] = choose("Head", [], "head");
  const [colourLabel, colourSelect] = choose("Colors", [["head", "up to the head’s largest"],
    ["one", "from 0 to 1"], ["log", "logarithmic, 4 decades"],
    ["row", "from 0 to each query’s largest"], ["spread", "from the head’s smallest to its largest"]], "colours");
  const views = [["matrix", "Matrix"], ["lines", "Lines"], ["heads", "All heads"], ["overlaid", "Overlaid"],
    ...(layers.some((layer) => layer.grid) ? [["image", "On the image"]] : [])].map(([view, text]) => {
    const button = el("button", {type: "button"}, text);
    button.addEventListener("click", () => update({view}));
    button.dataset.view = view;
    return button;
  });
  const pane = el("div", {className: "pane"});
  const readout = el("output", {className: "readout"});
  const heads = el("div", {className: "heads"});
  const keys = el("p", {className: "keys"});
  for (const [key, text] of [["n", "next head"], ["p", "previous head"], ["j", "next layer"], ["k", "previous layer"],
    ["1", "matrix"], ["2", "lines"], ["3", "all heads"], ["4", "overlaid"],
    ...(views.length > 4 ? [["5", "on the image"]] : []), ["c", "colors"], ["← ↑ → ↓", "in the picture: a cell"]]) {
    keys.append(el("kbd", {}, key), " " + text + "   ");
  }
  const rampCanvas = el("canvas", {width: 160, height: 10}), rampLow = el("span", {}), rampHigh = el("span", {});
  const legend = el("div", {className: "legend"}, rampLow, rampCanvas, rampHigh);
  const left = el("div", {}, pane, legend, readout);
  const onPaper = el("div", {className: "paper"});  // all heads, regardless of the selected one
  const root = el("section", {className: "heatmap"},
    el("div", {className: "tools"}, layerLabel, headLabel, colourLabel, el("div", {className: "views"}, ...views)),
    el("div", {className: "sides"}, left, heads), keys, onPaper);

  // ---- one head as an image of one pixel per cell
  const images = new Map();
  const image = (layer, head) => {
    const key = [layer.index, layers.indexOf(layer), head.head, state.colours, isDark()].join();
    if (images.has(key)) return images.get(key);
    const canvas = el("canvas", {width: layer.columns, height: layer.rows});
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(layer.columns, layer.rows);
    for (let cell = 0; cell < head.levels.length; ++cell) {
      const [r, g, b] = ramp[Math.round(shade(head, cell) * 255)];
      pixels.data.set([r, g, b, 255], cell * 4);
    }
    context.putImageData(pixels, 0, 0);
    if (images.size > 400) images.clear();
    images.set(key, canvas);
    return canvas;
  };

  // ---- all heads over each other, a hue for each: what only one head sees has its color, what all see is gray
  const hue = (h, count) => {
    const at = 6 * h / count, part = (from) => Math.max(0, Math.min(1, Math.abs(((at + from) % 6) - 3) - 1));
    return [part(0), part(4), part(2)];
  };
  const overlaid = (layer) => {
    const key = [layers.indexOf(layer), "overlaid", state.colours, isDark()].join();
    if (images.has(key)) return images.get(key);
    const canvas = el("canvas", {width: layer.columns, height: layer.rows});
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(layer.columns, layer.rows);
    const colours = layer.heads.map((_, h) => hue(h, layer.heads.length)), none = ramp[0];
    for (let cell = 0; cell < layer.rows * layer.columns; ++cell) {
      const mixed = [0, 0, 0];
      let total = 0, strongest = 0;
      layer.heads.forEach((head, h) => {
        const strength = shade(head, cell), share = strength ** 3;
        total += share;
        strongest = Math.max(strongest, strength);
        for (let k = 0; k < 3; ++k) mixed[k] += share * colours[h][k];
      });
      const pixel = mixed.map((c, k) => none[k] + (total > 0 ? 235 * c / total - none[k] : 0) * strongest);
      pixels.data.set([...pixel.map(Math.round), 255], cell * 4);
    }
    context.putImageData(pixels, 0, 0);
    images.set(key, canvas);
    return canvas;
  };
  const colourOf = (h, count) => `rgb(${hue(h, count).map((c) => Math.round(235 * c))})`;

  const sized = (canvas, width, height) => {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "12px ui-monospace, 'DejaVu Sans Mono', monospace";
    context.textBaseline = "middle";
    return context;
  };
  const clipped = (context, text, room) => {
    if (context.measureText(text).width <= room) return text;
    let end = Math.min(text.length, 64);
    while (end > 1 && context.measureText(text.slice(0, end) + "…").width > room) --end;
    return text.slice(0, end) + "…";
  };

  // ---- the matrix
  const matrix = el("canvas", {className: "picture", tabIndex: 0});
  matrix.setAttribute("role", "img");
  let frame = {left: 0, top: 0, cell: 1};
  const drawMatrix = () => {
    const layer = layerNow(), head = headNow();
    const width = Math.max(240, Math.min(pane.clientWidth || 640, 760));
    const measure = matrix.getContext("2d");
    measure.font = "12px ui-monospace, 'DejaVu Sans Mono', monospace";
    const longest = (cells, count) => {
      let room = 20;
      for (let i = 0; i < cells; ++i) room = Math.max(room, measure.measureText(short(i, count)).width);
      return Math.min(room, 110) + 10;
    };
    const leftRoom = 18 + longest(layer.rows, layer.queries);
    let cell = Math.min(36, (width - leftRoom - 2) / layer.columns, 760 / layer.rows);
    if (cell > 4) cell = Math.floor(cell);
    const spelled = cell >= 12 && labelsOf(layer.keys) !== null;
    const topRoom = 18 + (spelled ? longest(layer.columns, layer.keys) : 20);
    const right = leftRoom + cell * layer.columns, bottom = topRoom + cell * layer.rows;
    const context = sized(matrix, Math.max(right + 2, 200), bottom + 2);
    frame = {left: leftRoom, top: topRoom, cell};
    context.imageSmoothingEnabled = false;
    const picture = state.view === "overlaid" ? overlaid(layer) : image(layer, head);
    context.drawImage(picture, leftRoom, topRoom, cell * layer.columns, cell * layer.rows);
    context.strokeStyle = style("--line");
    context.strokeRect(leftRoom - 0.5, topRoom - 0.5, cell * layer.columns + 1, cell * layer.rows + 1);

    context.fillStyle = style("--soft");
    const step = (cells, room) => {
      for (const nice of [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000]) if (nice * cell >= room) return nice;
      return cells;
    };
    const rowStep = step(layer.rows, 13), columnStep = spelled ? 1 : step(layer.columns, 44);
    context.textAlign = "right";
    for (let i = 0; i < layer.rows; i += rowStep) {
      context.fillText(clipped(context, short(i, layer.queries), leftRoom - 24), leftRoom - 6, topRoom + (i + 0.5) * cell);
    }
    for (let i = 0; i < layer.columns; i += columnStep) {
      const x = leftRoom + (i + 0.5) * cell;
      if (spelled) {
        context.save();
        context.translate(x, topRoom - 6);
        context.rotate(-Math.PI / 2);
        context.textAlign = "left";
        context.fillText(clipped(context, short(i, layer.keys), topRoom - 24), 0, 0);
        context.restore();
      } else {
        context.textAlign = "center";
        context.fillText(String(i * layer.block), x, topRoom - 10);
      }
    }
    context.textAlign = "left";
    context.fillText("keys →", leftRoom, 8);
    context.save();
    context.translate(8, topRoom + 50);
    context.rotate(-Math.PI / 2);
    context.fillText("← queries", 0, 0);
    context.restore();
    if (state.row >= 0) {
      context.strokeStyle = style("--accent");
      context.lineWidth = 1.5;
      context.strokeRect(leftRoom - 1, topRoom + state.row * cell - 1, cell * layer.columns + 2, cell + 2);
      context.strokeRect(leftRoom + state.column * cell - 1, topRoom - 1, cell + 2, cell * layer.rows + 2);
    }
    matrix.setAttribute("aria-label", `Attention of ${layer.name}, head ${head.head}: ${layer.rows} by ${layer.columns} cells`);
  };
  const point = (row, column) => {
    const layer = layerNow();
    const inside = row >= 0 && column >= 0 && row < layer.rows && column < layer.columns;
    if (!inside) [row, column] = [-1, -1];
    if (row === state.row && column === state.column) return;
    [state.row, state.column] = [row, column];
    redraw();
    tell();
  };
  matrix.addEventListener("pointermove", (event) => {
    const box = matrix.getBoundingClientRect();
    point(Math.floor((event.clientY - box.top - frame.top) / frame.cell),
      Math.floor((event.clientX - box.left - frame.left) / frame.cell));
  });
  matrix.addEventListener("pointerleave", () => point(-1, -1));
  const arrows = (event) => {
    const move = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (!move) return;
    event.preventDefault();
    const layer = layerNow(), limit = (value, count) => Math.max(0, Math.min(count - 1, value));
    if (state.row < 0) point(0, 0);
    else point(limit(state.row + move[0], layer.rows), limit(state.column + move[1], layer.columns));
  };
  matrix.addEventListener("keydown", arrows);

  // ---- lines from queries to keys
  const linesCanvas = el("canvas", {});
  const linesSpace = el("div", {}, linesCanvas);
  const lines = el("div", {className: "lines", tabIndex: 0}, linesSpace);
  lines.setAttribute("role", "img");
  const linkCache = new Map();
  const links = (layer, head) => {
    if (linkCache.has(head)) return linkCache.get(head);
    const found = [];
    for (let row = 0; row < layer.rows; ++row) {
      const cells = Array.from({length: layer.columns}, (_, column) => row * layer.columns + column)
        .filter((cell) => head.levels[cell] > 0).sort((a, b) => head.levels[b] - head.levels[a]);
      for (const cell of cells.slice(0, MOST_LINKS)) found.push([row, cell % layer.columns, cell]);
    }
    linkCache.set(head, found);
    return found;
  };
  const drawLines = () => {
    const layer = layerNow(), head = headNow();
    const all = Math.max(layer.rows, layer.columns) * LINE + 34;
    lines.style.height = `min(72vh, ${all + 2}px)`;
    const height = Math.min(lines.clientHeight, all), width = Math.max(220, Math.min(lines.clientWidth, 640));
    linesSpace.style.height = all + "px";
    const context = sized(linesCanvas, width, height);
    let room = 60;
    const from = lines.scrollTop;
    for (const [cells, count] of [[layer.rows, layer.queries], [layer.columns, layer.keys]]) {
      for (let i = 0; i < cells; ++i) room = Math.max(room, context.measureText(short(i, count)).width + 20);
    }
    room = Math.min(room, width * 0.3);
    const y = (i) => 30 + (i + 0.5) * LINE - from;
    const visible = (i) => y(i) > -LINE && y(i) < height + LINE;
    context.lineWidth = 1.6;
    context.strokeStyle = style("--accent");
    const line = (row, column, strength) => {
      if (!visible(row) && !visible(column)) return;
      context.globalAlpha = strength;
      context.beginPath();
      context.moveTo(room, y(row));
      context.bezierCurveTo(width / 2, y(row), width / 2, y(column), width - room, y(column));
      context.stroke();
    };
    if (state.row >= 0) {
      for (let column = 0; column < layer.columns; ++column) {
        const strength = shade(head, state.row * layer.columns + column);
        if (strength > 0.01) line(state.row, column, strength);
      }
    } else {
      for (const [row, column, cell] of links(layer, head)) line(row, column, 0.85 * shade(head, cell) + 0.03);
    }
    context.globalAlpha = 1;
    context.fillStyle = style("--soft");
    if (from < 20) {
      context.textAlign = "right";
      context.fillText("queries", room - 8, 14 - from);
      context.textAlign = "left";
      context.fillText("keys", width - room + 8, 14 - from);
    }
    const write = (cells, count, align, x) => {
      context.textAlign = align;
      for (let i = 0; i < cells; ++i) {
        if (!visible(i)) continue;
        context.fillStyle = align === "right" && i === state.row ? style("--accent") : style("--ink");
        context.fillText(clipped(context, short(i, count), room - 14), x, y(i));
      }
    };
    write(layer.rows, layer.queries, "right", room - 8);
    write(layer.columns, layer.keys, "left", width - room + 8);
    lines.setAttribute("aria-label", `Attention of ${layer.name}, head ${head.head}, as lines from queries to keys`);
  };
  lines.addEventListener("scroll", () => redraw());
  lines.addEventListener("pointermove", (event) => {
    const row = Math.floor((event.clientY - lines.getBoundingClientRect().top + lines.scrollTop - 30) / LINE);
    const layer = layerNow();
    if (row < 0 || row >= layer.rows) return point(-1, -1);
    let best = 0;
    for (let column = 1; column < layer.columns; ++column) {
      if (headNow().levels[row * layer.columns + column] > headNow().levels[row * layer.columns + best]) best = column;
    }
    point(row, best);
  });
  lines.addEventListener("pointerleave", () => point(-1, -1));
  lines.addEventListener("keydown", arrows);

  // ---- the patches that a query attends to, drawn over the input image
  const photo = el("canvas", {className: "picture", tabIndex: 0});
  photo.setAttribute("role", "img");
  const drawPhoto = async () => {
    const layer = layerNow(), head = headNow(), {grid} = layer;
    const side = Math.max(220, Math.min(pane.clientWidth || 480, 480));
    const {width, height} = section.image || {width: 1, height: 1};
    const scale = side / Math.max(width, height);
    const context = sized(photo, width * scale, height * scale);
    if (!grid) {
      context.fillStyle = style("--soft");
      context.fillText("The positions of this layer are not patches of the image.", 4, 20);
      return;
    }
    context.imageSmoothingEnabled = scale < 2;
    context.drawImage(await inputImage(), 0, 0, width * scale, height * scale);
    const query = Math.max(0, state.row);
    const [w, h] = [width * scale / grid.columns, height * scale / grid.rows];
    for (let patch = 0; patch < grid.rows * grid.columns; ++patch) {
      const strength = shade(head, query * layer.columns + grid.first + patch);
      const x = (patch % grid.columns) * w, y = Math.floor(patch / grid.columns) * h;
      context.fillStyle = `rgba(0, 0, 0, ${0.75 * (1 - strength)})`;
      context.fillRect(x, y, w + 0.5, h + 0.5);
      if (patch + grid.first === query) {
        context.strokeStyle = style("--accent");
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 1, w - 2, h - 2);
      }
    }
    photo.setAttribute("aria-label", `Attention of query ${query} of ${layer.name}, head ${head.head}, over the image`);
  };
  let inputPicture = null;
  const inputImage = async () => {
    if (inputPicture) return inputPicture;
    const {width, height} = section.image, rgb = new Uint8Array(await payload(section.image.payload));
    const canvas = el("canvas", {width, height});
    const context = canvas.getContext("2d"), pixels = context.createImageData(width, height);
    for (let i = 0; i < width * height; ++i) pixels.data.set([rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2], 255], 4 * i);
    context.putImageData(pixels, 0, 0);
    return inputPicture = canvas;
  };
  photo.addEventListener("pointermove", (event) => {
    const layer = layerNow(), {grid} = layer, box = photo.getBoundingClientRect();
    if (!grid) return;
    const column = Math.floor((event.clientX - box.left) / box.width * grid.columns);
    const row = Math.floor((event.clientY - box.top) / box.height * grid.rows);
    const query = grid.first + row * grid.columns + column;
    if (query !== state.row) point(query, Math.max(0, state.column));
  });
  photo.addEventListener("pointerleave", () => point(-1, -1));
  photo.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) arrows(event);
  });

  // ---- all heads
  const grid = el("div", {className: "grid"});
  const drawThumb = (canvas) => {
    const layer = layers[canvas.dataset.layer], head = layer.heads[canvas.dataset.head];
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    canvas.width = canvas.height = THUMB * ratio;
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = layer.columns > THUMB * ratio;
    context.drawImage(image(layer, head), 0, 0, canvas.width, canvas.height);
  };
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { drawThumb(entry.target); seen.unobserve(entry.target); }
  }, {rootMargin: "200px"});
  const drawGrid = () => {
    seen.disconnect();
    grid.replaceChildren(...layers.map((layer, l) => el("div", {}, el("h3", {}, `${layer.index} · ${layer.name}`),
      el("div", {className: "thumbs"}, ...layer.heads.map((head, h) => {
        const canvas = el("canvas", {});
        canvas.dataset.layer = l;
        canvas.dataset.head = h;
        seen.observe(canvas);
        const button = el("button", {type: "button", className: "thumb"}, canvas, el("span", {}, `head ${head.head}`));
        button.setAttribute("aria-label", `${layer.name}, head ${head.head}, entropy ${number(head.entropy)} bits`);
        button.addEventListener("click", () => update({layer: l, head: h, view: "matrix"}));
        return button;
      })))));
  };

  // ---- figures
  const drawLegend = () => {
    const context = rampCanvas.getContext("2d");
    for (let x = 0; x < 160; ++x) {
      context.fillStyle = `rgb(${ramp[Math.round(x / 159 * 255)].join()})`;
      context.fillRect(x, 0, 1, 10);
    }
    const scale = headNow().scale, each = state.colours === "row" ? "each query’s largest" :
      state.view === "heads" ? "each head’s largest" : number(scale);
    const least = state.view === "heads" ? "each head’s smallest" : number(scale * leastOf(headNow()));
    rampLow.textContent = state.colours === "spread" ? least : state.colours !== "log" ? "0" : state.view === "heads" ? "a ten-thousandth" : number(scale / 10 ** DECADES);
    rampHigh.textContent = state.colours === "one" ? "1" : each;
    legend.hidden = ["lines", "overlaid", "image"].includes(state.view);
  };
  const drawHeads = () => {
    const layer = layerNow();
    const columns = ["Head", "Entropy", "Distance", "First", "Self", "Largest"];
    const percent = (share) => share === null ? "-" : (100 * share).toFixed(1) + "%";
    const rows = layer.heads.map((head, h) => {
      const button = el("button", {type: "button"}, String(head.head));
      if (state.view === "overlaid") button.style.borderLeft = `12px solid ${colourOf(h, layer.heads.length)}`;
      button.addEventListener("click", () => update({head: h}));
      return el("tr", {className: h === state.head ? "chosen" : ""}, el("td", {}, button),
        ...[number(head.entropy), number(head.distance), percent(head.to_first), percent(head.to_self), number(head.largest)]
          .map((text) => el("td", {className: "number"}, text)));
    });
    heads.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, ...columns.map((text, i) =>
      el("th", {scope: "col", className: i ? "number" : ""}, text)))), el("tbody", {}, ...rows)),
    el("p", {className: "soft"}, `Means over queries. Entropy in bits: 0 if one key has all the weight, ${number(Math.log2(layer.keys))} ` +
      `if all ${layer.keys} keys have the same. Distance from query to key in positions. First and self: the weight of ` +
      "the first key and of the query’s own position."));
  };
  const tell = () => {
    const layer = layerNow(), head = headNow();
    if (state.row < 0) {
      readout.textContent = `${layer.name}, head ${head.head}: largest weight ${number(head.largest)}, ` +
        `query ${exact(head.query, layer.queries)}, key ${exact(head.key, layer.keys)}`;
      return;
    }
    const value = number(weight(head, state.row * layer.columns + state.column));
    readout.textContent = `query ${position(state.row, layer.queries)} → key ${position(state.column, layer.keys)}: ${value}` +
      (layer.block > 1 ? ", the mean of these weights" : "");
  };

  let waiting = false;
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      if (state.view === "matrix" || state.view === "overlaid") drawMatrix();
      if (state.view === "image") drawPhoto();
      if (state.view === "lines") drawLines();
    });
  };
  const update = (change) => {
    const before = {...state};
    Object.assign(state, change);
    state.layer = Math.max(0, Math.min(layers.length - 1, state.layer || 0));
    if (change.colours) chosen = change.colours;
    state.colours = coloursOf(state.layer);
    state.head = Math.max(0, Math.min(layerNow().heads.length - 1, state.head || 0));
    if (state.layer !== before.layer || state.head !== before.head) state.row = state.column = -1;
    layerSelect.value = state.layer;
    headSelect.replaceChildren(...layerNow().heads.map((head, i) => el("option", {value: i}, String(head.head))));
    headSelect.value = state.head;
    colourSelect.value = state.colours;
    for (const button of views) button.setAttribute("aria-pressed", String(button.dataset.view === state.view));
    for (const key of ["layer", "head", "view", "colours"]) root.dataset[key] = state[key];
    const shown = {matrix, lines, heads: grid, overlaid: matrix, image: photo}[state.view];
    if (shown.parentNode !== pane) pane.replaceChildren(shown);
    if (state.view === "heads" && (before.view !== "heads" || before.colours !== state.colours || !grid.firstChild)) drawGrid();
    drawHeads();
    drawLegend();
    tell();
    redraw();
    const hash = "#" + ["layer", "head", "view", "colours"].map((key) => key + "=" + state[key]).join("&");
    if (location.hash !== hash && change.fromAddress === undefined) history.replaceState(null, "", hash);
    delete state.fromAddress;
  };
  const fromAddress = () => {
    const wanted = new URLSearchParams(location.hash.slice(1)), change = {fromAddress: true};
    for (const key of ["layer", "head"]) if (/^\d+$/.test(wanted.get(key) || "")) change[key] = +wanted.get(key);
    if (views.some((button) => button.dataset.view === wanted.get("view"))) change.view = wanted.get("view");
    if (COLOURS.includes(wanted.get("colours"))) change.colours = wanted.get("colours");
    update(change);
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || /^(SELECT|INPUT|TEXTAREA)$/.test(event.target.tagName)) return;
    const change = {
      n: {head: state.head + 1}, p: {head: state.head - 1}, j: {layer: state.layer + 1}, k: {layer: state.layer - 1},
      1: {view: "matrix"}, 2: {view: "lines"}, 3: {view: "heads"}, 4: {view: "overlaid"},
      5: views.length > 4 ? {view: "image"} : undefined,
      c: {colours: COLOURS[(COLOURS.indexOf(state.colours) + 1) % COLOURS.length]},
    }[event.key];
    if (change) update(change);
  });
  addEventListener("hashchange", fromAddress);
  addEventListener("resize", redraw);
  for (const media of [dark, paper]) {
    media.addEventListener("change", () => {
      prepareRamp();
      images.clear();
      drawLegend();
      if (state.view === "heads") drawGrid();
      if (!paper.matches) return redraw();
      // Printing does not wait for an animation frame.
      if (state.view === "matrix" || state.view === "overlaid") drawMatrix();
      if (state.view === "lines") drawLines();
      if (state.view !== "heads" && headsInAll > 1) {
        drawGrid();
        onPaper.replaceChildren(grid);
      }
      grid.querySelectorAll("canvas").forEach(drawThumb);
    });
  }
  document.addEventListener("drawn", redraw);
  prepareRamp();
  fromAddress();
  return root;
};
