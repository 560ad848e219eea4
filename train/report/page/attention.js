"use strict";

// The chosen head. Whoever shows it registers to be told of changes.
class HeadChoice {
  constructor(layers, heads) {
    this.layers = layers;
    this.heads = heads;
    this.chosen = 0;
    this.listeners = [];
  }
  get count() { return this.layers * this.heads; }
  name(index) { return `Layer ${Math.floor(index / this.heads)}, head ${index % this.heads}`; }
  choose(index) {
    this.chosen = index;
    for (const listener of this.listeners) listener(index);
  }
  follow(listener) {
    this.listeners.push(listener);
    listener(this.chosen);
  }
}

function headSelect(choice) {
  const select = make("select");
  for (let i = 0; i < choice.count; ++i) select.append(make("option", {value: i}, choice.name(i)));
  select.addEventListener("change", () => choice.choose(Number(select.value)));
  choice.follow((index) => { select.value = String(index); });
  return make("label", {class: "head-choice"}, "Head", select);
}

// Weights are given in thousandths; null stands for one that was not finite.
const ink = (weight) => Math.sqrt(weight / 1000);

function paintThumbnail(canvas, map, size) {
  const [red, green, blue] = getComputedStyle(canvas).getPropertyValue("--heat").trim().split(/\s+/).map(Number);
  canvas.width = canvas.height = size;
  const image = new ImageData(size, size);
  map.forEach((weight, i) => image.data.set([red, green, blue, 255 * ink(weight ?? 0)], 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// Small pictures of all heads, one row for each layer; each is a button that chooses its head.
function headPictures(attention, choice, marks) {
  const grid = make("div", {class: "heads", role: "group", "aria-label": "Heads, a row for each layer"});
  grid.style.gridTemplateColumns = `max-content repeat(${choice.heads}, minmax(18px, 72px))`;
  const buttons = attention.maps.map((map, index) => {
    const mark = marks.get(index);
    const canvas = make("canvas", {"aria-hidden": "true"});
    const title = mark ? `${choice.name(index)}: ${mark}` : choice.name(index);
    const button = make("button", {type: "button", "aria-label": title, title}, canvas);
    if (mark) button.append(make("span", {class: "mark", "aria-hidden": "true"}, "i"));
    button.addEventListener("click", () => choice.choose(index));
    if (index % choice.heads === 0) grid.append(make("span", {}, `layer ${index / choice.heads}`));
    grid.append(button);
    return button;
  });
  const paint = () => buttons.forEach((button, i) => paintThumbnail(button.firstChild, attention.maps[i], attention.tokens.length));
  requestAnimationFrame(paint);  // colours are known once the pictures are in the page
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  choice.follow((index) => buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === index))));
  return grid;
}

// The text as buttons, one for each token; arrow keys move between them.
function tokenButtons(tokens, onShow, onPin) {
  const text = make("div", {class: "tokens", role: "group", "aria-label": "The text, token by token"});
  const buttons = tokens.map((token, i) => {
    const button = make("button", {type: "button", class: "token", "aria-label": `Token ${i}: ${token}`, tabindex: i ? -1 : 0}, token);
    button.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") onShow(i); });
    button.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") onShow(null); });
    button.addEventListener("focus", () => onPin(i));
    button.addEventListener("click", () => onPin(i));
    text.append(button);
    if (token.endsWith("\u21b5")) text.append(make("br"));
    return button;
  });
  text.addEventListener("keydown", (event) => {
    const from = buttons.indexOf(document.activeElement);
    const last = buttons.length - 1;
    const to = {ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: last}[event.key];
    if (to === undefined || from < 0) return;
    event.preventDefault();
    buttons[Math.min(Math.max(to, 0), last)].focus();
  });
  return {text, buttons};
}

const cell = 10;  // size of a cell in the units of the drawing, which is scaled

