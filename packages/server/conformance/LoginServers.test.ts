import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Connection } from "@reins/client"
import { steadyPort } from "@reins/testing/process/Ports"
import { afterAll, assert, it } from "vitest"
import { installationForFile } from "./Installation.js"

const installation = installationForFile()

const running: Array<ReturnType<typeof spawn>> = []
afterAll(() => {
  for (const child of running) child.kill("SIGKILL")
})

/** Starts a server of others, and waits until it says a line. */
const start = async (args: ReadonlyArray<string>, isReady: (line: string) => boolean, env: NodeJS.ProcessEnv = {}) => {
  const node = process.env["REINS_TEST_NODE_22"] ?? process.execPath
  const child = spawn(node, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] })
  running.push(child)
  const lines = createInterface({ input: child.stdout })
  for (;;) {
    const [line] = (await once(lines, "line")) as [string]
    if (isReady(line)) return line
  }
}

/** A browser that keeps its cookies, in which a person fills each form in and sends it. Gives the address that leads away to the installation. */
const browse = async (address: string, away: string): Promise<URL> => {
  const cookies = new Map<string, string>()
  const ask = async (url: URL, body?: URLSearchParams): Promise<URL> => {
    if (url.href.startsWith(away)) return url
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(body !== undefined && { method: "POST", body })
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (value === "") cookies.delete(name)
      else cookies.set(name, value)
    }
    const location = response.headers.get("location")
    if (location !== null) return ask(new URL(location, url))
    const page = await response.text()
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(page) ?? assert.fail(`${response.status} ${page}`)
    const [, prompt = ""] = /name="prompt" value="(\w+)"/.exec(page) ?? []
    const fields = prompt === "login" ? { prompt, login: "mia", password: "anything" } : { prompt }
    return ask(new URL(action ?? "", url), new URLSearchParams(fields))
  }
  return ask(new URL(address))
}

/** A whole login at a server, and what agents are offered of it. */
const logIn = async (server_url: string, tool: string) => {
  const { caller, client, url } = installation()
  const begun = await client.connectionLogins.create({ workspace_id: caller.workspaceId, server_url })
  const back = await browse(begun.authorize_url, `${url}/ui/connected`)
  const given = ["state", "code", "error", "iss"].flatMap((name) => {
    const value = back.searchParams.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  const login = await client.connectionLogins.answer({
    connection_login_id: begun.login.id,
    state: "",
    ...Object.fromEntries(given)
  })
  assert.deepInclude(login, { state: "completed", reason_message: null })
  const connection_id = login.connection_id ?? assert.fail("there is no connection")
  const { id } = await client.projects.create({
    workspace_id: caller.workspaceId,
    slug: `of-${login.id.slice(-12)}`,
    name: "Of others",
    spec: { tools: { mcp_servers: [{ name: "others", url: server_url, connection_id, allow: [tool] }] } }
  })
  const look = async () => (await client.projects.checkServers({ project_id: id })).servers[0]
  const read = (): Promise<Connection> => client.connections.get({ connection_id })
  return { begun, connection_id, look, read, client }
}

it("logs in at the example server of the protocol's own library, which gives no token to renew with", async () => {
  const [port, authPort] = [await steadyPort(), await steadyPort()]
  const file = "node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js"
  await start(
    [join(import.meta.dirname, file), "--oauth"],
    (line) => line.includes("Streamable HTTP Server listening"),
    {
      MCP_PORT: String(port),
      MCP_AUTH_PORT: String(authPort)
    }
  )
  const { begun, look, read } = await logIn(`http://localhost:${port}/mcp`, "greet")
  assert.strictEqual(begun.login.client, "registration")
  const checked = await look()
  assert.deepInclude(checked, { state: "reached", problem: null })
  assert.strictEqual(checked?.tools[0]?.standing, "offered")
  assert.isString((await read()).settings["access_token_ends_at"])
})

it("logs in at oidc-provider, renews its token and ends it there", async () => {
  const server = await start([join(import.meta.dirname, "OidcServer.mjs")], (line) =>
    line.startsWith("http://localhost")
  )
  const { begun, client, connection_id, look, read } = await logIn(server, "count_issues")
  assert.strictEqual(begun.login.scopes, "issues offline_access")
  assert.strictEqual((await look())?.state, "reached")
  const { health, settings } = await read()
  assert.strictEqual(health, "ready")
  assert.isUndefined(settings["access_token_ends_at"])
  const { operation } = await client.connections.validate({ connection_id })
  await client.jobs.wait(operation)
  const [validation] = (await client.connections.listValidations({ connection_id })).items
  assert.strictEqual(validation?.state, "passed")
  const before = await read()
  const again = await client.connectionLogins.create({ workspace_id: before.workspace_id, connection_id })
  assert.strictEqual(again.login.connection_id, connection_id)
  await client.connections.disconnect({ connection_id })
  assert.strictEqual((await look())?.state, "auth_required")
})
