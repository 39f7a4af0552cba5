// The package's interface in a browser: results, every kind of error, what may happen at the same time, what is freed.
//
//   node package.mjs [TEXT]      only checks whose name contains TEXT

import { bare_page, here, launch, serve } from "./browser.mjs";

const [only = ""] = process.argv.slice(2);

/** Runs in the page, once it has a Gpu. */
const CHECKS = {
  "the adapter is described"() {
    const { adapter, features, limits, reduction, reduction_note } = gpu;
    equal(Object.keys(adapter), ["name", "vendor", "architecture", "description"]);
    equal(adapter.vendor, "google");
    equal(reduction, "workgroup memory");
    equal(reduction_note.includes("wgpu cannot request them"), true);
    equal([...features], ["timestamp-query"]);
    equal(Object.values(limits).every((limit) => limit > 0), true);
  },

  async "rows are normalised as in float64"() {
    for (const [rows, hidden] of [[1, 4], [3, 1], [7, 257], [64, 512], [2, 4100]]) {
      const [input, weight] = [numbers(rows * hidden, 1), numbers(hidden, 2)];
      const { output, ...rest } = await gpu.norm({ hidden, eps: 1e-6 }).run({ input, weight });
      equal(output.constructor, Float32Array);
      equal(Object.keys(rest), []);
      close(output, rms_norm(input, weight, hidden, 1e-6), 2 ** -21);
    }
  },

  async "every dtype, and the rules of every preset"() {
    for (const preset of ["torch", "llama", "gemma", "t5", "onnx", "layer_norm"]) {
      for (const dtype of ["f32", "f16", "bf16"]) {
        const spec = { hidden: 64, eps: 1e-5, preset, dtype };
        const tensor = (seed, length) => (dtype === "f32" ? numbers(length, seed) : to_bits(dtype, numbers(length, seed)));
        const [input, weight, bias] = [tensor(1, 320), tensor(2, 64), tensor(3, 64)];
        const { output } = await gpu.norm(spec).run({ input, weight, ...(preset === "layer_norm" && { bias }) });
        const [x, w, b] = [input, weight, bias].map((array) => Float64Array.from(dtype === "f32" ? array : from_bits(dtype, array)));
        const truth =
          preset === "layer_norm" ? layer_norm(x, w, b, 64, 1e-5) : rms_norm(x, preset === "gemma" ? w.map((w) => 1 + w) : w, 64, 1e-5);
        const step = { f32: 2 ** -21, f16: 2 ** -9, bf16: 2 ** -6 }[dtype];
        // The bias may cancel what is left of a row without its mean.
        close(dtype === "f32" ? output : from_bits(dtype, output), truth, step, preset === "layer_norm" ? 1 : undefined);
      }
    }
  },

  async "residuals, gates, groups, parts and scales"() {
    const [hidden, rows] = [8, 3];
    const [input, residual, gate, weight] = [numbers(24, 1), numbers(24, 2), numbers(24, 3), numbers(8, 4)];
    const add = await gpu.norm({ hidden, eps: 0, add_residual: "f32" }).run({ input, residual, weight });
    const sum = input.map((x, i) => x + residual[i]);
    equal([...add.residual_out], [...sum]);
    close(add.output, rms_norm(sum, weight, hidden, 0), 2 ** -21);
    const then = await gpu.norm({ hidden, eps: 0, then_add_residual: "f32" }).run({ input, residual, weight });
    close(then.output, rms_norm(input, weight, hidden, 0).map((y, i) => y + residual[i]), 2 ** -20);
    const sigmoid = gate.map((z) => 1 / (1 + Math.exp(-z)));
    const gated = await gpu.norm({ hidden, eps: 0, gate_output: "f32", activation: "sigmoid" }).run({ input, gate, weight });
    close(gated.output, rms_norm(input, weight, hidden, 0).map((y, i) => y * sigmoid[i]), 2 ** -19);
    const first = await gpu.norm({ hidden, eps: 0, gate_input: "f32" }).run({ input, gate, weight });
    close(first.output, rms_norm(input.map((x, i) => x * gate[i] * sigmoid[i]), weight, hidden, 0), 2 ** -18);
    const groups = await gpu.norm({ hidden, eps: 0, groups: 2, weight: null, rstd: true }).run({ input });
    close(groups.output, rms_norm(input, [1, 1, 1, 1], 4, 0), 2 ** -21);
    equal(groups.rstd.length, 2 * rows);
    const part = await gpu.norm({ hidden, eps: 0, statistics_length: 2, weight: null }).run({ input: input.slice(0, 8) });
    const root = Math.sqrt((input[0] ** 2 + input[1] ** 2) / 2);
    close(part.output, Array.from(input.slice(0, 8), (x) => x / root), 2 ** -21);
  },

  async "rows of zeros, tiny and huge rows, and no rows at all"() {
    const norm = gpu.norm({ hidden: 2, eps: 0, weight: null });
    equal([...(await norm.run({ input: new Float32Array(2) })).output], [0, 0]);
    close((await norm.run({ input: new Float32Array([3e-30, 4e-30]) })).output, [0.6 * Math.SQRT2, 0.8 * Math.SQRT2], 2 ** -21);
    close((await norm.run({ input: new Float32Array([3e38, 0]) })).output, [Math.SQRT2, 0], 2 ** -21);
    equal((await norm.run({ input: new Float32Array(0) })).output.length, 0);
  },

  "bits are rounded to nearest, ties to even"() {
    equal([...to_bits("bf16", [1, 1.00390625, 1.01171875, 1e39, -0])], [0x3f80, 0x3f80, 0x3f82, 0x7f80, 0x8000]);
    equal([...to_bits("f16", new Float64Array([1, 65519.99, 65520, 2 ** -24, 2 ** -25]))], [0x3c00, 0x7bff, 0x7c00, 1, 0]);
    equal([...from_bits("f16", new Uint16Array([0x3c00, 1, 0xfc00]))], [1, 2 ** -24, -Infinity]);
    const all = Uint16Array.from({ length: 65536 }, (_, bits) => bits);
    for (const [dtype, infinity] of [["f16", 0x7c00], ["bf16", 0x7f80]]) {
      const back = to_bits(dtype, from_bits(dtype, all));
      equal(all.every((bits) => back[bits] === bits || (bits & 0x7fff) > infinity), true);
    }
  },

  async "what is wrong with a spec is said by field"() {
    const spec = (fields) => () => gpu.norm({ hidden: 4, eps: 1e-6, ...fields });
    await fails(spec({ hidden: 0 }), "Spec", "invalid norm: hidden: expected at least 1, got 0; pass the length of the last dimension");
    await fails(spec({ hidden: -1 }), "Spec", "hidden: expected a whole number, got -1");
    await fails(spec({ hidden: 1.5 }), "Spec", "hidden: expected a whole number, got 1.5");
    await fails(spec({ hidden: "4" }), "Spec", 'hidden: expected a whole number, got "4"');
    await fails(spec({ hidden: undefined }), "Spec", "hidden: expected at least 1, got nothing");
    await fails(spec({ eps: undefined }), "Spec", "eps: expected a number, got nothing; models use 1e-5 or 1e-6");
    await fails(spec({ eps: NaN }), "Spec", "eps: ");
    await fails(spec({ eps: -1 }), "Spec", "eps: ");
    await fails(spec({ eps: 1e-60 }), "Spec", "eps: expected 0, or a number that f32 holds");
    await fails(spec({ preset: "lama" }), "Spec", 'preset: expected torch, llama, gemma, t5, onnx, layer_norm, got "lama"');
    await fails(spec({ dtype: "f64" }), "Spec", 'dtype: expected "f32", "f16", "bf16", got "f64"');
    await fails(spec({ weight: 4 }), "Spec", "weight: expected");
    await fails(spec({ heads: 4 }), "Spec", "heads: expected a field of spec: hidden, eps, preset");
    await fails(spec({ groups: 3 }), "Spec", "groups: ");
    await fails(spec({ rstd: 1 }), "Spec", "rstd: expected true or false, got 1");
    await fails(spec({ activation: "relu" }), "Spec", 'activation: expected silu or sigmoid, got "relu"');
    await fails(spec({ add_residual: "f32", then_add_residual: "f32" }), "Spec", "then_add_residual: expected one of the two");
    await fails(() => gpu.norm(4), "Spec", "spec: expected an object of hidden, eps");
    await fails(() => gpu.norm(null), "Spec", "got null");
  },

  async "what is wrong with operands is said by name"() {
    const norm = gpu.norm({ hidden: 4, eps: 1e-6 });
    const [input, weight] = [numbers(8, 1), numbers(4, 2)];
    const run = (inputs) => () => norm.run(inputs);
    await fails(run({ weight }), "Shape", "input: expected rows, got nothing");
    await fails(run({ input }), "Shape", "weight: expected 4 elements, for the norm reads weight, got none");
    await fails(run({ input: input.slice(1), weight }), "Shape", "input: ");
    await fails(run({ input, weight: numbers(3, 2) }), "Shape", "weight: expected hidden = 4 elements, got 3 elements");
    await fails(run({ input, weight, bias: weight }), "Shape", "bias: expected none, for the norm reads no bias, got one");
    await fails(run({ input, weight, weights: weight }), "Shape", "weights: expected a field of inputs: input, weight, bias");
    await fails(run({ input: [1, 2, 3, 4], weight }), "DType", "input: expected f32 elements in a Float32Array, got an Array");
    await fails(run({ input: new Uint16Array(4), weight }), "DType", "input: expected f32 elements in a Float32Array, got a Uint16Array");
    await fails(run({ input: new Float64Array(4), weight }), "DType", "got a Float64Array");
    await fails(run(undefined), "Shape", "inputs: expected an object of input, weight");
    const half = gpu.norm({ hidden: 4, eps: 1e-6, dtype: "bf16" });
    await fails(() => half.run({ input, weight }), "DType", "input: expected bits of bf16 elements in a Uint16Array, got a Float32Array");
  },

  async "what is wrong with other arguments is said too"() {
    await fails(() => Gpu.open({ selftest: true }), "Argument", "selftest: expected wasm or self_test");
    await fails(() => new Gpu(), "Argument", "Gpu.open");
    await fails(() => lab.time({ hidden: 4, eps: 0 }, 0), "Shape", "rows: expected at least 1, got 0");
    await fails(() => lab.time({ hidden: 4, eps: 0 }, 1, { seconds: -1 }), "Argument", "seconds: expected a number above 0, got -1");
    await fails(() => to_bits("f32", [1]), "Argument", 'dtype: expected "f16" or "bf16", got "f32"');
    await fails(() => to_bits("f64", [1]), "Spec", "dtype: ");
    await fails(() => to_bits("f16", 1), "Argument", "values: expected numbers, got 1");
    await fails(() => from_bits("f16", new Float32Array(1)), "DType", "bits: expected bits of f16 elements in a Uint16Array");
    await fails(() => gpu.norm({ hidden: 4, eps: 0 }).explain(-1), "Spec", "rows: expected a whole number, got -1");
  },

  async "a norm beyond the device's limits is refused, and the next one runs"() {
    const { max_buffer } = gpu.limits;
    const timed = lab.time({ hidden: 1024, eps: 0 }, Math.ceil(max_buffer / 1024));
    await fails(() => timed, /Limit|OutOfMemory/, "");
    equal((await gpu.norm({ hidden: 1, eps: 0, weight: null }).run({ input: new Float32Array([5]) })).output[0], 1);
  },

  async "runs at the same time do not disturb each other"() {
    const norms = [3, 8, 33, 64, 100].map((hidden) => [hidden, gpu.norm({ hidden, eps: 1e-6 })]);
    const alone = [];
    const inputs = norms.map(([hidden], i) => ({ input: numbers(5 * hidden, i), weight: numbers(hidden, i + 9) }));
    for (const [i, [, norm]] of norms.entries()) {
      alone.push([...(await norm.run(inputs[i])).output]);
    }
    const runs = Array.from({ length: 25 }, (_, i) => norms[i % 5][1].run(inputs[i % 5]));
    const wrong = norms[0][1].run({ input: numbers(4, 1), weight: numbers(3, 1) }).catch((error) => error.kind);
    equal((await Promise.all(runs)).map(({ output }) => [...output]), Array.from({ length: 25 }, (_, i) => alone[i % 5]));
    equal(await wrong, "Shape");
  },

  async "operands are copied when run is called"() {
    const input = new Float32Array([3, 4]);
    const running = gpu.norm({ hidden: 2, eps: 0, weight: null }).run({ input });
    input.fill(7);
    close((await running).output, [0.6 * Math.SQRT2, 0.8 * Math.SQRT2], 2 ** -21);
  },

  async "arrays may be views, and views of shared memory"() {
    const all = new Float32Array([9, 9, 3, 4, 9]);
    const norm = gpu.norm({ hidden: 2, eps: 0, weight: null });
    const expected = [...(await norm.run({ input: new Float32Array([3, 4]) })).output];
    equal([...(await norm.run({ input: all.subarray(2, 4) })).output], expected);
    // A page has shared memory where its server isolates it; WebAssembly gives it in any.
    const { buffer } = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
    const shared = new Float32Array(buffer, 8, 2);
    shared.set([3, 4]);
    equal([...(await norm.run({ input: shared })).output], expected);
  },

  "a plan explains itself, and shows its kernel"() {
    const norm = gpu.norm({ hidden: 4096, eps: 1e-6, dtype: "bf16" });
    equal(norm.explain(7).includes("4096"), true);
    equal(norm.shader(7).includes("@compute"), true);
  },

  async "cases are listed and run"() {
    const lab = await Lab.open();
    const [quick, full] = [lab.cases(), lab.cases("full")];
    equal(quick.length > 300 && full.length > 2 * quick.length, true);
    equal(full.every(({ index }, i) => index === i), true);
    equal(quick.every(({ tier }) => tier === "quick"), true);
    const report = await lab.run_case(quick[0]);
    equal([report.kind, report.name, report.status], [quick[0].kind, quick[0].name, "passed"]);
    equal(report.elements > 0 && report.worst_ulp <= 4, true);
    const [kernel] = lab.kernels(quick[0]);
    equal(kernel.wgsl.includes("@compute") && kernel.label.includes("rms_norm"), true);
    await fails(() => lab.cases("slow"), "Argument", 'tier: expected "quick" or "full", got "slow"');
    await fails(() => lab.run_case({ index: 1e9 }), "Argument", "case: expected one of `cases`");
    await fails(() => lab.kernels({ number: 1 }), "Argument", "number: expected a field of case: index");
    await fails(() => new Lab(), "Argument", "Lab.open");
    lab.free();
    lab.free();
    await fails(() => lab.run_case(quick[0]), "Freed", "this Lab was freed; open another");
  },

  async "a norm and its copy are timed"() {
    const timed = await lab.time({ hidden: 256, eps: 1e-6, dtype: "f16" }, 64, { seconds: 0.3 });
    equal(timed.bytes, 2 * 2 * 64 * 256 + 2 * 256);
    equal(timed.parameters, 256);
    equal([timed.latency_us, timed.norm_us, timed.copy_us].every((time) => time > 0 && time < 1e7), true);
    equal(["timestamps", "wall clock"].includes(timed.clock), true);
    equal(timed.rung.length > 0 && timed.copy.includes("workgroups of"), true);
  },

  async "a time is not believed of what did not do its work"() {
    const { dispatchWorkgroups: dispatch, setPipeline: set } = GPUComputePassEncoder.prototype;
    let label;
    GPUComputePassEncoder.prototype.setPipeline = function (pipeline) {
      label = pipeline.label;
      return set.call(this, pipeline);
    };
    try {
      for (const [is_broken, message] of [
        [() => label !== "copy", "wrong result: output: expected every element written, got"],
        [() => label === "copy", "wrong result: copy: expected every element written, got"],
      ]) {
        GPUComputePassEncoder.prototype.dispatchWorkgroups = function (...grid) {
          return dispatch.apply(this, is_broken() ? [1, 1, 1] : grid);
        };
        await fails(() => lab.time({ hidden: 256, eps: 1e-6 }, 512, { seconds: 0.1 }), "Result", message);
      }
    } finally {
      Object.assign(GPUComputePassEncoder.prototype, { dispatchWorkgroups: dispatch, setPipeline: set });
    }
    equal((await lab.time({ hidden: 256, eps: 1e-6 }, 512, { seconds: 0.1 })).norm_us > 0, true);
  },

  async "what is freed says so"() {
    const norm = gpu.norm({ hidden: 2, eps: 0, weight: null });
    const running = norm.run({ input: new Float32Array([3, 4]) });
    norm.free();
    norm.free();
    equal((await running).output.length, 2);
    await fails(() => norm.run({ input: new Float32Array(2) }), "Freed", "this Norm was freed; make another");
    const other = await Gpu.open({ self_test: false });
    const orphan = other.norm({ hidden: 2, eps: 0, weight: null });
    other.free();
    other.free();
    await fails(() => other.norm({ hidden: 2, eps: 0 }), "Freed", "this Gpu was freed; open another");
    await fails(() => orphan.run({ input: new Float32Array(2) }), "DeviceLost", "open a new device");
    equal((await gpu.norm({ hidden: 1, eps: 0, weight: null }).run({ input: new Float32Array([2]) })).output[0], 1);
  },
};

