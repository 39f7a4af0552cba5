// The package beside onnxruntime-web in one browser, in one run, f32: RMSNorm and LayerNorm of both, and a copy. Every result of
// either is compared with float64 before it is timed.
//
//   scripts/wasm && npm ci --prefix web/test && npm ci --prefix web/bench
//   node web/bench/beside.mjs [--shapes 1x4096,32x4096] [--json=FILE]
//
// Needs an otherwise idle machine. Prints a table, of milliseconds.

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { bare_page, here, launch, serve } from "../test/browser.mjs";
import { model } from "./onnx.mjs";

const { values: options } = parseArgs({
  options: { shapes: { type: "string", default: "1x4096,32x4096,513x1000" }, json: { type: "string" } },
});
const shapes = options.shapes.split(",").map((shape) => shape.split("x").map(Number));
if (!shapes.every((shape) => shape.length === 2 && shape.every((size) => Number.isInteger(size) && size > 0))) {
  throw new Error(`--shapes: expected ROWSxCHANNELS, separated by commas, got ${options.shapes}`);
}
const EPS = 1e-5;
/** Of onnxruntime-web: what each norm is called. The first is an operation of its own, as models are exported for it. */
const THEIRS = ["SimplifiedLayerNormalization", "RMSNormalization", "LayerNormalization"];
const OURS = ["torch", "layer_norm"];

const server = await serve({
  "/package/": here("../package/"),
  "/test/": here("./"),
  "/bench/": here("../bench/"),
  "/ort/": here("../bench/node_modules/onnxruntime-web/dist/"),
});
const browser = await launch();
const lines = [];
try {
  const page = await bare_page(browser, server.url);
  for (const [rows, hidden] of shapes) {
    const times = (done) => lines.push(...done.map((line) => ({ rows, hidden, dtype: "f32", ...line })));
    console.error(`${rows}x${hidden}: this package`);
    times(await page.evaluate((of) => import("/bench/page.js").then(({ ours }) => ours(of)), { rows, hidden, eps: EPS, presets: OURS }));
    for (const operation of THEIRS) {
      console.error(`${rows}x${hidden}: onnxruntime-web ${operation}`);
      const bytes = [...model(operation, rows, hidden, EPS)];
      times(await page.evaluate((of) => import("/bench/page.js").then(({ theirs }) => theirs(of)), { rows, hidden, eps: EPS, operation, bytes }));
    }
  }
} finally {
  await browser.close();
  server.close();
}

console.log(`Chromium ${browser.version()}, f32; ms an operation: many, then one that is waited for`);
console.log("| shape | by | operation | many | one | largest error |\n| --- | --- | --- | ---: | ---: | ---: |");
for (const { rows, hidden, by, operation, many_ms, one_ms, error } of lines) {
  const figures = [many_ms, one_ms].map((ms) => (ms === null ? "-" : ms.toPrecision(3)));
  console.log(`| ${rows} x ${hidden} | ${by} | ${operation} | ${figures.join(" | ")} | ${error === null ? "-" : error.toExponential(1)} |`);
}
if (options.json) writeFileSync(options.json, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
