"use strict";

// The attention of one head: row i is the token that attends, column j the one attended to. Weights are
// codes: 4000ths, and notFinite for one that is no number.
const notFinite = 4095;

class HeadMap {
  constructor(codes, size, causal) {
    this.codes = codes;
    this.size = size;
    this.causal = causal;
  }
  keys(query) { return this.causal ? query + 1 : this.size; }
  start(query) { return this.causal ? (query * (query + 1)) / 2 : query * this.size; }
  codesOf(query) { return this.codes.subarray(this.start(query), this.start(query) + this.keys(query)); }
  row(query) { return Array.from(this.codesOf(query), (code) => (code === notFinite ? NaN : code / 4000)); }

  // The map in side × side pixels, each with the largest of its weights; side is at most the map's size.
  pooled(side) {
    const place = Array.from({length: this.size}, (_, i) => Math.floor((i * side) / this.size));
    const pixels = new Uint16Array(side * side);
    for (let query = 0; query < this.size; ++query) {
      const from = this.start(query);
      const to = place[query] * side;
      for (let key = this.keys(query) - 1; key >= 0; --key) {
        const code = this.codes[from + key];
        if (code > pixels[to + place[key]]) pixels[to + place[key]] = code;
      }
    }
    return pixels;
  }
}

// The maps of all heads. A weight is written as two digits of base64.
function headMaps({maps, tokens, causal}) {
  const digits = new Uint8Array(128);
  [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].forEach((digit, i) => {
    digits[digit.charCodeAt(0)] = i;
  });
  return maps.map((text) => {
    const codes = new Uint16Array(text.length / 2);
    for (let i = 0; i < codes.length; ++i) codes[i] = 64 * digits[text.charCodeAt(2 * i)] + digits[text.charCodeAt(2 * i + 1)];
    return new HeadMap(codes, tokens.length, causal);
  });
}

// The head whose rows have the largest weights on average; it is shown first.
function sharpestHead(maps) {
  const largest = (codes) => codes.reduce((most, code) => (code === notFinite ? most : Math.max(most, code)), 0);
  const sharpness = maps.map((map) => {
    let sum = 0;
    for (let query = 0; query < map.size; ++query) sum += largest(map.codesOf(query));
    return sum;
  });
  return sharpness.indexOf(Math.max(...sharpness));
}

const ink = (weight) => Math.sqrt(weight);

// Calls paint now and when the room, the density of the pixels or the colours change.
function repaint(element, paint) {
  let due = false;
  const soon = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      paint();
    });
  };
  new ResizeObserver(soon).observe(element);
  addEventListener("resize", soon);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
}

function mapColours(element) {
  const style = getComputedStyle(element);
  const named = (name) => style.getPropertyValue(name).trim();
  const bytes = (name) => named(name).match(/\w\w/g).map((digits) => parseInt(digits, 16));
  return {heat: named("--heat").split(/\s+/).map(Number), bad: bytes("--bad"), cell: named("--cell"),
          muted: named("--muted"), lit: named("--second")};
}

// Paints a map into a canvas, one pixel a weight, or as many pixels as there is room for.
function paintMap(canvas, map, room, {heat, bad}) {
  const side = Math.max(1, Math.min(map.size, room));
  const image = new ImageData(side, side);
  map.pooled(side).forEach((code, i) => {
    if (code === 0) return;
    const broken = code === notFinite;
    image.data.set(broken ? bad : heat, 4 * i);
    image.data[4 * i + 3] = broken ? 255 : Math.round(255 * ink(code / 4000));
  });
  canvas.width = canvas.height = side;
  canvas.getContext("2d").putImageData(image, 0, 0);
}

const labelFont = (size, lit) => `${lit ? "700 " : ""}${size}px ui-monospace, "DejaVu Sans Mono", monospace`;
const litSize = 12;
const after = 8;  // free pixels behind the last row and column, for half of a lit label
const leastSize = 7;  // of a label in pixels; where there is less room, only every n-th is shown

// A label of at most `most` characters.
function shortLabel(token, most) {
  const letters = Intl.Segmenter ? [...new Intl.Segmenter().segment(token)].map((part) => part.segment) : [...token];
  return letters.length > most ? letters.slice(0, most - 1).join("") + "\u2026" : token;
}

// Where the parts of the picture of a head lie, in CSS pixels.
function mapLayout(tokens, width, pen) {
  const labels = tokens.map((token) => shortLabel(token, width < 480 ? 6 : 10));
  pen.font = labelFont(litSize, true);
  const widest = Math.max(...labels.map((label) => pen.measureText(label).width));
  const turned = widest > 1.2 * litSize;  // the labels of the columns
  const left = Math.ceil((widest + 8) * devicePixelRatio) / devicePixelRatio;
  const top = turned ? left : Math.ceil((litSize + 8) * devicePixelRatio) / devicePixelRatio;
  let cell = Math.min(26, Math.max(Math.min(620, width) - left - after, 40) / tokens.length);
  if (cell * devicePixelRatio >= 4) cell = Math.floor(cell * devicePixelRatio) / devicePixelRatio;
  const thinned = 0.85 * cell < leastSize;
  return {labels, left, top, turned, cell, side: cell * tokens.length, size: thinned ? 9 : Math.min(0.85 * cell, litSize),
          every: thinned ? Math.ceil(11 / cell) : 1};
}

