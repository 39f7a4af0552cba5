// "See it": one row through both norms, the result by the GPU.

import { $, element } from "./dom.js";
import { drawSteps, scales } from "./draw.js";
import { Fields } from "./fields.js";
import { number } from "./format.js";
import { DTYPES, round, ulp } from "./numbers.js";
import { remarks, squareMarks } from "./remarks.js";
import { steps } from "./steps.js";

/** How long steps wait for the GPU's result before they are shown without. */
const PATIENCE_MS = 100;
const MIN_NORMAL = 2 ** -126;

export class See {
  #package = null;
  #gpu = null;
  #fields = new Fields();
  #isValid = false;
  #computing = false;
  /** The row that goes through the GPU next. */
  #waiting = null;
  #firstResult;

  constructor() {
    /** Resolves with the first result of the GPU. */
    this.firstResult = new Promise((resolve) => (this.#firstResult = resolve));
    this.#fields.changed = () => this.#update();
    $("kernel").addEventListener("toggle", () => this.#showKernel());
    $("kernel").hidden = true;
    this.#update();
  }

  /** From now on `y` comes from the GPU. */
  use(library, gpu) {
    this.#package = library;
    this.#gpu = gpu;
    $("kernel").hidden = false;
    this.#update();
  }

  /** Judges at once what was typed; the GPU follows. */
  #update() {
    const asked = this.#fields.read();
    // Both, so that every field says what is wrong with it.
    const isGoodEps = this.#judgeEps(asked);
    this.#isValid = asked.isValid && isGoodEps;
    $("norms").classList.toggle("stale", !this.#isValid);
    if (!this.#isValid) {
      this.#waiting = null;
      this.#agree("The steps above are of the last row without errors.");
      return;
    }
    const eps = Math.fround(asked.eps);
    const row = { asked, rms: steps(asked.x, asked.weight, eps, false), layer: steps(asked.x, asked.weight, eps, true) };
    if (this.#gpu) {
      this.#waiting = row;
      this.#compute();
    } else {
      this.#draw(row, "by float64");
      this.#agree("So is y, without a GPU.");
    }
  }

  /** Rows go through the GPU one at a time; of those that wait, the last. */
  async #compute() {
    if (this.#computing) return;
    this.#computing = true;
    while (this.#waiting) {
      const row = this.#waiting;
      this.#waiting = null;
      await this.#answer(row);
    }
    this.#computing = false;
  }

  async #answer(row) {
    const { asked, rms, layer } = row;
    const answers = Promise.all([this.#run(asked, "torch"), this.#run(asked, "layer_norm")]);
    const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
    let [by, said] = ["by the GPU", ""];
    try {
      if (!(await Promise.race([answers, patience]))) this.#draw(row, "by float64, the GPU’s follows");
      const [byRms, byLayer] = await answers;
      said = agreement(asked, rms.y, byRms, layer.y, byLayer);
      row = { asked, rms: { ...rms, y: byRms }, layer: { ...layer, y: byLayer } };
      this.#firstResult();
    } catch (error) {
      [by, said] = ["by float64", error.message];
    }
    // What was typed since may be refused: then that is what is said.
    if (!this.#isValid) return;
    this.#draw(row, by);
    this.#agree(said);
    this.#showKernel();
  }

  /** Lets the library judge eps; without a GPU, by its rule. */
  #judgeEps({ eps, x }) {
    let said = "";
    try {
      if (this.#gpu) this.#gpu.norm({ hidden: x.length, eps }).free();
      else if (!(Math.fround(eps) >= 0 && Number.isFinite(Math.fround(eps)))) {
        said = `eps: expected a finite number of at least 0, got ${eps}; models use 1e-6 or 1e-5`;
      }
    } catch (error) {
      said = error.message;
    }
    this.#fields.blameEps(said);
    return said === "";
  }

  async #run({ dtype, eps, x, weight }, preset) {
    const { to_bits, from_bits } = this.#package;
    const stored = (values) => (dtype === "f32" ? Float32Array.from(values) : to_bits(dtype, values));
    const norm = this.#gpu.norm({ hidden: x.length, eps, preset, dtype });
    try {
      const operands = { input: stored(x), weight: stored(weight) };
      if (preset === "layer_norm") operands.bias = stored(x.map(() => 0));
      const { output } = await norm.run(operands);
      return Array.from(dtype === "f32" ? output : from_bits(dtype, output));
    } finally {
      norm.free();
    }
  }

  #draw({ asked, rms, layer }, by) {
    const scale = scales([rms, layer]);
    const difference = rms.y.map((value, i) => value - layer.y[i]);
    const marks = (norm) => ({ squares: squareMarks(norm.squares, asked.dtype) });
    const panel = (name) => document.querySelector(`.norm.${name}`);
    drawSteps(panel("rms"), rms, scale, marks(rms));
    drawSteps(panel("layer"), layer, scale, marks(layer));
    drawSteps(panel("difference"), { difference }, { difference: Math.max(...difference.map(Math.abs).filter(Number.isFinite), 0) });
    for (const place of document.querySelectorAll("[data-by]")) place.textContent = by;
    const said = remarks(asked, rms, layer);
    // Written only where it changes: it is announced.
    if ($("remarks").textContent !== said.join("")) $("remarks").replaceChildren(...said.map((text) => element("li", {}, text)));
  }

  #agree(text) {
    if ($("agreement").textContent !== text) $("agreement").textContent = text;
  }

  #showKernel() {
    if (!this.#gpu || !this.#isValid || !$("kernel").open) return;
    const asked = this.#fields.read();
    const norm = this.#gpu.norm({ hidden: asked.x.length, eps: asked.eps, dtype: asked.dtype });
    $("kernel-plan").textContent = norm.explain(1);
    $("kernel-text").textContent = norm.shader(1);
    norm.free();
  }
}

/** How far the GPU is from float64, in words. */
function agreement({ dtype, weight }, rms, byRms, layer, byLayer) {
  const worst = (truth, got, sizes) => {
    const errors = truth.map((value, i) => distance(value, got[i], sizes[i], dtype)).filter((error) => error !== null);
    return errors.length === 0 ? null : Math.max(...errors);
  };
  // An error of the mean is one of the weight's size in the result.
  const [ofRms, ofLayer] = [worst(rms, byRms, rms), worst(layer, byLayer, layer.map((y, i) => Math.max(Math.abs(y), Math.abs(weight[i]))))];
  const said = (value) => (value === null ? "results below the normal range, which drivers flush" : `${number(value, 2)} ULP`);
  return `y comes from the GPU. It differs from float64 by at most ${said(ofRms)} of ${dtype} (LayerNorm: ${said(ofLayer)}).`;
}

/** In ULP at the magnitude of `size`; `null` below the normal range, where drivers flush to zero. */
function distance(truth, got, size, dtype) {
  if (!Number.isFinite(got) || !Number.isFinite(round(truth, dtype))) return Object.is(round(truth, dtype), got) ? 0 : Infinity;
  if (truth !== 0 && Math.abs(truth) < MIN_NORMAL && DTYPES[dtype].least === -126) return null;
  return Math.abs(truth - got) / ulp(size, dtype);
}
