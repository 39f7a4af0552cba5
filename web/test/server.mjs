// A server for files on this machine.

import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

/** The path that a request names; `null` where it is none. */
function pathOf(url) {
  try {
    return normalize(decodeURIComponent(new URL(url, "http://localhost").pathname));
  } catch {
    return null;
  }
}

/** Serves folders, each at its own path, on a free port of this machine. Resolves to `{ url, close }`. */
export function serve(folders, port = 0) {
  const server = createServer((request, response) => {
    const path = pathOf(request.url);
    const mount = path && Object.keys(folders).sort((a, b) => b.length - a.length).find((mount) => path.startsWith(mount));
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
