import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { Manifests } from "@reins/machine/harness/Manifests"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { password } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { startServer } from "@reins/testing/process/ServerProcess"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { type At, keys, makeProject, reinsAt, reinsProcess, terminal, worldForFile } from "./Cli.js"

const place = placeForEachTest()
/** A service that others run, on a machine without an agent. */
const others = worldForFile({ manifests: Manifests.layer, cacheDir: "/nowhere" })

/** A machine on which nothing of Reins is but the agent. */
const freshMachine = async () => {
  const port = String(await steadyPort())
  const env = {
    HOME: place.directory,
    XDG_CONFIG_HOME: join(place.directory, "config"),
    REINS_CACHE_DIR: cacheWithSmallAgent(place.directory),
    REINS_ALLOW_PRIVATE_HOSTS: "127.0.0.1",
    REINS_ALLOW_LOCAL_REPOSITORIES: "true",
    REINS_PORT: port
  }
  const at: At = { cwd: place.directory, env }
  return { at, url: `http://127.0.0.1:${port}`, profile: join(place.directory, "config", "reins", "profile.json") }
}

const withSecrets = (at: At): At => ({
  ...at,
  env: { ...at.env, REINS_PASSWORD: password, REINS_GATEWAY_KEY: "gateway-key-canary" }
})

const flags = () => ["--email", "me@example.com", "--gateway", place.gateway.url, "--model", "scripted-1"]

const server = (listener: Parameters<typeof createServer>[1] & {}): Promise<Server & { readonly url: string }> =>
  new Promise((resolve) => {
    const made = createServer(listener)
    made.listen(0, "127.0.0.1", () => {
      const address = made.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resolve(Object.assign(made, { url: `http://127.0.0.1:${port}` }))
    })
  })