/** What the checks say things with: defined in the page. */
function tools() {
  const text = (value) => JSON.stringify(value, (_, v) => (v === undefined ? "undefined" : typeof v === "function" ? v.name : v));
  globalThis.equal = (got, expected) => {
    if (text(got) !== text(expected)) {
      throw new Error(`expected ${text(expected)}, got ${text(got)}`);
    }
  };
  /** Within so much of the right value, relative to it, but to no less than a part of the largest. */
  globalThis.close = (got, right, tolerance, part = 1 / 1000) => {
    equal(got.length, right.length);
    const least = Math.max(...Array.from(right, Math.abs)) * part;
    const wrong = Array.from(got).findIndex((y, i) => !(Math.abs(y - right[i]) <= tolerance * Math.max(Math.abs(right[i]), least)));
    if (wrong >= 0) {
      throw new Error(`element ${wrong}: expected ${right[wrong]} within ${tolerance} of it, got ${got[wrong]}`);
    }
  };
  globalThis.fails = async (run, kind, message) => {
    const error = await Promise.resolve().then(run).then(() => undefined, (error) => error);
    const is_kind = kind instanceof RegExp ? kind.test(error?.kind) : error?.kind === kind;
    if (!(error instanceof NormError) || !is_kind || !error.message.includes(message)) {
      throw new Error(`expected an error of kind ${kind} with ${text(message)}, got ${error?.name} ${error?.kind}: ${error?.message}`);
    }
  };
  globalThis.numbers = (length, seed) => Float32Array.from({ length }, (_, i) => Math.sin(1.7 * i + 0.9 * seed + 0.3) * 2);
  const rows_of = (x, hidden, row) => {
    const all = [];
    for (let start = 0; start < x.length; start += hidden) {
      all.push(...row(Array.from(x.slice(start, start + hidden))));
    }
    return all;
  };
  const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;
  globalThis.rms_norm = (x, w, hidden, eps) =>
    rows_of(x, hidden, (row) => row.map((v, i) => (v / Math.sqrt(mean(row.map((v) => v * v)) + eps)) * w[i]));
  globalThis.layer_norm = (x, w, b, hidden, eps) =>
    rows_of(x, hidden, (row) => {
      const middle = mean(row);
      const root = Math.sqrt(mean(row.map((v) => (v - middle) ** 2)) + eps);
      return row.map((v, i) => ((v - middle) / root) * w[i] + b[i]);
    });
}