// The labels of one side: every n-th and the lit ones, which the others make room for. put writes one.
function drawLabels(pen, {labels, cell, size, every}, lit, colours, put) {
  const draw = (i, bold) => {
    pen.font = labelFont(bold ? Math.max(size, litSize) : size, bold);
    pen.fillStyle = bold ? colours.lit : colours.muted;
    put(labels[i], (i + 0.5) * cell);
  };
  const inTheWay = (i) => lit.some((j) => i === j || Math.abs(i - j) * cell < (litSize + size) / 2);
  for (let i = 0; i < labels.length; i += every) if (!inTheWay(i)) draw(i, false);
  for (const i of lit) draw(i, true);
}

function drawLeftLabels(pen, layout, query, colours) {
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  drawLabels(pen, layout, [query], colours, (label, y) => pen.fillText(label, -6, y));
}

function drawTopLabels(pen, layout, keys, colours) {
  pen.textAlign = layout.turned ? "left" : "center";
  drawLabels(pen, layout, keys, colours, (label, x) => {
    pen.save();
    pen.translate(x, layout.turned ? -6 : -4 - litSize / 2);
    if (layout.turned) pen.rotate(-Math.PI / 2);
    pen.fillText(label, 0, 0);
    pen.restore();
  });
}

// The field of the weights a query may have, the weights, and a frame around those of the lit query.
function drawWeights(pen, {cell, side}, map, weights, {query, keys}, colours) {
  pen.fillStyle = colours.cell;
  pen.beginPath();
  pen.moveTo(0, 0);
  for (let i = 0; i < map.size; ++i) {
    pen.lineTo(map.keys(i) * cell, i * cell);
    pen.lineTo(map.keys(i) * cell, (i + 1) * cell);
  }
  pen.lineTo(0, side);
  pen.fill();
  pen.imageSmoothingEnabled = false;
  pen.drawImage(weights, 0, 0, side, side);
  pen.fillStyle = pen.strokeStyle = colours.lit;
  for (const key of keys) pen.fillRect((key + 0.5) * cell - 0.5, -4, 1, 4 + (map.causal ? key * cell : 0));
  pen.lineWidth = 1.6;
  pen.strokeRect(-0.8, query * cell - 0.8, map.keys(query) * cell + 1.6, cell + 1.6);
}

// The picture of the chosen head, drawn anew as a whole when something about it changes.
function attentionPicture(tokens, onShow, onPin) {
  const canvas = make("canvas", {class: "map", role: "img"});
  const frame = make("div", {}, canvas);
  const pen = canvas.getContext("2d");
  const weights = document.createElement("canvas");
  let layout = null;
  let colours = null;
  let map = null;
  let lit = null;
  const draw = () => {
    if (layout === null) return;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, layout.left * devicePixelRatio, layout.top * devicePixelRatio);
    drawWeights(pen, layout, map, weights, lit, colours);
    drawLeftLabels(pen, layout, lit.query, colours);
    drawTopLabels(pen, layout, lit.keys, colours);
  };
  const fill = (chosen) => {
    map = chosen;
    if (layout !== null) paintMap(weights, map, Math.floor(layout.side * devicePixelRatio), colours);
  };
  const light = (query, keys) => {
    lit = {query, keys};
    canvas.dataset.row = query;
    draw();
  };
  repaint(frame, () => {
    layout = mapLayout(tokens, frame.clientWidth, pen);
    colours = mapColours(frame);
    for (const [name, before] of [["width", layout.left], ["height", layout.top]]) {
      canvas[name] = Math.ceil((before + layout.side + after) * devicePixelRatio);
      canvas.style[name] = `${canvas[name] / devicePixelRatio}px`;
    }
    fill(map);
    draw();
  });

  const place = (event) => {
    const [key, query] = [event.offsetX - layout.left, event.offsetY - layout.top].map((p) => Math.floor(p / layout.cell));
    return query >= 0 && query < tokens.length ? {query, key: key >= 0 && key < map.keys(query) ? key : null} : null;
  };
  canvas.addEventListener("pointermove", (event) => onShow(place(event)?.query ?? null, place(event)?.key ?? null));
  canvas.addEventListener("pointerleave", () => onShow(null));
  canvas.addEventListener("click", (event) => { if (place(event)) onPin(place(event).query); });
  return {canvas, frame, fill, light};
}
