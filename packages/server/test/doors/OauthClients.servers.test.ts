import { writeFileSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { join } from "node:path"
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client"
import type { Reins } from "@reins/client"
import { tlsServer } from "@reins/testing/connections/TlsServer"
import { manifestsWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { newCaller, password } from "@reins/testing/process/Caller"
import { inMemory, placeForFile } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { startServer } from "@reins/testing/process/ServerProcess"
import { endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Exit, Scope } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"

/** A server in a process of its own, and a host with the documents of apps that the server trusts by TLS. */
const place = placeForFile(inMemory)
let scope: Scope.CloseableScope
let host: { readonly origin: string; readonly seen: { requests: number } }
let url: string
let start: () => Promise<Awaited<ReturnType<typeof startServer>>>
let server: Awaited<ReturnType<typeof startServer>>
let owner: Reins
let cookie: string

/** The redirect of an app on the machine of its person. */
const redirectUrl = "http://localhost:53999/callback"

const documentOf = (path: string, given: Readonly<Record<string, unknown>> = {}) => ({
  client_id: `${host.origin}${path}`,
  client_name: "Documented assistant",
  redirect_uris: ["http://localhost/callback"],
  token_endpoint_auth_method: "none",
  ...given
})

const json = (response: ServerResponse, value: unknown) =>
  void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value))

/** The documents of the host, by their paths: a good one, and hostile ones. */
const documents: Readonly<Record<string, (response: ServerResponse) => void>> = {
  "/good.json": (response) => json(response, documentOf("/good.json")),
  "/other.json": (response) => json(response, documentOf("/good.json")),
  "/nameless.json": (response) => json(response, { redirect_uris: [redirectUrl] }),
  "/script.json": (response) => json(response, documentOf("/script.json", { redirect_uris: ["javascript:alert(1)"] })),
  "/mixed.json": (response) =>
    json(response, documentOf("/mixed.json", { redirect_uris: [redirectUrl, "data:text/html,x"] })),
  "/secret.json": (response) => json(response, documentOf("/secret.json", { client_secret: "x" })),
  "/keyed.json": (response) =>
    json(response, documentOf("/keyed.json", { token_endpoint_auth_method: "private_key_jwt" })),
  "/large.json": (response) => {
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify(documentOf("/large.json", { padding: "x".repeat(5 * 1024 * 1024) })))
  },
  "/redirect.json": (response) => void response.writeHead(302, { location: `${host.origin}/good.json` }).end(),
  "/inside.json": (response) => void response.writeHead(307, { location: "http://169.254.169.254/latest" }).end(),
  "/html.json": (response) =>
    void response.writeHead(200, { "content-type": "text/html" }).end(JSON.stringify(documentOf("/html.json"))),
  "/broken.json": (response) =>
    void response.writeHead(200, { "content-type": "application/json" }).end('{"client_id"'),
  "/list.json": (response) => json(response, [documentOf("/list.json")]),
  "/gone.json": (response) => void response.writeHead(404, { "content-type": "application/json" }).end("{}"),
  "/silent.json": () => undefined
}

beforeAll(async () => {
  scope = await Effect.runPromise(Scope.make())
  const made = await Effect.runPromise(
    Scope.extend(
      tlsServer(["localhost"], ({ url: path = "" }, response) => {
        const answer = documents[path]
        if (answer === undefined) return void response.writeHead(404).end()
        answer(response)
      }),
      scope
    )
  )
  host = { origin: `https://localhost:${made.port}`, seen: made.seen }
  const authority = join(place.directory, "authority.pem")
  writeFileSync(authority, made.cert)
  const port = await steadyPort()
  url = `http://127.0.0.1:${port}`
  const env = {
    REINS_PUBLIC_URL: url,
    REINS_ALLOW_PRIVATE_HOSTS: `127.0.0.1,localhost:${made.port}`,
    REINS_MANIFESTS_DIR: manifestsWithSmallAgent(place.directory),
    NODE_EXTRA_CA_CERTS: authority
  }
  start = () => startServer({ dataDir: place.dataDir, env, args: ["--port", String(port)] })
  server = await start()
  owner = (await newCaller(server, place.dataDir, place.gateway, env)).at(server)
  cookie = await logIn()
}, 300_000)

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const submit = (path: string, fields: Readonly<Record<string, string>>, headers: Record<string, string> = {}) =>
  fetch(`${url}${path}`, {
    method: "POST",
    redirect: "manual",
    headers: { "sec-fetch-site": "same-origin", ...headers },
    body: new URLSearchParams(fields)
  })

const logIn = async (): Promise<string> => {
  const answer = await submit("/oauth/login", { email: "owner@example.com", password, query: "" })
  assert.strictEqual(answer.status, 303)
  return answer.headers
    .getSetCookie()
    .map((text) => text.split(";")[0])
    .join("; ")
}

