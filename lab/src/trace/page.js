"use strict";
// Reads the columns, lays out rows, and draws what is visible. Times are in units of the columns.

const header = JSON.parse(document.getElementById("header").textContent);
const columns = (id) => {
  const text = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Uint32Array(bytes.buffer);
};
const slices = columns("slices"), flows = columns("flows"), numbers = columns("counters");

const COLOURS = ["#0063a8", "#d55e00", "#009e73", "#e0b64a", "#aab0b6", "#c3c8cc", "#99a4ad",
  "#cc79a7", "#8a6d3b", "#d00000", "#56b4e9", "#7a8188"];
const FLOWS = ["#d55e00", "#7a5cc7", "#009e73", "#d00000"];
const ROW = 16, COUNTER = 34, LEFT = 170, TOP = 22, GAP = 8;

// Rows: where each lies on the page, and which slices it has.
const rows = [], trackY = [], counters = [];
let y = TOP, next = 0;
for (const track of header.tracks) {
  trackY.push(y);
  for (const count of track.rows.length ? track.rows : [0]) {
    rows.push({ y, first: next, end: next + count, track });
    next += count;
    y += ROW;
  }
  y += GAP;
}
let value = 0;
for (const { name, values } of header.counters) {
  let most = 1;
  for (let i = value; i < value + values; i++) most = Math.max(most, numbers[2 * i + 1]);
  counters.push({ name, y, first: value, end: value + values, most });
  value += values;
  y += COUNTER + GAP;
}
const height = y;

const main = document.querySelector("main"), canvas = document.querySelector("canvas");
const context = canvas.getContext("2d"), output = document.querySelector("output");
const search = document.querySelector("input[type=search]");
const is = (id) => document.getElementById(id).checked;
let from = 0, to = header.length || 1, scroll = 0, selected = -1, found = new Set(), width = 0;

const begin = (i) => slices[3 * i], end = (i) => slices[3 * i + 1];
const name = (i) => header.names[slices[3 * i + 2] >>> 4], colour = (i) => COLOURS[slices[3 * i + 2] & 15];
const x = (time) => LEFT + (time - from) / (to - from) * (width - LEFT);
const time = (x) => from + (x - LEFT) / (width - LEFT) * (to - from);

// The first index in [low, high) for which the condition, false and then true, is true.
function bisect(low, high, condition) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (condition(middle)) high = middle; else low = middle + 1;
  }
  return low;
}

function duration(units) {
  const nanos = units * header.unit;
  const [divisor, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([d]) => nanos >= d) || [1, "ns"];
  return (nanos / divisor).toPrecision(4) + " " + unit;
}

function drawRow(row, ink) {
  const top = row.y - scroll;
  if (top < -ROW || top > main.clientHeight) return;
  const pixel = (to - from) / (width - LEFT);
  let i = bisect(row.first, row.end, (i) => end(i) >= from);
  while (i < row.end && begin(i) <= to) {
    const left = Math.max(x(begin(i)), LEFT), wide = Math.max(x(end(i)) - left, 1);
    context.fillStyle = colour(i);
    context.globalAlpha = found.size && !found.has(slices[3 * i + 2] >>> 4) ? 0.2 : 1;
    context.fillRect(left, top, wide, ROW - 2);
    context.globalAlpha = 1;
    if (i === selected) context.strokeRect(left, top, wide, ROW - 2);
    if (wide > 40) {
      context.fillStyle = "#fff";
      context.fillText(name(i), left + 3, top + ROW / 2, wide - 6);
    }
    // Slices that end in the same pixel are not seen.
    const drawn = end(i);
    i++;
    if (wide <= 1) i = bisect(i, row.end, (i) => end(i) >= drawn + pixel / 2);
  }
  context.fillStyle = ink;
}

function drawCounter(counter, ink) {
  const base = counter.y + COUNTER - scroll, at = (i) => numbers[2 * i];
  const level = (i) => base - numbers[2 * i + 1] / counter.most * (COUNTER - 12);
  let i = Math.max(bisect(counter.first, counter.end, (i) => at(i) >= from) - 1, counter.first);
  context.strokeStyle = COLOURS[0];
  context.beginPath();
  context.moveTo(Math.max(x(at(i)), LEFT), level(i));
  for (; i < counter.end && at(i) <= to; i++) {
    const edge = Math.max(x(at(i)), LEFT);
    const after = i > counter.first ? level(i - 1) : level(i);
    context.lineTo(edge, after);
    context.lineTo(edge, level(i));
    // Of the values in one pixel, the last one counts.
    const step = at(i) + (to - from) / (width - LEFT) / 2;
    i = bisect(i + 1, counter.end, (j) => at(j) > step) - 1;
    context.lineTo(edge, level(i));
  }
  context.lineTo(Math.min(x(header.length), width), level(Math.max(i - 1, counter.first)));
  context.stroke();
  context.fillStyle = ink;
  context.fillText(`${counter.name} (0–${counter.most})`, 4, base - COUNTER / 2);
}

function drawArrows() {
  const total = flows.length / 5;
  const first = bisect(0, total, (i) => flows[5 * i + 4] >= from);
  const last = bisect(first, total, (i) => flows[5 * i + 4] > to);
  if (last - first > 2000) return ` · zoom in to see ${last - first} arrows`;
  for (let i = first; i < last; i++) {
    const [kind, track, at, toTrack, toAt] = flows.subarray(5 * i, 5 * i + 5);
    const x0 = Math.max(x(at), LEFT), y0 = trackY[track] - scroll + ROW / 2;
    const x1 = x(toAt), y1 = trackY[toTrack] - scroll + ROW / 2, bend = Math.max((x1 - x0) / 2, 10);
    context.strokeStyle = context.fillStyle = FLOWS[kind];
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 6, y1 - 3);
    context.lineTo(x1 - 6, y1 + 3);
    context.fill();
  }
  return "";
}

