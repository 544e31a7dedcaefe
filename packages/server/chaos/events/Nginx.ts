import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { steadyPort } from "@reins/testing/process/Ports"
import { eventually } from "@reins/testing/process/Waiting"
import { deployed } from "../deploy/Deploy.js"

export interface Nginx {
  readonly url: string
  /** The same server behind `deploy/nginx-reins.conf`. */
  readonly deployedUrl: string
  readonly stop: () => Promise<void>
}

/**
 * The nginx of the system with the configuration that Debian ships, in front of a server: what is added is one `proxy_pass`, below `/deaf/`
 * another that does not listen to what the server says of buffering, and at `deployedUrl` what `deploy/` gives to operators.
 */
export const startNginx = async (upstream: string): Promise<Nginx> => {
  const prefix = mkdtempSync(join(tmpdir(), "reins-nginx-"))
  const port = await steadyPort()
  const deployedPort = await steadyPort()
  const file = join(prefix, "nginx.conf")
  const site = `server {
  listen 127.0.0.1:${port};
  location / { proxy_pass ${upstream}; }
  location /deaf/ { proxy_ignore_headers X-Accel-Buffering; proxy_pass ${upstream}/; }
}
upstream reins { server ${new URL(upstream).host}; keepalive 32; }
server {
  listen 127.0.0.1:${deployedPort};
  include ${deployed("nginx-reins.conf")};
}
`
  writeFileSync(join(prefix, "site.conf"), site)
  writeFileSync(file, stockAt(prefix))
  const child = spawn("/usr/sbin/nginx", ["-c", file, "-g", "daemon off;"], {
    stdio: ["ignore", "ignore", "pipe"]
  })
  let errors = ""
  child.stderr.on("data", (chunk) => {
    errors += String(chunk)
  })
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  await eventually("nginx answers", () => {
    if (child.exitCode !== null) throw new Error(`nginx ended:\n${errors}`)
    return answers(port)
  })
  return {
    url: `http://127.0.0.1:${port}`,
    deployedUrl: `http://127.0.0.1:${deployedPort}`,
    stop: async () => {
      child.kill("SIGTERM")
      await ended
      rmSync(prefix, { recursive: true, force: true })
    }
  }
}

/** The shipped configuration with its files at another place, and one site instead of those of this machine. */
const stockAt = (prefix: string): string => {
  const moves: ReadonlyArray<readonly [RegExp, string]> = [
    [/^pid .*;$/m, `pid ${prefix}/nginx.pid;`],
    [/^error_log .*;$/m, `error_log ${prefix}/error.log;`],
    [/^\s*access_log .*;$/m, `access_log ${prefix}/access.log;`],
    [/^\s*include \/etc\/nginx\/conf\.d\/\*\.conf;$/m, ""],
    [/^\s*include \/etc\/nginx\/sites-enabled\/\*;$/m, `include ${prefix}/site.conf;`]
  ]
  let text = readFileSync("/etc/nginx/nginx.conf", "utf8")
  for (const [from, to] of moves) {
    if (!from.test(text)) throw new Error(`nginx.conf has no ${from}`)
    text = text.replace(from, to)
  }
  return text
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy()
      resolve(true)
    })
    socket.once("error", () => resolve(false))
  })
