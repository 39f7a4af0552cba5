// What beside.mjs runs in the browser.

import { Gpu } from "/package/index.js";
import { Lab } from "/package/lab.js";

/** Seconds for each figure. */
const SECONDS = 1;
/** A result further from float64 than this is no result to be timed. Values are of size 1, f32 has 24 bits. */
const LARGEST_ERROR = 1e-4;

let opened;
/** One device for every shape: opening one is no part of what is timed. */
function open() {
  opened ??= Promise.all([Gpu.open(), Lab.open()]);
  return opened;
}

export async function ours({ rows, hidden, eps, presets }) {
  const [gpu, lab] = await open();
  const [x, weight] = inputs(rows, hidden);
  const lines = [];
  let copy = null;
  for (const preset of presets) {
    const isLayer = preset === "layer_norm";
    const spec = { hidden, eps, preset };
    const norm = gpu.norm(spec);
    const { output } = await norm.run({ input: x, weight, ...(isLayer && { bias: new Float32Array(hidden) }) });
    norm.free();
    const error = checked(output, x, weight, hidden, eps, isLayer);
    const { latency_us, norm_us, copy_us } = await lab.time(spec, rows, { seconds: 2 * SECONDS });
    const operation = isLayer ? "LayerNorm" : "RMSNorm";
    lines.push({ by: "wgpu-rmsnorm", operation, many_ms: norm_us / 1e3, one_ms: latency_us / 1e3, error });
    copy = { by: "wgpu-rmsnorm", operation: "copy", many_ms: copy_us / 1e3, one_ms: null, error: null };
  }
  return [...lines, copy];
}

export async function theirs({ rows, hidden, eps, operation, bytes }) {
  const ort = await import("/ort/ort.webgpu.bundle.min.mjs");
  ort.env.wasm.wasmPaths = "/ort/";
  ort.env.wasm.numThreads = 1;
  const session = await ort.InferenceSession.create(Uint8Array.from(bytes), {
    executionProviders: ["webgpu"],
    preferredOutputLocation: "gpu-buffer",
    logSeverityLevel: 3,
  });
  const device = await ort.env.webgpu.device;
  const [x, weight] = inputs(rows, hidden);
  const onGpu = (values, dims) => {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const buffer = device.createBuffer({ size: values.byteLength, usage, mappedAtCreation: true });
    new Float32Array(buffer.getMappedRange()).set(values);
    buffer.unmap();
    return ort.Tensor.fromGpuBuffer(buffer, { dataType: "float32", dims });
  };
  const isLayer = operation === "LayerNormalization";
  const feeds = { x: onGpu(x, [rows, hidden]), weight: onGpu(weight, [hidden]) };
  if (isLayer) feeds.bias = onGpu(new Float32Array(hidden), [hidden]);
  const y = await (await session.run(feeds)).y.getData(true);
  const error = checked(y, x, weight, hidden, eps, isLayer);
  const run = async (times) => {
    for (let i = 0; i < times; i++) (await session.run(feeds)).y.dispose();
    await device.queue.onSubmittedWorkDone();
  };
  const one_ms = await median(() => run(1));
  const times = Math.min(64, Math.max(1, Math.floor(50 / one_ms)));
  const many_ms = (await median(() => run(times))) / times;
  for (const { gpuBuffer } of Object.values(feeds)) gpuBuffer.destroy();
  await session.release();
  return [{ by: "onnxruntime-web", operation, many_ms, one_ms, error }];
}

/** Milliseconds of what `run` does: the median of as many as fit. */
async function median(run) {
  for (let i = 0; i < 3; i++) await run();
  const taken = [];
  const start = performance.now();
  while (taken.length < 5 || performance.now() - start < SECONDS * 1e3) {
    const before = performance.now();
    await run();
    taken.push(performance.now() - before);
  }
  return taken.sort((a, b) => a - b)[taken.length >> 1];
}

/** Ordinary values: about normal for x, about 1 for the weight. */
function inputs(rows, hidden) {
  let state = rows * 1000003 + hidden;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const normal = () => (next() + next() + next() + next() - 2) * Math.sqrt(3);
  return [Float32Array.from({ length: rows * hidden }, normal), Float32Array.from({ length: hidden }, () => 1 + 0.2 * normal())];
}

/** The largest distance from float64, which must be small. */
function checked(y, x, weight, hidden, eps, isLayer) {
  let worst = 0;
  for (let row = 0; row < x.length; row += hidden) {
    const values = x.subarray(row, row + hidden);
    const mean = isLayer ? values.reduce((sum, value) => sum + value, 0) / hidden : 0;
    const square = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / hidden;
    const scale = 1 / Math.sqrt(square + eps);
    values.forEach((value, i) => (worst = Math.max(worst, Math.abs(y[row + i] - (value - mean) * scale * weight[i]))));
  }
  if (!(worst <= LARGEST_ERROR)) throw new Error(`a result is ${worst} from float64: expected at most ${LARGEST_ERROR}`);
  return worst;
}
