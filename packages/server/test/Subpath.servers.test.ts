import { once } from "node:events"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { type Reins, webhooks } from "@reins/client"
import * as EffectClient from "@reins/client/effect"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { newCaller, password } from "@reins/testing/process/Caller"
import { linkFor, mailsTo } from "@reins/testing/process/Outbox"
import { type PathProxy, proxyBelow } from "@reins/testing/process/PathProxy"
import { placeForFile } from "@reins/testing/process/Place"
import { reins, startServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Redacted } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { makeInstallation, makeProject, reinsAt, reinsProcess } from "./cli/Cli.js"

const place = placeForFile()
let proxy: PathProxy
let caller: Awaited<ReturnType<typeof newCaller>>
/** The server past the proxy. */
let own: string

beforeAll(async () => {
  proxy = await proxyBelow("/tools/reins")
  const env = {
    REINS_PUBLIC_URL: `${proxy.url}//`,
    REINS_CACHE_DIR: cacheWithSmallAgent(place.directory),
    REINS_ALLOW_LOCAL_REPOSITORIES: "true"
  }
  own = (await startServer({ dataDir: place.dataDir, env })).url
  proxy.lead(Number(new URL(own).port))
  caller = await newCaller(proxy, place.dataDir, place.gateway)
}, 120_000)
afterAll(() => proxy.close())

let keys = 0
const post = (path: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
  fetch(proxy.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": `subpath-${++keys}`, ...headers },
    body: JSON.stringify(body)
  })

/** Every URL of the mails to an address that is one of the installation, without the sentence's end. */
const ownLinks = (email: string): ReadonlyArray<string> =>
  mailsTo(place.dataDir, email).flatMap((mail) =>
    [...mail.matchAll(/https?:\/\/[^\s\\]+/g)].map(([url]) => url.replace(/[.,]$/, ""))
  )

const assertBelow = (urls: ReadonlyArray<string>): void => {
  assert.isNotEmpty(urls)
  for (const url of urls) {
    assert.match(url.replace(proxy.url, "BASE"), /^BASE(?:$|\/[^/])/, url)
    assert.notInclude(url.slice("https://".length), "//", url)
  }
}

/** Opens the link of a mail, and submits its form as a browser does. */
const submitAt = async (link: string, fields: Readonly<Record<string, string>> = {}): Promise<string> => {
  const page = await fetch(link)
  const text = await page.text()
  assert.strictEqual(page.status, 200, text)
  const action = /<form method="post" action="([^"]+)"/.exec(text)?.[1] ?? assert.fail(text)
  const token = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? assert.fail(text)
  const done = await fetch(new URL(action, page.url), {
    method: "POST",
    headers: { "sec-fetch-site": "same-origin", origin: "null" },
    body: new URLSearchParams({ token, ...fields })
  })
  return `${done.status} ${await done.text()}`
}

