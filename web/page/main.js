// Opens the GPU and hands it to the sections.

import { Check } from "./check.js";
import { $, deviceName, reductionName } from "./dom.js";
import { showFacts } from "./facts.js";
import { Measure } from "./measure.js";
import { See } from "./see.js";

const see = new See();
const measure = new Measure();
const check = new Check();

try {
  if (!navigator.gpu) throw new Error(isSecureContext ? "This browser does not offer WebGPU." : "Browsers offer WebGPU to secure pages only, and this page came by plain http.");
  const library = await import("./package/index.js");
  const start = performance.now();
  const gpu = await library.Gpu.open();
  const times = { "Opened and self-tested in": performance.now() - start };
  $("device").textContent = `${deviceName(gpu)}, reduction ${reductionName(gpu)}`;
  $("device").classList.add("open");
  showFacts(gpu, times);
  see.use(library, gpu);
  measure.open(gpu);
  check.open(gpu);
  await see.firstResult;
  performance.mark("first-result");
  showFacts(gpu, { ...times, "First result after the page was asked for": performance.now() });
} catch (error) {
  $("device").textContent = "No GPU: see below.";
  $("device").classList.add("none");
  $("no-gpu-reason").textContent = error.message;
  $("no-gpu").hidden = false;
  $("gpu-none").textContent = "None is open, for the reason above.";
  measure.close("Measuring needs a GPU: see the message at the top of the page.");
  check.close("Checking needs a GPU: see the message at the top of the page.");
}
