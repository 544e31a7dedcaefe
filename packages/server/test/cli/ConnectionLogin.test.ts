import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { stripVTControlCharacters } from "node:util"
import { authorizationServer } from "@reins/testing/mcp/AuthorizationServer"
import { mcpServer } from "@reins/testing/mcp/McpServer"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Exit, Scope } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type At, keys, reinsProcess, terminal, worldForFile } from "./Cli.js"

const world = worldForFile()
const directory = mkdtempSync(join(tmpdir(), "reins-login-"))
const page = join(directory, "page")
let scope: Scope.CloseableScope
beforeAll(async () => {
  scope = await Effect.runPromise(Scope.make())
})
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true })
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const lab = async () => {
  const issuer = await Effect.runPromise(Scope.extend(authorizationServer("canary-Kp1qT2vX5nB7"), scope))
  const server = await Effect.runPromise(Scope.extend(mcpServer(issuer.good), scope))
  server.authorization = [issuer.url]
  return { issuer, server }
}

/** A browser that follows each address to its page, and keeps what that says. */
const browsing = (at: At): At => {
  const browser = join(directory, "browser")
  const follow = "fetch(process.argv[1]).then((found) => found.text()).then((text) => process.stdout.write(text))"
  writeFileSync(browser, `#!/bin/sh\n"${process.execPath}" -e '${follow}' "$1" > "${page}"\n`, { mode: 0o755 })
  return { ...at, env: { ...at.env, BROWSER: browser } }
}

describe("reins connections login", () => {
  it("opens the login in the browser, catches its answer, and prints the connection", async () => {
    const { at, client } = world()
    const { issuer, server } = await lab()
    const made = await reinsProcess(browsing(at), ["connections", "login", server.url, "--label", "Lab"])
    assert.strictEqual(made.status, 0, made.stderr)
    assert.match(made.stderr, /^Log in at 127\.0\.0\.1:\d+, in the browser that has opened\.\nConnected\./)
    const connection_id = made.stdout.trim()
    const { health, label, settings } = await client.connections.get({ connection_id })
    assert.deepStrictEqual([health, label, settings["server_url"]], ["ready", "Lab", server.url])
    assert.include(await eventually("the page", () => readFileSync(page, "utf8")), "You are logged in. Close this page")
    assert.match(String(issuer.registrations[0]?.["redirect_uris"]), /^http:\/\/127\.0\.0\.1:\d+\/callback$/)
    assert.notInclude(made.stdout + made.stderr, "canary")

    const again = await reinsProcess(browsing(at), ["connections", "login", "--connection", connection_id, "--json"])
    assert.deepInclude(JSON.parse(again.stdout), { state: "completed", connection_id, for: "workspace" })
    const mine = await reinsProcess(browsing(at), ["connections", "login", server.url, "--for-me"])
    assert.include(mine.stderr, "Connected, for your own turns:")
  })

  it("says why nobody can log in, and waits for no browser", async () => {
    const { at } = world()
    const { issuer, server } = await lab()
    issuer.about = { registration_endpoint: undefined }
    const refused = await reinsProcess(browsing(at), ["connections", "login", server.url])
    assert.strictEqual(refused.status, 1)
    assert.match(
      refused.stderr,
      /registers no clients\. Register a client there with the redirect address http:\/\/127/
    )
    const nameless = await reinsProcess(browsing(at), ["connections", "login"])
    assert.include(nameless.stderr, "Name the address of the server")
  })

  it("takes the address that a browser of another machine has ended at", async () => {
    const { at } = world()
    const { issuer, server } = await lab()
    const blind = { ...at, env: { ...at.env, BROWSER: join(directory, "none") } }
    const shown = terminal(blind, ["connections", "login", server.url])
    await shown.until(/paste the address/)
    const [address = ""] = /http:\S+code_challenge\S+/.exec(stripVTControlCharacters(shown.raw())) ?? []
    shown.type(`${issuer.allow(address).href}${keys.enter}`)
    const { status, text } = await shown.finished
    assert.strictEqual(status, 0, text)
    assert.match(text, /con_[0-9a-z]{26}/)
  })
})
