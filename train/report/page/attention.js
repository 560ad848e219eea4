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

// Small pictures of all heads, one row for each layer; each is a button that chooses its head.
function headPictures(maps, choice, marks) {
  const grid = make("div", {class: "heads", role: "group", "aria-label": "Heads, a row for each layer"});
  grid.style.setProperty("--heads", choice.heads);
  const canvases = [];
  const buttons = maps.map((map, index) => {
    const mark = marks.get(index);
    const canvas = make("canvas", {"aria-hidden": "true"});
    const title = mark ? `${choice.name(index)}: ${mark}` : choice.name(index);
    const button = make("button", {type: "button", "aria-label": title, title}, canvas);
    if (mark) button.append(make("span", {class: "mark", "aria-hidden": "true"}, "i"));
    button.addEventListener("click", () => choice.choose(index));
    if (index % choice.heads === 0) grid.append(make("span", {}, make("i", {}, "layer "), String(index / choice.heads)));
    grid.append(button);
    canvases.push(canvas);
    return button;
  });
  repaint(grid, () => {
    const room = Math.floor(Math.min(...canvases.map((canvas) => canvas.clientWidth)) * devicePixelRatio);
    const colours = mapColours(grid);
    maps.forEach((map, i) => paintMap(canvases[i], map, room, colours));
  });
  let chosen = null;
  choice.follow((index) => {
    for (const i of chosen === null ? buttons.keys() : [chosen, index]) buttons[i].setAttribute("aria-pressed", String(i === index));
    chosen = index;
  });
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

// Text and picture of the chosen head. The attention of the token under the pointer, or else of the pinned
// token, is highlighted.
function attentionView(tokens, maps, choice, marks) {
  let pinned = tokens.length - 1;
  let shown = null;
  let column = null;
  const title = make("h3");
  const readout = make("p", {class: "readout", "aria-live": "polite"});
  const show = (i, j = null) => {
    if (i === shown && j === column) return;
    shown = i;
    column = j;
    update();
  };
  const pin = (i) => { pinned = i; shown = null; column = null; update(); };
  const {text, buttons} = tokenButtons(tokens, show, pin);
  const picture = attentionPicture(tokens, show, pin);

  const update = () => {
    const query = shown ?? pinned;
    const row = maps[choice.chosen].row(query);
    const best = [...row.keys()].filter((j) => row[j] >= 0.01).sort((a, b) => row[b] - row[a]).slice(0, 5);
    if (column !== null && !best.includes(column)) best.push(column);
    buttons.forEach((button, i) => {
      button.style.setProperty("--w", ink(row[i] || 0).toFixed(3));
      button.setAttribute("aria-pressed", String(i === query));
      button.classList.toggle("later", i >= row.length);
      button.tabIndex = i === pinned ? 0 : -1;
    });
    picture.light(query, column === null ? best.slice(0, 1) : [column]);
    readout.replaceChildren(make("b", {}, tokens[query]), ` at ${query} looks at `);
    best.forEach((j, k) => readout.append(k ? ", " : "", make("b", {}, tokens[j]),
                                          ` at ${j}: ${Number.isNaN(row[j]) ? "not finite" : row[j].toFixed(2)}`));
  };
  choice.follow((index) => {
    const mark = marks.get(index);
    title.textContent = choice.name(index) + (mark ? ` \u2013 ${mark}` : "");
    picture.canvas.setAttribute("aria-label", `Attention of ${choice.name(index).toLowerCase()}`);
    picture.fill(maps[index]);
    update();
  });
  return make("div", {class: "attention"},
              make("div", {}, headPictures(maps, choice, marks), text),
              make("div", {class: "chosen"}, title, readout, picture.frame));
}
