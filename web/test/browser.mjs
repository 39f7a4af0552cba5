// A browser with WebGPU, and a server for files: what the tests of this folder stand on.

import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

/** The folder of a path that is written relative to this folder. */
export const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Serves folders, each at its own path, on a free port of this machine. Resolves to `{ url, close }`. */
export function serve(folders, port = 0) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    const mount = Object.keys(folders).sort((a, b) => b.length - a.length).find((mount) => path.startsWith(mount));
    let file = mount && join(folders[mount], path.slice(mount.length));
    if (file && existsSync(file) && statSync(file).isDirectory()) {
      file = join(file, "index.html");
    }
    if (!file || !existsSync(file)) {
      response.writeHead(404, { "content-type": "text/plain" }).end("there is no such file");
      return;
    }
    // What is measured shall be what was built last.
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream", "cache-control": "no-store" });
    createReadStream(file).pipe(response);
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      resolve({ url: `http://localhost:${server.address().port}`, close: () => server.close() });
    });
  });
}

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
