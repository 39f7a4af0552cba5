// What is typed in "See it": a row, its weights, eps and the dtype.

import { $, element } from "./dom.js";
import { indexed } from "./format.js";
import { DTYPES, round } from "./numbers.js";

const MOST = 8;
/** Sliders of x have this many stops to either side. */
const STOPS = 200;
/** A slider of eps goes by tenths of a power of ten; its first stop is 0. */
const EPS_STOPS = 10;

const ORDINARY = [0.8, -1.3, 0.4, 1.9, -0.6, -1.1, 0.2, 1.4];
const times = (factor) => ORDINARY.map((value) => Number((value * factor).toPrecision(3)));
const PRESETS = {
  Ordinary: () => ({ x: ORDINARY, eps: "1e-6" }),
  "One outlier": () => ({ x: [0.5, -0.4, 40, 0.3, -0.6, 0.2, 0.7, -0.1], eps: "1e-6" }),
  "Far from zero": () => ({ x: [10.2, 9.4, 11.1, 9.9, 10.6, 8.8, 10.3, 9.7], eps: "1e-6" }),
  Zeros: () => ({ x: Array(MOST).fill(0), eps: "1e-6" }),
  // In f16 these are subnormal.
  Tiny: (dtype) => ({ x: times(dtype === "f16" ? 2e-6 : 1e-30), eps: "1e-6" }),
  "Tiny, eps 0": (dtype) => ({ x: times(dtype === "f16" ? 2e-6 : 1e-30), eps: "0" }),
  // Their squares are beyond the range of what they are stored in.
  Huge: (dtype) => ({ x: times(dtype === "f16" ? 300 : 1e30), eps: "1e-6" }),
};

export class Fields {
  /** Called after every change. */
  changed = () => {};
  #span = 4;
  #preset = "Ordinary";
  #rows = [];

