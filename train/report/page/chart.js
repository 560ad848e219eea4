"use strict";

// make("p", {class: "note"}, "text", child) makes an element; text is never parsed as HTML.
function make(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

function draw(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

// Round numbers {1, 2, 5}·10^k that cover low … high in about `count` steps.
function linearTicks(low, high, count) {
  if (!(high > low)) {
    high += low === 0 ? 1 : Math.abs(low) / 2;
    low -= Math.abs(low) / 2;
  }
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.9);
  const ticks = [];
  for (let i = Math.floor(low / step + 1e-9); i <= Math.ceil(high / step - 1e-9); ++i) ticks.push(i * step);
  return ticks;
}

// Numbers {1, 2, 5}·10^k, or powers of ten alone where there are many decades, from below low
// to above high.
function logTicks(low, high) {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const factors = last - first > 2 ? [1] : [1, 2, 5];
  let ticks = [];
  for (let p = first; p <= last; ++p) ticks.push(...factors.map((factor) => factor * 10 ** p));
  ticks = ticks.filter((tick, i) => (ticks[i + 1] ?? tick) > low * 0.999 && (ticks[i - 1] ?? tick) < high * 1.001);
  return ticks.length > 1 ? ticks : [ticks[0], ticks[0] * 10];
}

function shortNumber(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2).replace(/\.?0+e/, "e");
  return String(Number(value.toPrecision(4)));
}

function scale(range, from, to, log) {
  const place = (value) => (log ? Math.log10(value) : value);
  const [low, high] = range.map(place);
  return (value) => from + ((place(value) - low) / (high - low || 1)) * (to - from);
}

const chartFont = "12px system-ui, sans-serif";

function textWidth(text) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = chartFont;
  return pen.measureText(text).width;
}

// The point of the curve that is nearest to a step.
function nearest(points, step) {
  return points.reduce((best, p) => (best && Math.abs(best[0] - step) <= Math.abs(p[0] - step) ? best : p), null);
}