describe("reins init", () => {
  it("makes all that a fresh machine lacks, without a terminal, and what it stores is enough for reins run", async () => {
    const { at, profile, url } = await freshMachine()
    const manifests = join(place.directory, "manifests")
    mkdirSync(manifests)
    const made = await reinsProcess(withSecrets(at), ["init", "--manifests", manifests, ...flags()])
    assert.strictEqual(made.status, 0, made.stderr)
    assert.match(
      made.stdout,
      new RegExp(
        `^✓ server +${url}, started for this setup\\n✓ account +me@example\\.com\\n✓ key +stored in ${profile}\\n` +
          `✓ connection ${place.gateway.url}, checked; model scripted-1\\n✓ agent +OpenCode .+\\n✓ ready +.+\\n$`
      )
    )
    const stored = JSON.parse(readFileSync(profile, "utf8"))
    assert.strictEqual(stored.url, url)
    assert.strictEqual(statSync(profile).mode & 0o777, 0o600)
    assert.strictEqual(statSync(join(profile, "..")).mode & 0o777, 0o700)
    for (const secret of [stored.api_key, "gateway-key-canary", password])
      assert.notInclude(made.stdout + made.stderr, secret)

    // The server is gone, and a second call finds everything without being told anything.
    const again = await reinsProcess(at, ["init"])
    assert.strictEqual(again.status, 0, again.stderr)
    assert.strictEqual(JSON.parse(readFileSync(profile, "utf8")).api_key, stored.api_key)

    await startServer({
      dataDir: join(place.directory, ".reins"),
      env: at.env,
      args: ["--port", at.env["REINS_PORT"] ?? ""]
    })
    const { folder } = makeProject(place.directory)
    const message = script("Write.", { tool: "write", path: "a.txt", content: "a\n" }, { say: "Written." })
    const ran = await reinsAt(at, ["run", message, "--repo", folder])
    assert.strictEqual(ran.status, 0, ran.stderr)
    assert.include(ran.stdout, "Written.")
    const running = await reinsAt(at, ["init"])
    assert.strictEqual(running.status, 0, running.stderr)
    assert.include(running.stdout, `✓ server     ${url}\n`)
  })

  it("says that no agent could run before it asks for anything or makes anything", async () => {
    const { at } = await freshMachine()
    const shown = terminal({ ...at, env: { ...at.env, REINS_EXECUTOR: "container" } }, ["init"])
    await shown.until(/^reins: Agents would have no sandbox: .*--container-image/)
    assert.strictEqual((await shown.finished).status, 1)
    assert.isFalse(existsSync(join(place.directory, ".reins")))
  })

  it("asks a person for what it must know, and tries another key when the gateway refuses one", async () => {
    const { at, profile } = await freshMachine()
    const picky = await server((request, response) => {
      const isKnown = request.headers.authorization === "Bearer right-key"
      response.writeHead(isKnown ? 200 : 401, { "content-type": "application/json" })
      response.end(JSON.stringify(isKnown ? { object: "list", data: [{ id: "one" }, { id: "two" }] } : { error: {} }))
    })
    const shown = terminal(at, ["init"])
    await shown.until(/Make an installation in \S+\?/)
    shown.type(keys.enter)
    await shown.until(/The address of your account/)
    shown.type(`${keys.clear}me@example.com${keys.enter}`)
    await shown.until(/A password for it/)
    shown.type(`${password}${keys.enter}`)
    await shown.until(/Where are your models\?/)
    shown.type(`${keys.down}${keys.down}${keys.down}${keys.enter}`)
    await shown.until(/The base URL of the gateway/)
    shown.type(`${keys.clear}${picky.url}/v1${keys.enter}`)
    await shown.until(/The API key for/)
    shown.type(`wrong-key${keys.enter}`)
    await shown.until(/Another API key/)
    shown.type(`right-key${keys.enter}`)
    await shown.until(/Which model\?/)
    shown.type(`two${keys.enter}`)
    const { status, text } = await shown.finished
    picky.close()
    assert.strictEqual(status, 0, text)
    assert.match(text, /✓ connection \S+, checked; model two/)
    for (const secret of ["wrong-key", "right-key", password, JSON.parse(readFileSync(profile, "utf8")).api_key])
      assert.notInclude(text, secret)
  })

  it("shows how far the download of the agent is, and Ctrl-C ends it, and the server with it", async () => {
    const { at, url } = await freshMachine()
    const registry = await server((_, response) => {
      response.writeHead(200, { "content-length": 8_000_000 })
      response.write(Buffer.alloc(4_000_000))
    })
    const cache = join(place.directory, "empty")
    mkdirSync(cache)
    const machine = withSecrets({ ...at, env: { ...at.env, REINS_CACHE_DIR: cache, REINS_NPM_REGISTRY: registry.url } })
    const shown = terminal(machine, ["init", ...flags()])
    await shown.until(/Make an installation/)
    shown.type(keys.enter)
    await shown.until(/\[#+-+\] 1\/\d+ \S+ \d MB/)
    shown.type(keys.interrupt)
    const { status } = await shown.finished
    registry.closeAllConnections()
    registry.close()
    assert.strictEqual(status, 130)
    assert.isUndefined(await fetch(`${url}/healthz`).catch(() => undefined))
  })

  it("writes nothing before all is known, and says what is missing when there is nobody to ask", async () => {
    const { at, profile } = await freshMachine()
    const me = ["--email", "me@example.com"]
    const known = { REINS_PASSWORD: password }
    const gateway = ["--gateway", place.gateway.url]
    const cases: ReadonlyArray<readonly [ReadonlyArray<string>, Record<string, string>, RegExp]> = [
      [[], {}, /^There is no address for your account\. Give it with --email\.$/],
      [["--email", "me"], known, /^"me" is not an address, as you@example\.com is one\.$/],
      [me, {}, /^There is no password\. .+$/],
      [me, { REINS_PASSWORD: "short" }, /^password: .+$/],
      [me, known, /^There is no connection to models yet\. .+$/],
      [[...me, ...gateway], known, /^There is no key for http:\S+\. Give it in REINS_GATEWAY_KEY\.$/],
      [[...me, "--gateway", "nowhere"], known, /^"nowhere" is not the URL of a gateway, .+$/],
      [["--provider", "nope"], {}, /^There is no agent "nope"\. There are: OpenCode \(alpha\), .+\.$/],
      [[], { REINS_API_KEY: "rk_other" }, /^There is no installation in \S+ yet that could know the key .+$/]
    ]
    for (const [args, env, words] of cases) {
      const { status, stderr, stdout } = await reinsAt({ ...at, env: { ...at.env, ...env } }, ["init", ...args])
      assert.deepStrictEqual([status, stdout], [1, ""])
      assert.match(stderr.replace(/^reins: |\n$/g, ""), words)
    }
    assert.isFalse(existsSync(join(place.directory, ".reins")))
    assert.isFalse(existsSync(profile))
  })

  it("says when a server is not there, or is something else, or does not know the key", async () => {
    const { at } = await freshMachine()
    const other = await server((_, response) => response.end("<html>"))
    const cases: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
      [
        ["--url", "http://127.0.0.1:9"],
        /^reins: No server answers at http:\/\/127\.0\.0\.1:9\. Start it, or run .+\n$/
      ],
      [["--url", "nowhere"], /^reins: "nowhere" is not an http or https URL, .+\n$/],
      [["--url", other.url], /^reins: What answers at \S+ is not a Reins server\. .+\n$/],
      [["--port", other.url.split(":")[2] ?? ""], /^reins: What answers at \S+ is not a Reins server\. .+\n$/]
    ]
    for (const [args, words] of cases) {
      const { status, stderr, stdout } = await reinsAt(at, ["init", ...args])
      assert.deepStrictEqual([status, stdout], [1, ""])
      assert.match(stderr, words)
    }
    other.close()
    assert.isFalse(existsSync(join(place.directory, ".reins")))
  })

  it("uses a server that others run with a key of it, and says what only they can do", async () => {
    const { apiKey, directory, url } = others()
    const at: At = { cwd: directory, env: { HOME: directory, XDG_CONFIG_HOME: join(directory, "config") } }
    const without = await reinsAt(at, ["init", "--url", url])
    assert.strictEqual(without.status, 1)
    assert.match(without.stderr, /^reins: There is no key for \S+\. Set REINS_API_KEY; .+\n$/)
    const wrong = await reinsAt({ ...at, env: { ...at.env, REINS_API_KEY: "rk_wrong" } }, ["init", "--url", url])
    assert.match(wrong.stderr, /^reins: \S+ does not know the key in REINS_API_KEY\. .+\n$/)
    const known: At = { ...at, env: { ...at.env, REINS_API_KEY: apiKey } }
    const undecided = await reinsAt(known, ["init", "--url", url])
    assert.match(
      undecided.stderr,
      /^reins: There is no model to take\. Name one with --model\. There are: scripted-1, scripted-2\.\n$/
    )
    const { status, stderr, stdout } = await reinsAt(known, ["init", "--url", url, "--model", "scripted-1"])
    assert.strictEqual(status, 1)
    assert.match(stdout, /✓ connection /)
    assert.match(
      stderr,
      /^reins: OpenCode \(alpha\) is not installed where \S+ runs\. There: reins harnesses install alpha\n$/
    )
  })
})