function draw() {
  const style = getComputedStyle(document.body), ratio = devicePixelRatio;
  const ink = style.getPropertyValue("--text"), grid = style.getPropertyValue("--grid");
  width = main.clientWidth;
  scroll = Math.max(0, Math.min(scroll, height - main.clientHeight));
  canvas.width = width * ratio;
  canvas.height = main.clientHeight * ratio;
  canvas.style.width = width + "px";
  context.scale(ratio, ratio);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  // A line at each multiple of 1, 2 or 5 powers of ten nanoseconds.
  const span = (to - from) * header.unit, power = 10 ** Math.floor(Math.log10(span / 5));
  const step = [1, 2, 5, 10].map((n) => n * power).find((it) => span / it <= 8) / header.unit;
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    context.fillStyle = grid;
    context.fillRect(x(at), 0, 1, main.clientHeight);
    context.fillStyle = ink;
    context.fillText(at ? duration(at) : "0", x(at) + 3, 8);
  }
  context.strokeStyle = context.fillStyle = ink;
  rows.forEach((row) => drawRow(row, ink));
  header.tracks.forEach((track, i) => context.fillText(track.name, 4, trackY[i] - scroll + ROW / 2, LEFT - 10));
  counters.forEach((counter) => drawCounter(counter, ink));
  if (is("path")) {
    context.fillStyle = style.getPropertyValue("--path");
    for (const [track, first, last] of header.path) {
      if (last >= from && first <= to) {
        const left = Math.max(x(first), LEFT);
        context.fillRect(left, trackY[track] - scroll - 4, Math.max(Math.min(x(last), width) - left, 1), 3);
      }
    }
  }
  const hidden = is("arrows") ? drawArrows() : "";
  const text = selected < 0 ? `${next} slices, ${duration(header.length)}` :
    `${name(selected)}: ${duration(end(selected) - begin(selected))}, from ${duration(begin(selected))}`;
  output.textContent = text + hidden;
}

let isPending = false;
function redraw() {
  if (!isPending) requestAnimationFrame(() => { isPending = false; draw(); });
  isPending = true;
}

function show(first, last) {
  const least = Math.max((last - first), 20 / header.unit, 1e-6);
  from = Math.max(0, Math.min(first, header.length - least));
  to = Math.min(header.length, Math.max(from + least, 1));
  redraw();
}

function zoom(factor, at) {
  show(at - (at - from) * factor, at + (to - at) * factor);
}

function sliceAt(event) {
  const row = rows.find((row) => event.offsetY + scroll >= row.y && event.offsetY + scroll < row.y + ROW);
  if (!row) return -1;
  const at = time(event.offsetX), pixel = (to - from) / (width - LEFT);
  const i = bisect(row.first, row.end, (i) => end(i) >= at - pixel);
  return i < row.end && begin(i) <= at + pixel ? i : -1;
}

// Selects the next slice with a name that was found, after the present one, and shows it.
function findNext() {
  if (!found.size) return;
  for (let n = 1; n <= next; n++) {
    const i = (selected + n) % next;
    if (found.has(slices[3 * i + 2] >>> 4)) {
      selected = i;
      const margin = Math.max((end(i) - begin(i)) * 2, (to - from) / 20);
      scroll = rows.find((row) => i < row.end).y - main.clientHeight / 2;
      return show(begin(i) - margin, end(i) + margin);
    }
  }
}

search.addEventListener("input", () => {
  const text = search.value.toLowerCase();
  found = new Set(header.names.flatMap((it, i) => text && it.toLowerCase().includes(text) ? [i] : []));
  redraw();
});
search.addEventListener("keydown", (event) => event.key === "Enter" && findNext());
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (event.shiftKey) scroll += event.deltaY || event.deltaX;
  else zoom(1.2 ** Math.sign(event.deltaY), time(event.offsetX));
  redraw();
}, { passive: false });
canvas.addEventListener("pointermove", (event) => {
  if (event.buttons !== 1) return;
  const moved = -event.movementX / (width - LEFT) * (to - from);
  scroll -= event.movementY;
  if (from + moved >= 0 && to + moved <= header.length) show(from + moved, to + moved);
  redraw();
});
canvas.addEventListener("click", (event) => { selected = sliceAt(event); redraw(); });
canvas.addEventListener("dblclick", (event) => {
  const i = sliceAt(event);
  if (i >= 0) show(begin(i), end(i));
});
main.addEventListener("keydown", ({ key }) => {
  const step = (to - from) / 5, middle = (from + to) / 2;
  if (key === "+") zoom(1 / 1.5, middle);
  if (key === "-") zoom(1.5, middle);
  if (key === "ArrowLeft") show(from - Math.min(step, from), to - Math.min(step, from));
  if (key === "ArrowRight") show(from + Math.min(step, header.length - to), to + Math.min(step, header.length - to));
});
document.querySelector("[data-action=all]").addEventListener("click", () => show(0, header.length));
document.querySelectorAll("[type=checkbox]").forEach((box) => box.addEventListener("change", redraw));
addEventListener("resize", redraw);
document.querySelector("h1").textContent = header.title;
draw();
// For tests: the page is drawn.
document.body.dataset.drawn = Math.round(performance.now());
