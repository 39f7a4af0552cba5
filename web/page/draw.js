// Steps of a norm as bars with their numbers.

import { element } from "./dom.js";
import { number } from "./format.js";

/** Narrower than this, numbers are shorter. */
const NARROW = "(max-width: 30rem)";

/** Which steps are a number for each channel, and whether such numbers may be negative. */
const ROWS = { x: true, deviations: true, squares: false, quotient: true, y: true, difference: true };

/** The scale that both norms share for each step: the largest magnitude in either. */
export function scales(norms) {
  const largest = (values) => Math.max(...values.map(Math.abs).filter(Number.isFinite), 0);
  const over = (pick) => largest(norms.flatMap(pick));
  const x = over((norm) => [...norm.x, ...norm.deviations, norm.root, norm.mean]);
  const mean = over((norm) => norm.plusEps);
  return {
    x,
    mean: x,
    deviations: x,
    root: x,
    squares: over((norm) => norm.squares),
    meanSquare: mean,
    plusEps: mean,
    quotient: over((norm) => norm.quotient),
    y: over((norm) => [...norm.y, ...norm.quotient]),
  };
}

/** Draws the steps of `norm` that `panel` has a place for. `marks` says by step and channel what is to be marked, in words. */
export function drawSteps(panel, norm, scale, marks = {}) {
  for (const item of panel.querySelectorAll("[data-step]")) {
    const { step } = item.dataset;
    if (!(step in norm)) continue;
    item.querySelector(".plot")?.remove();
    const signed = ROWS[step];
    item.append(
      signed === undefined
        ? scalar(norm[step], scale[step], step === "plusEps" ? norm.meanSquare : null, step === "mean")
        : row(item, norm[step], scale[step], signed, marks[step] ?? [], step === "y" ? norm.quotient : []),
    );
  }
}

/** A number for each channel; `outlines` are drawn around the bars, to compare. */
function row(item, values, scale, signed, marks, outlines) {
  const digits = (matchMedia(NARROW).matches ? 3 : 4) - (values.length > 6 ? 1 : 0);
  const cells = values.map((value, i) =>
    element(
      "li",
      { class: marks[i] ? "marked" : null },
      element("span", { class: "area", "aria-hidden": "true" }, bar(value, scale), i in outlines ? bar(outlines[i], scale, "outline") : null),
      element("span", { class: "value" }, breakable(number(value, digits))),
      marks[i] ? element("span", { class: "mark" }, marks[i]) : null,
    ),
  );
  const top = scale > 0 ? element("span", { class: "top" }, `${signed ? "±" : ""}${number(scale, 3)}`) : null;
  return element(
    "div",
    { class: signed ? "plot signed" : "plot" },
    element("div", { class: "axis", "aria-hidden": "true" }, top, element("span", { class: "zero" }, "0")),
    element("ol", { class: "cells", "aria-label": item.querySelector("p").textContent.trim() }, cells),
  );
}

/** With a place to break before the power of ten. */
function breakable(text) {
  const [digits, power] = text.split("e");
  return power === undefined ? [text] : [digits, element("wbr"), `e${power}`];
}

/** One number: a bar from the left, or from the middle; the part beyond `before` in another colour. */
function scalar(value, scale, before, signed) {
  const track = element("span", { class: signed ? "track signed" : "track", "aria-hidden": "true" }, bar(before ?? value, scale));
  if (before !== null) {
    track.append(bar(value - before, scale, "added"));
  }
  return element("div", { class: "plot single" }, track, element("span", { class: "value" }, number(value, 6)));
}

function bar(value, scale, kind = "") {
  const node = element("span", { class: `bar ${value < 0 ? "down" : ""} ${kind}` });
  const size = Number.isFinite(value) ? Math.min(Math.abs(value) / scale, 1) : 1;
  if (value === 0 || scale === 0 || Number.isNaN(value)) node.hidden = true;
  else node.style.setProperty("--size", size);
  return node;
}