// A chart of curves {name, kind, points: [[step, value], …]} that fills its container. Values that are not
// numbers are gaps. The legend shows the values at the pointer, or the last ones; curves without a name are
// not in it.
function lineChart({label, yTitle, curves, level = null, levelName = "", levelAbove = false, fromZero = false, log = false, height = 260}) {
  const drawable = (value) => isNumber(value) && (!log || value > 0);
  const values = curves.flatMap((curve) => curve.points.map((p) => p[1])).filter(drawable);
  const steps = curves.flatMap((curve) => curve.points.map((p) => p[0]));
  const figure = make("figure", {class: "chart"});
  if (values.length === 0) {
    figure.append(make("p", {class: "note"}, "Nothing was recorded."));
    return figure;
  }
  if (drawable(level)) values.push(level);
  if (fromZero) values.push(0);
  const least = (list) => list.reduce((a, b) => Math.min(a, b));
  const most = (list) => list.reduce((a, b) => Math.max(a, b));
  const yTicks = log ? logTicks(least(values), most(values)) : linearTicks(least(values), most(values), height / 55);
  let xRange = [least(steps), most(steps)];
  if (xRange[0] > 0 && xRange[0] < 0.05 * xRange[1]) xRange[0] = 0;
  if (xRange[0] === xRange[1]) xRange = [xRange[0] - 1, xRange[1] + 1];

  const legend = make("figcaption", {class: "legend"});
  const svg = draw("svg", {role: "img", "aria-label": label});
  figure.append(legend, svg);
  const tell = (step) => {
    legend.replaceChildren();
    if (step !== null) legend.append(make("span", {}, "step", make("b", {}, String(Math.round(step)))));
    for (const curve of curves) {
      if (!curve.name) continue;
      const known = curve.points.filter((p) => isNumber(p[1]));
      const point = step === null ? known.at(-1) : nearest(known, step);
      const value = point ? shortNumber(Number(point[1].toPrecision(3))) : "\u2013";
      legend.append(make("span", {class: curve.kind}, make("i", {class: curve.kind}), curve.name, make("b", {}, value)));
    }
  };

  const widest = Math.max(...yTicks.map((tick) => textWidth(shortNumber(tick))));
  const frame = {left: Math.max(40, Math.ceil(widest) + 12), right: 12, top: 30, bottom: 40};
  let x = null;
  const redraw = () => {
    const width = Math.max(svg.clientWidth, 200);
    const base = height - frame.bottom;
    x = scale(xRange, frame.left, width - frame.right, false);
    const y = scale([yTicks[0], yTicks.at(-1)], base, frame.top, log);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    svg.replaceChildren(...yTicks.flatMap((tick) => [
      draw("path", {class: "grid", d: `M${frame.left} ${y(tick)}H${width - frame.right}`}),
      draw("text", {x: frame.left - 7, y: y(tick) + 4, "text-anchor": "end"}, shortNumber(tick)),
    ]));
    for (const tick of linearTicks(...xRange, width / 90)) {
      if (tick < xRange[0] || tick > xRange[1]) continue;
      const atEdge = x(tick) > width - frame.right - 14;
      svg.append(draw("path", {class: "axis", d: `M${x(tick)} ${base}v5`}),
                 draw("text", {x: x(tick) + (atEdge ? frame.right : 0), y: base + 18, "text-anchor": atEdge ? "end" : "middle"},
                      shortNumber(tick)));
    }
    svg.append(draw("path", {class: "axis", d: `M${frame.left} ${base}H${width - frame.right}`}),
               draw("text", {x: (frame.left + width) / 2, y: height - 4, "text-anchor": "middle"}, "step"),
               draw("text", {x: 0, y: 12}, yTitle));
    if (drawable(level)) {
      const offset = levelAbove || y(level) + 15 > base ? -6 : 14;
      svg.append(draw("path", {class: "curve dashed c2", d: `M${frame.left} ${y(level)}H${width - frame.right}`}),
                 draw("text", {class: "level-name c2", x: frame.left + 8, y: y(level) + offset}, levelName));
    }
    for (const curve of curves) {
      let path = "";
      let pen = "M";
      for (const [step, value] of curve.points) {
        if (drawable(value)) path += `${pen}${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
        pen = drawable(value) ? "L" : "M";
      }
      svg.append(draw("path", {class: `curve ${curve.kind}`, d: path}));
      const last = curve.points.filter((p) => drawable(p[1])).at(-1);
      if (curve.name && last) svg.append(draw("circle", {class: `dot ${curve.kind}`, cx: x(last[0]), cy: y(last[1]), r: 3}));
    }
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const share = (event.clientX - box.left - x(xRange[0])) / (x(xRange[1]) - x(xRange[0]));
    const step = xRange[0] + Math.min(Math.max(share, 0), 1) * (xRange[1] - xRange[0]);
    const at = nearest(curves.find((curve) => curve.name)?.points ?? [], step)?.[0] ?? step;
    svg.querySelector(".cursor")?.remove();
    svg.append(draw("path", {class: "cursor", d: `M${x(at)} ${frame.top}V${height - frame.bottom}`}));
    tell(at);
  });
  svg.addEventListener("pointerleave", () => {
    svg.querySelector(".cursor")?.remove();
    tell(null);
  });
  tell(null);
  let drawnWidth = 0;
  new ResizeObserver(() => {
    if (svg.clientWidth === drawnWidth) return;
    drawnWidth = svg.clientWidth;
    redraw();
  }).observe(figure);
  return figure;
}

// Rows {name, parts: [{kind, value}, …]}, the largest first.
function barChart(label, rows, format) {
  const total = (row) => row.parts.reduce((sum, part) => sum + (isNumber(part.value) ? part.value : 0), 0);
  const sorted = [...rows].sort((a, b) => total(b) - total(a)).filter((row) => total(row) > 0);
  const longest = sorted.length > 0 ? total(sorted[0]) : 1;
  const list = make("dl", {class: "bars", "aria-label": label});
  for (const row of sorted) {
    const bar = make("dd", {class: "bar", "aria-hidden": "true"});
    for (const part of row.parts) {
      const piece = make("i", {class: part.kind});
      piece.style.width = `${(100 * part.value) / longest}%`;
      bar.append(piece);
    }
    list.append(make("dt", {}, row.name), bar, make("dd", {}, format(total(row))));
  }
  return list;
}