async function without_webgpu(url) {
  const browser = await launch({ webgpu: false });
  try {
    const page = await bare_page(browser, url);
    const found = await page.evaluate(async () => {
      // Chromium has the interface in any case; a browser without WebGPU does not.
      Object.defineProperty(navigator, "gpu", { value: undefined });
      const error = await window.package_.Gpu.open().catch((error) => error);
      const before = window.package_.to_bits("f16", [1])[0];
      return { name: error.name, kind: error.kind, message: error.message, before };
    });
    if (found.kind !== "NoAdapter" || !found.message.includes("use a browser with WebGPU") || found.before !== 0x3c00) {
      throw new Error(`expected a NormError of kind NoAdapter, got ${JSON.stringify(found)}`);
    }
  } finally {
    await browser.close();
  }
}

/** A page of its own, for the compiled library has ended then. */
async function after_a_panic(browser, url) {
  const page = await browser.newPage();
  await page.goto(`${url}/test/bare.html`);
  const found = await page.evaluate(async () => {
    const { Gpu } = await import("/package/index.js");
    const gpu = await Gpu.open({ self_test: false });
    const norm = gpu.norm({ hidden: 4, eps: 0, weight: null });
    const input = new Float32Array(4);
    const running = [norm.run({ input }), norm.run({ input })];
    GPUDevice.prototype.createBuffer = () => {
      throw new RangeError("for the test");
    };
    running.push(norm.run({ input }));
    const ended = await Promise.allSettled([...running, norm.run({ input })]);
    const later = await norm.run({ input }).catch((error) => error);
    return [...ended.map(({ reason }) => reason), later].map((error) => `${error?.name} ${error?.kind}: ${error?.message}`);
  });
  await page.close();
  const wrong = found.find((text) => !/^NormError Panic: the compiled library has ended: .*; reload the page to go on$/s.test(text));
  if (wrong !== undefined) {
    throw new Error(`expected errors of kind Panic, got ${wrong}`);
  }
}

