// Makes an installation by a server that starts and stops: `node making.mjs <main> <data directory>`.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"

const [main, dataDir] = process.argv.slice(2)
const server = spawn(process.execPath, [main, "serve", "--port", "0", "--data-dir", dataDir], {
  stdio: ["ignore", "pipe", "inherit"]
})
const ended = once(server, "exit")
createInterface({ input: server.stdout }).once("line", () => server.kill("SIGTERM"))
const [code] = await ended
process.exitCode = code ?? 1
