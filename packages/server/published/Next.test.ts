import { execFile, spawn } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"
import { steadyPort } from "@reins/testing/process/Ports"
import { eventually } from "@reins/testing/process/Waiting"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { published } from "./Published.js"

/** A service whose session has another title at each request. */
const counting = async (): Promise<{ readonly server: Server; readonly url: string }> => {
  let asked = 0
  const server = createServer((_request, response) => {
    asked += 1
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ id: "s", title: `T${asked}` }))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const files = {
  "app/layout.jsx": "export default ({ children }) => <html><body>{children}</body></html>",
  "app/page.jsx": `import { Reins } from "@reins/client"
export const dynamic = "force-dynamic"
export const fetchCache = "default-cache"
export default async function Page() {
  const reins = new Reins({ baseUrl: process.env.REINS_URL, apiKey: "rk_none" })
  return <p>{(await reins.sessions.get({ session_id: "s" })).title}</p>
}`,
  // Nothing declares this page dynamic: Next.js finds that out while it builds, by the request of the client.
  "app/asked/page.jsx": `import { Reins } from "@reins/client"
export default async function Page() {
  const reins = new Reins({ baseUrl: process.env.REINS_URL, apiKey: "rk_none" })
  return <p>{(await reins.sessions.get({ session_id: "s" })).title}</p>
}`,
  "app/route/route.js": `import { Reins } from "@reins/client"
export const dynamic = "force-dynamic"
export async function GET() {
  const reins = new Reins({ baseUrl: process.env.REINS_URL, apiKey: "rk_none" })
  return Response.json(await reins.sessions.get({ session_id: "s" }))
}`
}

describe.each(["14", "15"] as const)("a project of Next %s", (release) => {
  const { directory, failed, output } = published().installed.next[release]
  const next = join(directory, "node_modules/.bin/next")
  let service: Awaited<ReturnType<typeof counting>>
  let env: NodeJS.ProcessEnv
  beforeAll(async () => {
    service = await counting()
    env = { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1", REINS_URL: service.url }
  })
  afterAll(() => {
    service.server.close()
    service.server.closeAllConnections()
  })

  it("asks the service for each page, and never a cache", async () => {
    assert.isFalse(failed, output)
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(directory, name, ".."), { recursive: true })
      writeFileSync(join(directory, name), `${text}\n`)
    }
    await promisify(execFile)(next, ["build"], { cwd: directory, env })
    const port = await steadyPort()
    const running = spawn(next, ["start", "-p", String(port), "-H", "127.0.0.1"], {
      cwd: directory,
      env,
      stdio: "ignore"
    })
    const ended = new Promise((resolve) => running.once("exit", resolve))
    try {
      const shown = async (path: string) => {
        const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined)
        return response?.ok === true && /T\d+/.exec(await response.text())?.[0]
      }
      for (const path of ["/", "/asked", "/route"]) {
        const first = await eventually(`${path} is shown`, () => shown(path))
        const second = await shown(path)
        assert.match(String(second), /^T\d+$/)
        assert.notStrictEqual(second, first, path)
      }
    } finally {
      running.kill("SIGTERM")
      await ended
    }
  })
})