/** The person opens the page of a request and sends its form. Gives the address that the browser is sent to. */
const decide = async (address: URL, fields: Readonly<Record<string, string>> = {}): Promise<URL> => {
  const page = await (await fetch(address, { headers: { cookie } })).text()
  const hidden = [...page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)].map(
    ([, name = "", value = ""]) =>
      [name, value.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(code))] as const
  )
  const workspace_id = /<option value="(wsp_\w+)"/.exec(page)?.[1] ?? assert.fail(page)
  const form = { ...Object.fromEntries(hidden), decision: "allow", workspace_id, scope: "act", lasts_days: "1" }
  const answer = await submit("/oauth/authorize", { ...form, ...fields }, { cookie })
  assert.strictEqual(answer.status, 303, await answer.text())
  return new URL(answer.headers.get("location") ?? "")
}

/** The memory of an app of the protocol's own package. */
const newApp = (clientMetadataUrl?: string) => {
  const kept: {
    tokens?: { access_token: string; refresh_token?: string | undefined; scope?: string | undefined }
    information?: { client_id: string }
    verifier?: string
    sent?: URL
  } = {}
  const provider = {
    redirectUrl,
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
    clientMetadata: {
      client_name: "Registered assistant",
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"]
    },
    clientInformation: () => kept.information,
    saveClientInformation: (information: { client_id: string }) => {
      kept.information = information
    },
    tokens: () => kept.tokens as never,
    saveTokens: (tokens: NonNullable<typeof kept.tokens>) => {
      kept.tokens = tokens
    },
    redirectToAuthorization: (address: URL) => {
      kept.sent = address
    },
    saveCodeVerifier: (verifier: string) => {
      kept.verifier = verifier
    },
    codeVerifier: () => kept.verifier ?? "",
    invalidateCredentials: (which: string) => {
      if (which === "all" || which === "client") delete kept.information
      if (which === "all" || which === "tokens") delete kept.tokens
    }
  }
  const transport = () => new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: provider as never })
  const connect = async () => {
    const client = new Client({ name: "test", version: "1" })
    await client.connect(transport())
    return client
  }
  /** From the first refusal to the tokens. */
  const letIn = async (fields: Readonly<Record<string, string>> = {}) => {
    const first = transport()
    const refused = await new Client({ name: "test", version: "1" }).connect(first).catch((error: unknown) => error)
    assert.instanceOf(refused, UnauthorizedError)
    const back = await decide(kept.sent ?? assert.fail("nobody was asked"), fields)
    await first.finishAuth(back.searchParams)
    return connect()
  }
  return { kept, connect, letIn }
}

const call = async (client: Client, name: string, input: object = {}) => {
  const { content, isError, structuredContent } = await client.callTool({ name, arguments: { ...input } })
  assert.isNotTrue(isError, JSON.stringify(content))
  return structuredContent as Record<string, unknown>
}

const agent = { provider_id: "alpha", model: "scripted-1" }