async function before_loading(page) {
  const found = await page.evaluate(async () => {
    const convert = (() => {
      try {
        return window.package_.to_bits("f16", [1]);
      } catch (error) {
        return error.kind;
      }
    })();
    const elsewhere = await window.package_.Gpu.open({ wasm: "/package/nothing.wasm" }).catch((error) => [error.kind, error.message]);
    return [convert, ...elsewhere];
  });
  if (found[0] !== "Load" || found[1] !== "Load" || !found[2].includes("say where it lies with { wasm }")) {
    throw new Error(`expected two errors of kind Load, got ${JSON.stringify(found)}`);
  }
}

const server = await serve({ "/package/": here("../package/"), "/test/": here("./") });
const browser = await launch();
let failures = 0;
async function check(name, run) {
  if (!name.includes(only)) {
    return;
  }
  try {
    await run();
    console.log(`${name} ... ok`);
  } catch (error) {
    failures += 1;
    console.log(`${name} ... FAILED\n    ${error.message.split("\n    at ")[0]}`);
  }
}
try {
  const page = await bare_page(browser, server.url);
  await check("before the library is loaded", () => before_loading(page));
  await page.evaluate(async () => {
    Object.assign(window, window.package_, await import("/package/lab.js"));
    window.gpu = await window.Gpu.open();
    window.lab = await window.Lab.open();
  });
  await page.evaluate(tools);
  for (const [name, run] of Object.entries(CHECKS)) {
    const body = run.toString().replace(/^(async )?"[^"]*"/, "$1function ");
    await check(name, () => page.evaluate(`(${body})()`));
  }
  await check("a panic rejects what runs, and what is asked for later", () => after_a_panic(browser, server.url));
  await check("a browser without WebGPU", () => without_webgpu(server.url));
} finally {
  await browser.close();
  server.close();
}
console.log(failures === 0 ? "all passed" : `${failures} FAILED`);
process.exitCode = failures === 0 ? 0 : 1;