  constructor() {
    for (const name of Object.keys(PRESETS)) {
      const take = () => this.#take(name);
      $("presets").append(element("button", { type: "button", "aria-pressed": "false", click: take }, name));
    }
    const weights = [1, 0.8, 1.2, 1, 0.5, 1.5, 1, 0.9];
    this.#rows = ORDINARY.map((x, i) => this.#row(i, x, weights[i]));
    $("editor").addEventListener("submit", (event) => event.preventDefault());
    $("channels-count").addEventListener("change", () => this.#show());
    $("eps").addEventListener("input", () => this.#epsTyped());
    $("eps-slider").addEventListener("input", () => this.#epsSlid());
    $("ones").addEventListener("click", () => {
      for (const { weight } of this.#rows) weight.value = "1";
      this.changed();
    });
    for (const radio of document.getElementsByName("dtype")) {
      // A preset that was not changed since is another one in another dtype.
      radio.addEventListener("change", () => (this.#preset ? this.#take(this.#preset) : this.changed()));
    }
    this.#take("Ordinary");
  }

  get dtype() {
    return document.querySelector("[name=dtype]:checked").value;
  }

  /** What is typed, in numbers, as stored, and whether all of it is numbers. Problems stand beside their fields. */
  read() {
    const { dtype } = this;
    const used = this.#rows.slice(0, this.#count);
    const problems = used.map(({ x, weight, problem }, i) => {
      const said = problemOf(indexed("x", i + 1), x, dtype) ?? problemOf(indexed("w", i + 1), weight, dtype);
      // Written only where it changes: it is announced.
      if (problem.textContent !== (said ?? "")) problem.textContent = said ?? "";
      return said;
    });
    // The library judges eps itself.
    const eps = $("eps").value.trim() === "" ? NaN : Number($("eps").value);
    const stored = (field) => used.map((row) => round(Number(row[field].value), dtype));
    return { isValid: problems.every((said) => said === null), dtype, eps, x: stored("x"), weight: stored("weight") };
  }

  /** Says what is wrong with eps; nothing where it is empty. */
  blameEps(text) {
    $("eps").setAttribute("aria-invalid", text !== "");
    if ($("eps-error").textContent !== text) $("eps-error").textContent = text;
  }

  get #count() {
    return Number($("channels-count").value);
  }

  #take(name) {
    const { x, eps } = PRESETS[name](this.dtype);
    x.forEach((value, i) => (this.#rows[i].x.value = String(value)));
    this.#setSpan();
    $("eps").value = eps;
    this.#epsTyped(name);
    this.#show();
  }

  #show() {
    $("channels").replaceChildren(...this.#rows.slice(0, this.#count).map(({ line }) => line));
    this.changed();
  }

  #row(index, value, weightValue) {
    const channel = `channel ${index + 1}`;
    const id = `problem-${index + 1}`;
    const text = (label, value) =>
      element("input", { inputmode: "decimal", spellcheck: "false", "aria-label": label, "aria-describedby": id, value });
    const x = text(`x, ${channel}`, value);
    const weight = text(`weight, ${channel}`, weightValue);
    const slider = element("input", { type: "range", min: -STOPS, max: STOPS, "aria-label": `x, ${channel}, slider` });
    const problem = element("p", { class: "error", id, role: "alert" });
    const row = { x, weight, slider, problem };
    x.addEventListener("input", () => {
      this.#edited();
      this.#place(row);
      this.changed();
    });
    x.addEventListener("change", () => this.#setSpan());
    weight.addEventListener("input", () => this.changed());
    slider.addEventListener("input", () => {
      this.#edited();
      x.value = String(Number(((slider.value / STOPS) * this.#span).toPrecision(3)));
      this.#place(row);
      this.changed();
    });
    row.line = element(
      "tr",
      {},
      element("th", { scope: "row" }, String(index + 1)),
      element("td", {}, x),
      element("td", { class: "slide" }, slider, problem),
      element("td", {}, weight),
    );
    return row;
  }

  /** What is shown is no preset any more. */
  #edited(preset = null) {
    this.#preset = preset;
    for (const button of $("presets").children) button.setAttribute("aria-pressed", String(button.textContent === preset));
  }

  /** Sliders reach from the largest number's size to its negative: 1, 2 or 5 times a power of ten; 4 for ordinary numbers. */
  #setSpan() {
    const largest = Math.max(...this.#rows.map(({ x }) => Math.abs(Number(x.value))).filter(Number.isFinite));
    if (largest === 0 || (largest >= 0.1 && largest <= 4)) {
      this.#span = 4;
    } else {
      const power = 10 ** Math.floor(Math.log10(largest));
      this.#span = [1, 2, 5, 10].find((digit) => digit * power >= largest) * power;
    }
    for (const row of this.#rows) this.#place(row);
  }

  #place({ x, slider }) {
    const value = Number(x.value);
    slider.value = Number.isFinite(value) ? Math.round((value / this.#span) * STOPS) : 0;
    slider.setAttribute("aria-valuetext", x.value);
  }

  #epsTyped(preset = null) {
    const slider = $("eps-slider");
    const value = Number($("eps").value);
    slider.value = value > 0 ? Math.max(Math.log10(value) * EPS_STOPS, Number(slider.min) + 1) : slider.min;
    this.#epsChanged(preset);
  }

  #epsSlid() {
    const slider = $("eps-slider");
    $("eps").value = slider.value === slider.min ? "0" : Number((10 ** (slider.value / EPS_STOPS)).toPrecision(2)).toExponential();
    this.#epsChanged(null);
  }

  #epsChanged(preset) {
    $("eps-slider").setAttribute("aria-valuetext", $("eps").value);
    this.#edited(preset);
    this.changed();
  }
}

/** What is wrong with a number in a field, in the words of the library's errors; the field is marked. */
function problemOf(name, field, dtype) {
  const typed = field.value.trim();
  const value = typed === "" ? NaN : Number(typed);
  let said = null;
  if (!Number.isFinite(value)) {
    said = `${name}: expected a finite number, got ${typed === "" ? "nothing" : typed}; type one, such as 0.5 or 1e-30`;
  } else if (!Number.isFinite(round(value, dtype))) {
    said = `${name}: expected at most ${DTYPES[dtype].largest} in ${dtype}, got ${typed}; choose a smaller number or another dtype`;
  }
  field.setAttribute("aria-invalid", String(said !== null));
  return said;
}