describe("an app on the protocol's own package", () => {
  for (const way of ["a registration", "a document"] as const)
    it(`gets in by ${way}, and has an agent work`, { timeout: 300_000 }, async () => {
      const app = newApp(way === "a document" ? `${host.origin}/good.json` : undefined)
      const client = await app.letIn()
      assert.strictEqual(app.kept.sent?.searchParams.get("resource"), `${url}/mcp`)
      assert.strictEqual(app.kept.tokens?.scope, "read act")
      assert.lengthOf((await client.listTools()).tools, 11)
      const message = script("Say.", { say: "Here I am." })
      const { session_id } = await call(client, "start_session", { ...agent, message })
      const end = await call(client, "wait", { session_id, seconds: 50 })
      assert.include(String(end["said"]), "Here I am.")
      const grants = await owner.oauthGrants.list()
      const own = grants.items.find(({ client_host }) => (client_host === null) === (way === "a registration"))
      assert.strictEqual(own?.client_name, way === "a document" ? "Documented assistant" : "Registered assistant")
      const session = await owner.sessions.get({ session_id: String(session_id) })
      assert.deepInclude(session.labels, { door: "mcp" })
      // A token that has expired is replaced by the package itself.
      const { access_token } = app.kept.tokens ?? assert.fail("no tokens")
      app.kept.tokens = { ...app.kept.tokens, access_token: `roa_${"x".repeat(43)}` }
      assert.lengthOf((await (await app.connect()).listTools()).tools, 11)
      assert.notStrictEqual(app.kept.tokens?.access_token, access_token)
    })

  it("registers anew by itself when the server has forgotten it", { timeout: 300_000 }, async () => {
    const app = newApp()
    await app.letIn()
    const forgotten = "oac_01k00000000000000000000000"
    app.kept.information = { client_id: forgotten }
    app.kept.tokens = { access_token: `roa_${"x".repeat(43)}`, refresh_token: `ror_${"x".repeat(43)}` }
    const client = await app.letIn()
    assert.notStrictEqual(app.kept.information.client_id, forgotten)
    assert.notStrictEqual(app.kept.sent?.searchParams.get("client_id"), forgotten)
    assert.lengthOf((await client.listTools()).tools, 11)
  })

  it("asks its person for more when a tool needs more", { timeout: 300_000 }, async () => {
    const app = newApp()
    const client = await app.letIn()
    const refused = await client
      .callTool({ name: "deliver", arguments: { changeset_id: "cs_x" } })
      .catch((error: unknown) => error)
    assert.instanceOf(refused, Error)
    assert.strictEqual(app.kept.sent?.searchParams.get("scope"), "read act write")
  })

  it("is refused in the middle of a call when its access ends", { timeout: 300_000 }, async () => {
    const before = new Set((await owner.oauthGrants.list()).items.map(({ id }) => id))
    const client = await newApp().letIn()
    const grant = (await owner.oauthGrants.list()).items.find(({ id }) => !before.has(id)) ?? assert.fail("no access")
    const { session_id, turn_id } = await call(client, "start_session", { ...agent, message: endlessTool() })
    for await (const { type } of owner.sessions.stream({ session_id: String(session_id), after: 0 }))
      if (type === "tool.started") break
    const began = Date.now()
    const waiting = client
      .callTool({ name: "wait", arguments: { session_id, seconds: 50, after: 0 } })
      .then((result) => ("isError" in result && result.isError === true ? "refused" : JSON.stringify(result)))
      .catch(() => "refused")
    await owner.oauthGrants.revoke({ oauth_grant_id: grant.id })
    const outcome = await waiting
    assert.isBelow(Date.now() - began, 40_000)
    assert.notInclude(outcome, '"ended":true')
    const after = await client.callTool({ name: "list_sessions", arguments: {} }).catch((error: unknown) => error)
    assert.instanceOf(after, Error)
    // The turn that the app began ends with its access.
    const turn = await eventually("the end of the turn", async () => {
      const found = await owner.turns.get({ turn_id: String(turn_id) })
      return found.state === "cancelled" ? found : undefined
    })
    assert.strictEqual(turn.reason, "access_lost")
  })

  it("goes on after a kill of the server, and nothing is done twice", { timeout: 300_000 }, async () => {
    const client = await newApp().letIn()
    const input = { ...agent, message: script("Say.", { say: "Once." }), request_key: "before-the-kill" }
    const { session_id } = await call(client, "start_session", input)
    server.kill("SIGKILL")
    await server.ended
    server = await start()
    assert.strictEqual((await call(client, "start_session", input))["session_id"], session_id)
    const end = await call(client, "wait", { session_id, seconds: 50, after: 0 })
    assert.isTrue(end["ended"])
    const { items } = await owner.messages.list({ session_id: String(session_id) })
    assert.lengthOf(
      items.filter(({ role }) => role === "user"),
      1
    )
  })
})

describe("the document of a hostile app", () => {
  const open = (client_id: string) => {
    const query = new URLSearchParams({
      response_type: "code",
      client_id,
      redirect_uri: redirectUrl,
      code_challenge: "x".repeat(43),
      code_challenge_method: "S256"
    })
    return fetch(`${url}/oauth/authorize?${query}`, { redirect: "manual", headers: { cookie } })
  }

  it("lets nobody in, and leads nobody anywhere", { timeout: 300_000 }, async () => {
    const good = ["/good.json", "/mixed.json"]
    for (const path of good) assert.strictEqual((await open(`${host.origin}${path}`)).status, 200, path)
    const paths = Object.keys(documents).filter((path) => !good.includes(path))
    for (const path of [...paths, "/good.json#x", "/good.json?x=1", "/../good.json", "//good.json", ""]) {
      const page = await open(`${host.origin}${path}`)
      assert.deepStrictEqual([page.status, page.headers.get("location")], [400, null], path)
    }
  })

  it("is asked of no private host, and of nobody for a person who is not logged in", { timeout: 300_000 }, async () => {
    const asked = host.seen.requests
    const port = new URL(host.origin).port
    const hosts = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "0.0.0.0", "metadata.google.internal"]
    for (const name of [...hosts, ...hosts.map((each) => `${each}:${port}`)]) {
      const page = await open(`https://${name}/good.json`)
      if (page.status !== 400) assert.fail(`${name}: ${page.status}`)
    }
    const query = new URLSearchParams({ client_id: `${host.origin}/never.json`, redirect_uri: redirectUrl })
    const page = await fetch(`${url}/oauth/authorize?${query}`, { redirect: "manual" })
    assert.include(await page.text(), "Log in")
    assert.strictEqual(host.seen.requests, asked)
  })
})
