// "This GPU": what the browser says of it, and what the library makes of that.

import { $, element, reductionName } from "./dom.js";
import { bytes, grouped } from "./format.js";

/** Shows the facts of an open GPU, with `times` of the page in milliseconds by name. */
export function showFacts(gpu, times) {
  const { adapter, limits } = gpu;
  const unnamed = "not said by the browser";
  const facts = [
    ["Adapter", adapter.description || adapter.name || unnamed],
    ["Vendor and architecture", [adapter.vendor, adapter.architecture].filter(Boolean).join(", ") || unnamed],
    ["Optional features in use", gpu.features.join(", ") || "none; none is needed"],
    ["Reduction", reductionName(gpu) + (gpu.reduction_note ? `; ${gpu.reduction_note}` : "")],
    ["Largest binding", bytes(limits.max_binding)],
    ["Largest buffer", bytes(limits.max_buffer)],
    ["Invocations a workgroup", grouped(limits.max_invocations)],
    ["Workgroup memory", bytes(limits.workgroup_memory)],
    ...Object.entries(times).map(([name, ms]) => [name, `${grouped(ms)} ms`]),
  ];
  $("gpu-none").hidden = true;
  $("facts").replaceChildren(...facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}
