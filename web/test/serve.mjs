// Serves a folder on this machine: node serve.mjs FOLDER PORT

import { resolve } from "node:path";
import { serve } from "./server.mjs";

const [folder, port] = process.argv.slice(2);
try {
  const { url } = await serve({ "/": resolve(folder) }, Number(port));
  console.log(`serving ${folder} at ${url}/ (stop with Ctrl+C)`);
} catch (error) {
  console.error(`port ${port}: ${error.code === "EADDRINUSE" ? "another program has it; pass a free one" : error.message}`);
  process.exitCode = 1;
}