// The picture of one head: row i is the token that attends, column j the token attended to.
function attentionMap(tokens, onShow, onPin) {
  const labels = tokens.map((token) => ([...token].length > 10 ? [...token].slice(0, 9).join("") + "\u2026" : token));
  const longest = Math.max(...labels.map((label) => [...label].length));
  const margin = longest * 6 + 8;
  const side = tokens.length * cell;
  const svg = draw("svg", {class: "map", viewBox: `${-margin} ${-margin} ${margin + side + 2} ${margin + side + 2}`, role: "img"});
  svg.style.maxWidth = `${Math.min(620, 2.6 * (margin + side))}px`;
  const stairs = tokens.map(() => `h${cell}v${cell}`).join("");  // the keys that a causal query may attend to
  const left = labels.map((label, i) => draw("text", {x: -4, y: i * cell + 8, "text-anchor": "end"}, label));
  const top = labels.map((label, i) => longest === 1
    ? draw("text", {x: i * cell + 5, y: -4, "text-anchor": "middle"}, label)
    : draw("text", {transform: `translate(${i * cell + 8} -4) rotate(-90)`}, label));
  const rows = tokens.map((_, i) => draw("g", {class: "row", "data-row": i}));
  const frame = draw("rect", {class: "frame", x: 0, height: cell});
  svg.append(draw("path", {class: "paper", d: `M0 0${stairs}H0z`}), ...rows,
             draw("g", {class: "left"}, ...left), draw("g", {}, ...top), frame);

  const place = (event) => {
    const box = svg.getBoundingClientRect();
    const unit = (margin + side + 2) / box.width;
    const at = [event.clientX - box.left, event.clientY - box.top].map((p) => Math.floor((p * unit - margin) / cell));
    return at[1] >= 0 && at[1] < tokens.length ? at : null;
  };
  svg.addEventListener("pointermove", (event) => {
    const at = place(event);
    onShow(at ? at[1] : null, at && at[0] >= 0 && at[0] <= at[1] ? at[0] : null);
  });
  svg.addEventListener("pointerleave", () => onShow(null));
  svg.addEventListener("click", (event) => { if (place(event)) onPin(place(event)[1]); });

  const fill = (map) => rows.forEach((row, i) => {
    row.replaceChildren();
    tokens.forEach((_, j) => {
      const weight = map[i * tokens.length + j];
      if (weight === null) row.append(draw("rect", {class: "bad", x: j * cell, y: i * cell}));
      if (weight >= 3) row.append(draw("rect", {x: j * cell, y: i * cell, "fill-opacity": ink(weight).toFixed(2)}));
    });
  });
  const light = (query, keys) => {
    frame.setAttribute("y", query * cell);
    frame.setAttribute("width", (query + 1) * cell);
    rows.forEach((row, i) => row.classList.toggle("lit", i === query));
    left.forEach((text, i) => text.classList.toggle("lit", i === query));
    top.forEach((text, i) => text.classList.toggle("lit", keys.includes(i)));
  };
  return {svg, fill, light};
}

// The head whose rows have the largest weights on average; it is shown first.
function sharpestHead({maps, tokens}) {
  const count = tokens.length;
  const sharpness = maps.map((map) => tokens.reduce(
    (sum, _, i) => sum + Math.max(...map.slice(i * count, (i + 1) * count)), 0));
  return sharpness.indexOf(Math.max(...sharpness));
}

// Text and picture of the chosen head. The attention of the token under the pointer, or else of the pinned
// token, is highlighted.
function attentionView(attention, choice, marks = new Map()) {
  const {tokens} = attention;
  const count = tokens.length;
  let pinned = count - 1;
  let shown = null;
  let column = null;
  const title = make("h3");
  const readout = make("p", {class: "readout", "aria-live": "polite"});
  const show = (i, j = null) => { shown = i; column = j; update(); };
  const pin = (i) => { pinned = i; shown = null; column = null; update(); };
  const {text, buttons} = tokenButtons(tokens, show, pin);
  const map = attentionMap(tokens, show, pin);

  const update = () => {
    const query = shown ?? pinned;
    const row = attention.maps[choice.chosen].slice(query * count, (query + 1) * count);
    const best = [...row.keys()].filter((j) => row[j] >= 10).sort((a, b) => row[b] - row[a]).slice(0, 5);
    if (column !== null && !best.includes(column)) best.push(column);
    buttons.forEach((button, i) => {
      button.style.setProperty("--w", ink(row[i] ?? 0).toFixed(3));
      button.setAttribute("aria-pressed", String(i === query));
      button.classList.toggle("later", i > query);
      button.tabIndex = i === pinned ? 0 : -1;
    });
    map.light(query, column === null ? best.slice(0, 1) : [column]);
    readout.replaceChildren(make("b", {}, tokens[query]), ` at ${query} looks at `);
    best.forEach((j, k) => readout.append(k ? ", " : "", make("b", {}, tokens[j]),
                                          ` at ${j}: ${row[j] === null ? "not finite" : (row[j] / 1000).toFixed(2)}`));
  };
  choice.follow((index) => {
    const mark = marks.get(index);
    title.textContent = choice.name(index) + (mark ? ` \u2013 ${mark}` : "");
    map.svg.setAttribute("aria-label", `Attention of ${choice.name(index).toLowerCase()}`);
    map.fill(attention.maps[index]);
    update();
  });
  return make("div", {class: "attention"},
              make("div", {}, headPictures(attention, choice, marks), text, readout),
              make("div", {}, title, map.svg));
}
