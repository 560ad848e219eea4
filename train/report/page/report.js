"use strict";

function section(title, note, ...content) {
  const heading = make("h2", {}, title);
  return make("section", {}, heading, ...(note ? [make("p", {class: "note"}, note)] : []), ...content);
}

const groups = (count) => count.toLocaleString("en").replaceAll(",", "\u202f");

function duration(seconds) {
  const [whole, two] = [Math.round(seconds), (n) => String(n).padStart(2, "0")];
  if (seconds < 1) return `${(1000 * seconds).toFixed(0)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor(whole / 60) % 60)} min`;
}

// How large the run was, what it took and where it comes from, as far as that is known.
function factList({facts, unit}) {
  const told = [
    ["parameters", facts.parameters && groups(facts.parameters)],
    [`${unit}s of text`, facts.tokens && groups(facts.tokens)],
    ["vocabulary", facts.vocabulary && groups(facts.vocabulary)],
    ["steps", facts.steps && groups(facts.steps)],
    [`${unit}s seen`, facts.tokens_seen && groups(facts.tokens_seen)],
    ["time of the steps", facts.seconds && duration(facts.seconds)],
    ["begun", facts.date],
    ["heed", facts.version],
  ];
  const list = make("dl", {class: "facts"});
  for (const [name, value] of told) if (value) list.append(make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  return list;
}

// How far the curves are above the floor, which no linear axis shows once they are near it.
function gapChart(run, curves) {
  const gaps = curves.map((curve) => ({...curve, points: curve.points.map(([step, loss]) => [step, isNumber(loss) ? loss - run.floor : null])}));
  if (!gaps.some((curve) => curve.points.some((p) => p[1] > 0))) return [];
  return [make("h3", {}, "Above the floor"),
          lineChart({label: "Loss above its floor over the steps of training", yTitle: `nats per ${run.unit} above the floor`, curves: gaps, log: true, height: 240})];
}

function lossSection(run) {
  const curves = [
    {name: "training", kind: "c0", points: run.curves.loss},
    {name: "validation", kind: "c1", points: run.evaluations.map((e) => [e.step, e.loss])},
  ];
  const known = isNumber(run.floor);
  return section(known ? "Loss against its floor" : "Loss",
    known && "The floor is the entropy that the text keeps even for a reader who knows exactly how it is made. No model can go below it for long; a batch that is easier than most can, and is a gap in the lower chart.",
    lineChart({label: "Loss over the steps of training", yTitle: `nats per ${run.unit}`, curves, level: run.floor,
               levelName: known ? `floor ${run.floor.toFixed(3)}` : "", fromZero: true, height: 360}),
    ...(known ? gapChart(run, curves) : []));
}

function rateSection(run) {
  return section("Learning rate", null,
    lineChart({label: "Learning rate over the steps of training", yTitle: "learning rate", fromZero: true, height: 200,
               curves: [{name: "learning rate", kind: "c0", points: run.curves.lr}]}));
}

// Five colours in turn; from the sixth part on the lines are dashed.
const partKind = (i) => `c${i % 5}${i >= 5 ? " dashed" : ""}`;

function gradientSection(run) {
  const curves = run.parts.map((name, i) => ({
    name, kind: partKind(i), points: run.measured.map((m) => [m.step, m.part_norms[i]]),
  }));
  return section("Gradient norms",
    "The length of the gradient of each part of the model, before it is clipped, on a logarithmic scale. Layers should stay within a factor of ten or so of each other; one that dies away or explodes shows here first.",
    lineChart({label: "Gradient norms by part of the model", yTitle: "norm", curves, log: true, height: 280}));
}

function headSection(run, choice) {
  const charts = make("div", {class: "pair"});
  const points = (list, head) => run.measured.map((m) => [m.step, m[list][head]]);
  const last = run.measured.at(-1).step;
  // All heads as one curve, with a gap after each.
  const allHeads = (key) => Array.from({length: choice.count}, (_, head) => [...points(key, head), [last, null]]).flat();
  const others = {entropy: allHeads("entropy"), saturation: allHeads("saturation")};
  const chart = (title, yTitle, key, level, levelName) => {
    const curves = [
      {kind: "faint", points: others[key]},
      {name: "not divided by \u221ad", kind: "c1 dashed", points: points(`undivided_${key}`, choice.chosen)},
      {name: choice.name(choice.chosen), kind: "c0", points: points(key, choice.chosen)},
    ];
    return make("div", {}, make("h3", {}, title),
                lineChart({label: `${title} of ${choice.name(choice.chosen)}`, yTitle, curves, level, levelName, levelAbove: true, fromZero: true}));
  };
  choice.follow(() => charts.replaceChildren(
    chart("Entropy", "nats", "entropy", run.even_entropy, "all alike"),
    chart("Saturation", "share of rows", "saturation")));
  return section("How sharply the heads look",
    "Entropy tells over how much a head spreads its weight, saturation the share of tokens that put more than 0.99 on a single one, where gradients vanish. The dashed curve is what the same queries and keys would give without the division by \u221ad. Grey: the other heads.",
    headSelect(choice), charts);
}

function costSections(run) {
  const bytes = (n) => (n >= 2 ** 20 ? `${(n / 2 ** 20).toFixed(1)} MiB` : `${(n / 1024).toFixed(1)} KiB`);
  const ms = (n) => `${n.toFixed(n < 1 ? 3 : 2)} ms`;
  const sum = (key) => run.profile.reduce((total, row) => total + (row[key] ?? 0), 0);
  const legend = make("p", {class: "legend"}, make("span", {}, make("i", {class: "c0"}), "forward"),
                      make("span", {}, make("i", {class: "c1"}), "backward"));
  const time = run.profile.map((row) => ({
    name: row.op, parts: [{kind: "c0", value: row.forward_ms}, {kind: "c1", value: row.backward_ms}],
  }));
  const memory = run.profile.map((row) => ({name: row.op, parts: [{kind: "c2", value: row.saved_bytes}]}));
  return make("div", {class: "pair"},
    section("Time by operation",
      `Of one step, mean of a few: ${ms(sum("forward_ms"))} forward, ${ms(sum("backward_ms"))} backward.`,
      legend, barChart("Time by operation", time, ms)),
    section("Tape memory by operation",
      `What operations keep for the backward when the tape is longest: ${bytes(sum("saved_bytes"))}. A tensor that two of them keep counts twice.`,
      barChart("Tape memory by operation", memory, bytes)));
}

function sampleSection(run) {
  const told = run.evaluations.filter((e) => e.sample);
  const count = Math.min(told.length, 7);
  const few = Array.from({length: count}, (_, k) => told[Math.round((k * (told.length - 1)) / Math.max(count - 1, 1))]);
  const list = make("div", {class: "samples"});
  for (const e of few) {
    list.append(make("div", {}, make("h3", {}, `step ${e.step}, loss ${isNumber(e.loss) ? e.loss.toFixed(3) : "\u2013"}`),
                     make("pre", {}, ...(run.prompt.trim() ? [make("b", {}, run.prompt)] : []), e.sample)));
  }
  return section("What the model writes", "After so many steps, from the same beginning, with the same random numbers.", list);
}

function settingsSection(settings) {
  const list = make("dl", {class: "settings"});
  for (const [name, value] of Object.entries(settings)) {
    list.append(make("div", {}, make("dt", {}, name.replaceAll("_", " ")), make("dd", {}, String(value))));
  }
  return section("Settings", null, list);
}

function attentionSection(data, maps, choice) {
  return section("Where the heads look",
    "Choose a head, then point at a token, tap it, or move with the arrow keys: the more ink on another, the more it looks there (by the square root of the weight). In the picture each row is a token that looks back, each column one that is looked at.",
    attentionView(data.attention.tokens, maps, choice, new Map(data.marks)));
}

function showPage(data) {
  const main = document.querySelector("main");
  const {run, attention} = data;
  const layers = attention?.layers ?? run?.layers ?? 0;
  const choice = new HeadChoice(layers, attention?.heads ?? run?.heads ?? 0);
  const maps = attention && headMaps(attention);
  if (maps) choice.choose(data.marks[0]?.[0] ?? sharpestHead(maps));
  main.replaceChildren(make("h1", {}, data.title));
  if (data.result) main.append(make("p", {class: "result"}, data.result));
  if (run) main.append(factList(run));
  if (run) main.append(lossSection(run));
  if (run?.evaluations.some((e) => e.sample)) main.append(sampleSection(run));
  if (maps) main.append(attentionSection(data, maps, choice));
  if (run?.measured.length > 0 && choice.count > 0) main.append(headSection(run, choice));
  if (run?.measured.length > 0) main.append(gradientSection(run));
  if (run) main.append(rateSection(run));
  if (run?.profile.length > 0) main.append(costSections(run));
  if (data.settings) main.append(settingsSection(data.settings));
}

showPage(JSON.parse(document.getElementById("data").textContent));
