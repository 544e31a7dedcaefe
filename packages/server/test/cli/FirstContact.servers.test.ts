import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { password } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { type At, reinsAt } from "./Cli.js"

const place = placeForEachTest()
let at: At = { cwd: "", env: {} }
let server: ServerProcess
const dataDir = () => join(place.directory, "elsewhere")

beforeEach(async () => {
  const env = {
    HOME: place.directory,
    XDG_CONFIG_HOME: join(place.directory, "config"),
    REINS_CACHE_DIR: cacheWithSmallAgent(place.directory),
    REINS_PASSWORD: password,
    REINS_GATEWAY_KEY: "right-key"
  }
  at = { cwd: place.directory, env }
  server = await startServer({ dataDir: dataDir(), env })
})

const stop = async () => {
  server.kill("SIGTERM")
  await server.ended
}

afterEach(() => gateway?.close())

/** A gateway below /v1 that lists two models and takes one key. */
let gateway: ReturnType<typeof createServer> | undefined
const startGateway = (): Promise<string> =>
  new Promise((resolve) => {
    const made = createServer(({ headers, url }, response) => {
      const status = url?.startsWith("/v1/") !== true ? 404 : headers.authorization === "Bearer right-key" ? 200 : 401
      response.writeHead(status, { "content-type": "application/json" })
      response.end(JSON.stringify(status === 200 ? { object: "list", data: [{ id: "one" }, { id: "two" }] } : {}))
    })
    gateway = made
    made.listen(0, "127.0.0.1", () => {
      const address = made.address()
      resolve(`http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`)
    })
  })

const init = (...args: ReadonlyArray<string>) =>
  reinsAt(at, ["init", "--data-dir", dataDir(), "--email", "me@example.com", ...args])

describe("a data directory whose server is on a port of its own", () => {
  it("tells the address while the server runs, to init, doctor and accounts", async () => {
    const first = await reinsAt(at, ["accounts", "first", "--data-dir", dataDir()])
    assert.isTrue(first.stdout.startsWith(`${server.url}/ui#setup=`), first.stdout + first.stderr)
    const doctor = await reinsAt(at, ["doctor", "--data-dir", dataDir()])
    assert.include(doctor.stdout, `a server works on the data directory, at ${server.url}\n`)
    const gateway = ["--gateway", place.gateway.url, "--model", "scripted-1"]
    const found = await init(...gateway)
    assert.strictEqual(found.status, 0, found.stderr)
    assert.include(found.stdout, `✓ server     ${server.url}\n`)
    const both = await init("--url", server.url.replace("127.0.0.1", "localhost"), ...gateway)
    assert.strictEqual(both.status, 0, both.stderr)
    assert.strictEqual(JSON.parse(readFileSync(join(dataDir(), "server.json"), "utf8")).url, server.url)
    await stop()
    assert.isFalse(existsSync(join(dataDir(), "server.json")))
  })

  it("is found although a crash has left the address of another, which is told by nobody", async () => {
    server.kill("SIGKILL")
    await server.ended
    assert.isTrue(existsSync(join(dataDir(), "server.json")))
    const doctor = await reinsAt(at, ["doctor", "--data-dir", dataDir()])
    assert.include(doctor.stdout, "no server works on the data directory\n")
    server = await startServer({ dataDir: dataDir(), env: at.env })
    const again = await reinsAt(at, ["doctor", "--data-dir", dataDir()])
    assert.include(again.stdout, `a server works on the data directory, at ${server.url}\n`)
  })

  it("and a port that is named win over the profile", async () => {
    assert.strictEqual((await init("--gateway", place.gateway.url, "--model", "scripted-1")).status, 0)
    await stop()
    const empty = join(place.directory, "empty")
    mkdirSync(empty)
    const other = await reinsAt({ ...at, cwd: empty }, ["init", "--port", "7432"])
    assert.strictEqual(other.stderr, "reins: There is no address for your account. Give it with --email.\n")
  })
})

describe("the gateway of reins init", () => {
  it("is found below /v1, and a model that it does not list is said", async () => {
    const url = await startGateway()
    const { status, stderr, stdout } = await init("--gateway", url, "--model", "tow")
    assert.strictEqual(status, 0, stderr)
    assert.include(stdout, `✓ connection ${url}/v1, checked; model tow\n`)
    assert.include(stderr, `The models are at ${url}/v1: the address ${url} lacked /v1.\n`)
    assert.include(stderr, "The gateway does not list the model tow. Did you mean two? It lists: one, two.\n")
  })

  it("that refuses the key or is not there is told in the words of a person", async () => {
    const url = `${await startGateway()}/v1`
    at = { ...at, env: { ...at.env, REINS_GATEWAY_KEY: "wrong-key" } }
    const refused = await init("--gateway", url, "--model", "one")
    assert.strictEqual(
      refused.stderr,
      `reins: The gateway ${url} refused the key. Give another one in REINS_GATEWAY_KEY.\n`
    )
    gateway?.closeAllConnections()
    gateway?.close()
    const gone = await init("--gateway", url, "--model", "one")
    assert.strictEqual(
      gone.stderr,
      `reins: The gateway ${url} does not answer. Check the address of --gateway, and that it runs.\n`
    )
  })
})
