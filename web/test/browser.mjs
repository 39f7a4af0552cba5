// A browser with WebGPU: what the tests of this folder stand on.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export { serve } from "./server.mjs";

/** The folder of a path that is written relative to this folder. */
export const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Starts Chromium with its software WebGPU; with `webgpu: false`, without any. */
export function launch({ webgpu = true } = {}) {
  const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
  if (!executablePath) {
    throw new Error("no Chromium: expected one at /usr/bin/chromium, or where CHROMIUM says; apt-get install chromium");
  }
  const gpu = webgpu ? ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"] : ["--disable-features=WebGPU"];
  const args = ["--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  return chromium.launch({ executablePath, headless: true, args: [...args, "--no-first-run", ...gpu] });
}

/** A page with nothing in it but the package, as `window.package_`. */
export async function bare_page(browser, url) {
  const page = await browser.newPage();
  page.on("console", (message) => message.type() === "error" && console.error(`browser: ${message.text()}`));
  page.on("pageerror", (error) => console.error(`browser: ${error}`));
  await page.goto(`${url}/test/bare.html`);
  await page.evaluate(async () => {
    window.package_ = await import("/package/index.js");
  });
  return page;
}
