// Installations of Reins for the measurements, each in a directory of its own, and the bare server beside them.
import { spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdirSync, mkdtempSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { request } from "./load.mjs"
import { directory, startProcess } from "./processes.mjs"

const here = dirname(fileURLToPath(import.meta.url))
export const root = join(here, "..")

/** The built server. Another build can be measured instead. */
export const main = process.env.REINS_BENCH_MAIN ?? join(root, "packages/server/dist/main.js")

const { Reins } = await import(pathToFileURL(join(root, "packages/client/dist/index.js")))

/** An installation with an account, a key and a connection. It does not run yet. */
export const install = async (name, env = {}) => {
  const dataDir = join(directory, name)
  mkdirSync(dataDir, { recursive: true })
  // Only the figures about the sandbox are measured in it, so that the others are the same on every machine.
  const settings = { REINS_RATE_LIMIT: "off", REINS_EXECUTOR: "local", REINS_PREWARM: "off", ...env }
  const password = randomUUID()
  const cli = (...args) => {
    const run = spawnSync(process.execPath, [main, ...args, "--data-dir", dataDir], {
      encoding: "utf8",
      env: { ...process.env, ...settings, REINS_PASSWORD: password }
    })
    if (run.status !== 0) throw new Error(run.stderr)
    return run.stdout.trim()
  }
  // Nothing but a server makes an installation.
  const first = await startProcess([main, "serve", "--port", "0", "--data-dir", dataDir], settings)
  await first.stop()
  const email = "bench@localhost.test"
  cli("accounts", "create", "--email", email)
  const apiKey = /rk_\w+/.exec(cli("keys", "create", "--email", email, "--name", "bench"))[0]
  const headers = { Authorization: `Bearer ${apiKey}` }

  /** Starts a server, and gives the means to call it: the client, and requests for the load generator. */
  const start = async (changes = {}, launcher = [], disk = dataDir) => {
    const words = [main, "serve", "--port", changes.REINS_PORT ?? "0", "--data-dir", disk]
    const server = await startProcess(words, { ...settings, ...changes }, launcher)
    const reins = new Reins({ baseUrl: server.url, apiKey })
    const {
      workspaces: [workspace]
    } = await reins.accounts.getMe()
    const side = (status, next) => ({ url: server.url, pid: server.pid, status, next })
    const mutation = (path, body) => () => request("POST", path, { ...headers, "Idempotency-Key": randomUUID() }, body)
    return {
      ...server,
      reins,
      workspaceId: workspace.id,
      headers,
      get: (path) => side(200, () => request("GET", path, headers)),
      createSession: () => side(201, mutation(`/api/workspaces/${workspace.id}/sessions`, '{"title":"bench"}')),
      /** An upload to a session. One for another content than is there is refused when all of it has arrived. */
      upload: (sessionId, { refused = false } = {}) => {
        const expected = refused ? { expected_digest: `sha256:${"0".repeat(64)}` } : {}
        const file = { path: "uploaded.txt", content: randomUUID(), encoding: "utf-8", ...expected }
        return side(refused ? 409 : 200, mutation(`/api/sessions/${sessionId}/file-uploads`, JSON.stringify(file)))
      },
      /** Notes to these sessions in turn. */
      sendNote: (...sessionIds) => {
        const notes = sessionIds.map((id) =>
          mutation(`/api/sessions/${id}/messages`, '{"content":"a note","routing":"note"}')
        )
        let sent = 0
        return side(202, () => notes[sent++ % notes.length]())
      },
      /** A session that can be sent notes. */
      newSession: (input = {}) => reins.sessions.create({ workspace_id: workspace.id, title: "bench", ...input })
    }
  }

  return { dataDir, email, password, start }
}

/** Alpha needs a connection. Nothing calls the gateway of this one, unless another is given. */
export const connect = async (server, baseUrl = "http://127.0.0.1:9/v1", apiKey = "none") => {
  const { id } = await server.reins.connections.create({
    workspace_id: server.workspaceId,
    kind: "alpha_gateway",
    label: "bench",
    credential: { base_url: baseUrl, api_key: apiKey }
  })
  return server.reins.connections.update({ connection_id: id, preferred_model: "scripted-1" })
}

/** The bare server, with a session that has some events. */
export const startBaseline = async () => {
  const server = await startProcess([join(here, "baseline.mjs"), mkdtempSync(join(directory, "bare-"))])
  const headers = { Authorization: "Bearer baseline-key" }
  const made = await fetch(`${server.url}/sessions`, {
    method: "POST",
    headers: { ...headers, "idempotency-key": randomUUID() },
    body: '{"title":"bench"}'
  })
  const { id } = await made.json()
  const side = (status, next) => ({ url: server.url, pid: server.pid, status, next })
  const mutation = (path, body) =>
    side(201, () => request("POST", path, { ...headers, "Idempotency-Key": randomUUID() }, body))
  return {
    ...server,
    getSession: () => side(200, () => request("GET", `/sessions/${id}`, headers)),
    getEvents: () => side(200, () => request("GET", `/sessions/${id}/events?after=0`, headers)),
    createSession: () => mutation("/sessions", '{"title":"bench"}'),
    sendNote: () => mutation(`/sessions/${id}/messages`, '{"content":"a note","routing":"note"}')
  }
}