describe("below a path of a proxy", () => {
  it("the links of every mail lead below the path, and their forms work there", async () => {
    const email = "reader@example.com"
    assert.strictEqual((await post("/api/auth/register", { email, password })).status, 202)
    assert.match(await submitAt(await linkFor(place.dataDir, email, "verify")), /^200 [\s\S]*verified/)
    await post("/api/auth/register", { email, password })
    await post("/api/auth/password-resets", { email })
    const fresh = "the otter sleeps on its back"
    const reset = await submitAt(await linkFor(place.dataDir, email, "reset"), { new_password: fresh, repeated: fresh })
    assert.match(reset, /^200 /)
    await caller.at(proxy).workspaces.addMember({ workspace_id: caller.workspaceId, email, role: "viewer" })
    assert.match(await submitAt(await linkFor(place.dataDir, email, "join")), /^200 [\s\S]*member/)
    await eventually("all mails", () => mailsTo(place.dataDir, email).length >= 5)
    assertBelow(ownLinks(email))
    assert.isAtLeast(ownLinks(email).filter((url) => url.includes("/api/auth/")).length, 2)
  })

  it("a login is kept for the path alone, and works there", async () => {
    const login = await post("/api/auth/login", { email: "owner@example.com", password })
    assert.strictEqual(login.status, 200)
    const cookies = login.headers.getSetCookie()
    assert.isNotEmpty(cookies)
    for (const cookie of cookies) assert.match(cookie, /; Path=\/tools\/reins(?:;|$)/)
    const cookie = cookies.map((each) => each.split(";")[0]).join("; ")
    assert.strictEqual((await fetch(`${proxy.url}/api/me`, { headers: { cookie } })).status, 200)
    const foreign = await post("/api/auth/logout", {}, { cookie, origin: "https://elsewhere.example" })
    assert.include(await foreign.text(), `Open the page at ${proxy.url.replace(/^https?:\/\//, "")}, or`)
  })

  it("whoever is led on stays below the path, with and without a slash, and finds the page past the proxy too", async () => {
    for (const [door, end] of [
      ["", "/ui"],
      ["/", "/ui"],
      ["?from=mail", "/ui"],
      ["/ui/", "/ui"],
      ["/ui/sessions/sess_1/", "/ui/sessions/sess_1"]
    ] as const)
      assert.deepInclude(await fetch(proxy.url + door), { status: 200, url: proxy.url + end }, door)
    assert.deepInclude(await fetch(own), { status: 200, url: `${own}/ui` })
    const freshDir = join(place.directory, "fresh")
    await makeInstallation(freshDir)
    const fresh = reins(freshDir, ["accounts", "first"], { REINS_PUBLIC_URL: `${proxy.url}//` })
    assertBelow([fresh.stdout.trim().replace("#", "?")])
  })

  for (const slash of ["", "/", "//"])
    it(`the client works with "${slash}" at the end of its base URL: calls, files, streams, waits and refusals`, {
      timeout: 60_000
    }, async () => {
      const client: Reins = caller.at({ url: proxy.url + slash })
      assert.strictEqual(client.baseUrl, proxy.url)
      const session_id = await caller.newSession(client)
      const content = Buffer.from([0, 1, 2, 255])
      const { text, turn } = await client
        .run({
          session_id,
          content: script("Write.", { tool: "write", path: "a/b c.txt", content: "hi\n" }, { say: "Done." })
        })
        .final()
      assert.deepStrictEqual([turn.state, text.trim()], ["succeeded", "Done."])
      await client.sessions.uploadFile({
        session_id,
        path: "d/e é.bin",
        content: content.toString("base64"),
        encoding: "base64"
      })
      const file = await client.sessions.getFile({ session_id, path: "d/e é.bin" })
      assert.deepInclude(file, { content: content.toString("base64"), encoding: "base64" })
      for await (const event of client.sessions.stream({ session_id })) if (event.type === "turn.succeeded") break
      const { workspaceId: workspace_id } = caller
      for await (const event of client.workspaces.stream({ workspace_id }))
        if (event.event.type === "turn.succeeded" && event.event.session_id === session_id) break
      const { operation } = await client.sessions.capture({ session_id })
      assert.strictEqual((await client.jobs.wait(operation)).state, "succeeded")
      const ids: Array<string> = []
      for await (const { id } of client.sessions.list({ workspace_id, limit: 1 })) ids.push(id)
      assert.include(ids, session_id)
      const refusal = await client.sessions.get({ session_id: "sess_nope" }).catch((error: unknown) => error)
      assert.deepInclude(refusal, { status: 404, code: "not_found" })
    })

  it("the client of Effect works", async () => {
    const options = { baseUrl: `${proxy.url}/`, apiKey: Redacted.make(caller.apiKey) }
    const me = await Effect.runPromise(EffectClient.make(options).accounts.getMe())
    assert.strictEqual(me.workspaces[0]?.id, caller.workspaceId)
  })

  it("a webhook is sent, is verified and names no other address; the mail about its end leads below the path", async () => {
    const received: Array<{ readonly body: string; readonly headers: IncomingHttpHeaders }> = []
    let status = 204
    const receiver = createServer(async (request, response) => {
      let body = ""
      for await (const chunk of request) body += String(chunk)
      received.push({ body, headers: request.headers })
      response.writeHead(status).end()
    })
    await once(receiver.listen(0, "127.0.0.1"), "listening")
    try {
      const client = caller.at(proxy)
      const { port } = receiver.address() as AddressInfo
      const made = await client.webhooks.createEndpoint({
        workspace_id: caller.workspaceId,
        url: `http://127.0.0.1:${port}/hook`
      })
      await client.webhooks.sendTest({ webhook_endpoint_id: made.id })
      await caller.newSession(client)
      const last = await eventually("a delivery", () => received.find(({ body }) => body.includes('"session.created"')))
      assert.strictEqual((await webhooks.verify(last.body, last.headers, made.secret)).type, "session.created")
      for (const { body } of received) assert.notInclude(body, new URL(own).host)
      status = 410
      await caller.newSession(client)
      const email = "owner@example.com"
      await eventually("a mail", () => mailsTo(place.dataDir, email).some((mail) => mail.includes(made.id)))
      assertBelow(ownLinks(email))
      assert.include(ownLinks(email), `${proxy.url}/api/webhook-endpoints/${made.id}/deliveries`)
    } finally {
      receiver.closeAllConnections()
      receiver.close()
    }
  })

  it("the command line works with such a URL, from its set-up on", async () => {
    const { folder: cwd } = makeProject(place.directory)
    const model = ["--model", "scripted-1"]
    const at = { cwd, env: { XDG_CONFIG_HOME: join(place.directory, "config"), HOME: place.directory } }
    const withKey = { ...at, env: { ...at.env, REINS_API_KEY: caller.apiKey } }
    const made = await reinsProcess(withKey, [
      "init",
      "--url",
      `${proxy.url}/`,
      "--gateway",
      place.gateway.url,
      ...model
    ])
    assert.strictEqual(made.status, 0, made.stderr + made.stdout)
    assert.include(made.stdout, proxy.url)
    for (const env of [at.env, { ...withKey.env, REINS_URL: `${proxy.url}//` }]) {
      const said = script("Say.", { say: "Below a path." })
      const run = await reinsAt({ cwd, env }, ["run", said, ...model])
      assert.deepStrictEqual([run.status, run.stdout.trim()], [0, "Below a path."], run.stderr)
      const session = /sess_\w+/.exec(run.stderr)?.[0] ?? ""
      for (const args of [
        ["sessions", "ls"],
        ["sessions", "watch", session],
        ["sessions", "diff", session],
        ["webhooks", "ls"]
      ]) {
        const { status, stderr } = await reinsAt({ cwd, env }, args)
        assert.strictEqual(status, 0, `${args.join(" ")}: ${stderr}`)
      }
    }
  })

  it("every redirect led below the path, and nothing asked another application", () => {
    const led = proxy.answers.filter(
      ({ location, status }) => location !== undefined || (status >= 300 && status < 400)
    )
    assert.isAtLeast(led.length, 5)
    assertBelow(led.map(({ location }) => location ?? "none"))
    assert.deepStrictEqual(proxy.astray, [])
  })
})
