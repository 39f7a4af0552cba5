// Grouped horizontal bars in SVG, with an axis.

import { element, svg } from "./dom.js";
import { number } from "./format.js";

const BAR = 14;
const GAP = 3;
const BETWEEN = 16;
const AXIS = 40;
/** Room for a bar's text behind the longest bar. */
const TEXT = 96;

/** A figure: `groups` of bars, each with a series (its class), a label, a value and the text of that; a line at `reference`. */
export function barChart({ name, unit, groups, reference, width }) {
  const narrow = width < 480;
  const left = narrow ? 0 : 120;
  const header = narrow ? 20 : 0;
  const right = left + Math.max(width - left - TEXT - 60, 40);
  const ticks = ticksTo(Math.max(...groups.flatMap(({ bars }) => bars.map(({ value }) => value)), reference?.value ?? 0));
  const end = ticks.at(-1);
  const at = (value) => left + (value / end) * (right - left);
  const marks = [];
  let y = reference ? 18 : 0;
  for (const { label, bars } of groups) {
    const height = bars.length * (BAR + GAP) - GAP;
    marks.push(
      narrow
        ? svg("text", { x: 0, y: y + 13, class: "group" }, label)
        : svg("text", { x: left - 12, y: y + height / 2, class: "group", "text-anchor": "end", "dominant-baseline": "central" }, label),
    );
    y += header;
    for (const { series, label: of, value, text } of bars) {
      marks.push(svg("rect", { x: left, y, width: Math.max(at(value) - left, 1), height: BAR, class: `series ${series}` }));
      const said = [svg("tspan", { class: "amount" }, text), ` ${of}`];
      marks.push(svg("text", { x: at(value) + 6, y: y + BAR / 2, "dominant-baseline": "central" }, said));
      y += BAR + GAP;
    }
    y += BETWEEN;
  }
  const bottom = y - BETWEEN / 2;
  const top = reference ? 14 : 0;
  const axis = ticks.flatMap((tick) => [
    svg("line", { x1: at(tick), x2: at(tick), y1: top, y2: bottom, class: tick === 0 ? "base" : "grid" }),
    svg("text", { x: at(tick), y: bottom + 14, "text-anchor": tick === 0 ? "start" : "middle", class: "tick" }, number(tick)),
  ]);
  if (reference) {
    const x = at(reference.value);
    axis.push(svg("line", { x1: x, x2: x, y1: 14, y2: bottom, class: "reference" }));
    axis.push(svg("text", { x, y: 8, "text-anchor": "middle", class: "tick" }, reference.label));
  }
  const title = svg("text", { x: left, y: bottom + 32, class: "tick" }, unit);
  const height = bottom + AXIS;
  const spoken = groups.map(({ label, bars }) => `${label}: ${bars.map(({ label: of, text }) => `${of} ${text}`).join(", ")}`);
  const drawing = svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${name}. ${spoken.join("; ")}.` },
    axis,
    title,
    marks,
  );
  return element("figure", { class: "chart" }, element("figcaption", {}, name), drawing);
}

/** 0 and a few round numbers, the last of them not below `largest`. */
function ticksTo(largest) {
  if (!(largest > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(largest));
  const step = [0.2, 0.5, 1, 2].map((digit) => digit * power).find((size) => largest / size <= 5) ?? 2 * power;
  return Array.from({ length: Math.ceil(largest / step - 1e-9) + 1 }, (_, i) => i * step);
}
