import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { localServer } from "@reins/testing/connections/LocalServer"
import { manifestsWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { type Manner, type McpServer, mcpServer } from "@reins/testing/mcp/McpServer"
import { newCaller } from "@reins/testing/process/Caller"
import { inMemory, placeForEachTest } from "@reins/testing/process/Place"
import { startServer } from "@reins/testing/process/ServerProcess"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Exit, Scope } from "effect"
import pg from "pg"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterEach, assert, beforeEach, describe, it } from "vitest"

const place = placeForEachTest(inMemory)
let scope: Scope.CloseableScope
beforeEach(async () => {
  scope = await Effect.runPromise(Scope.make())
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const inScope = <A>(effect: Effect.Effect<A, never, Scope.Scope>) => Effect.runPromise(Scope.extend(effect, scope))

/** The characters that others write in another way. */
const odd = ["", "/+", "%2F", '"', "\\", "&=", "'", "<>", "$X", "~~"]

/** Twenty secrets, each of a server of its own. */
const secrets = Array.from({ length: 20 }, (_, at) => `canary-${at}${odd[at % odd.length]}-Zq8rT2vX5nB7mK1p`)

/** The ways in which the servers misbehave, in turns. */
const manners: ReadonlyArray<Manner> = [
  "good",
  "refusing",
  "drop",
  "cut",
  "garbled",
  "large",
  "forgetful",
  "redirect",
  "paging",
  "good"
]

/** A secret as it is, and as programs write it. */
const formsOf = (secret: string): ReadonlyArray<string> => {
  const bytes = Buffer.from(secret)
  const json = JSON.stringify(secret).slice(1, -1)
  const encoded = [bytes.toString("base64"), bytes.toString("base64url"), bytes.toString("hex")]
  return [secret, json, encodeURIComponent(secret), ...encoded, secret.split("").reverse().join("")]
}

const shown = (text: string): ReadonlyArray<string> =>
  secrets.filter((secret) => formsOf(secret).some((form) => text.includes(form)))

/** The servers with their keys; every tenth knows another key than the one that it is sent, and quotes it. */
const hostile = async (): Promise<ReadonlyArray<McpServer>> => {
  const elsewhere = await inScope(localServer((_, response) => void response.end("{}")))
  return Promise.all(
    secrets.map(async (secret, at) => {
      const server = await inScope(mcpServer(at % 10 === 9 ? "another-key" : secret))
      server.manner = manners[at % manners.length] ?? "good"
      server.elsewhere = `${elsewhere.url}/mcp`
      return server
    })
  )
}

/** All files below a directory as text, byte by byte. */
const textsIn = (directory: string): ReadonlyArray<readonly [path: string, text: string]> =>
  readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return [path, readFileSync(path, "latin1")]
    })

/** All rows of a database as text. */
const rowsIn = async (connectionString: string): Promise<ReadonlyArray<readonly [path: string, text: string]>> => {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    const tables = await client.query("select table_name from information_schema.tables where table_schema = 'public'")
    const found: Array<readonly [string, string]> = []
    for (const { table_name } of tables.rows) {
      const { rows } = await client.query(`select t::text as line from "${table_name}" t`)
      found.push([table_name, rows.map(({ line }) => line).join("\n")])
    }
    return found
  } finally {
    await client.end()
  }
}

const databases = [
  { name: "SQLite", urlOf: async () => undefined },
  { name: "PostgreSQL", urlOf: () => place.newPostgresDatabase() }
].filter(({ name }) => flowDatabases.some((row) => row.name === name))

describe("the secrets of twenty hostile servers of a project", () => {
  for (const { name, urlOf } of databases)
    it(`are nowhere that an agent, a reader of events or an operator looks, on ${name}`, async () => {
      const url = await urlOf()
      const env = {
        REINS_LOG_LEVEL: "debug",
        REINS_MANIFESTS_DIR: manifestsWithSmallAgent(place.directory, { callsTools: true }),
        ...(url !== undefined && { REINS_DATABASE_URL: url })
      }
      const servers = await hostile()
      const server = await startServer({ dataDir: place.dataDir, env })
      const caller = await newCaller(server, place.dataDir, place.gateway, env)
      const client = caller.at(server)
      const { id: project_id } = await client.projects.create({
        workspace_id: caller.workspaceId,
        slug: "hostile",
        name: "Hostile",
        spec: {
          tools: {
            mcp_servers: servers.map(({ url }, at) => ({
              name: `s${at}`,
              url,
              headers: { Authorization: { secret: `KEY_${at}`, prefix: "Bearer " } },
              allow: ["get_issue"]
            }))
          }
        }
      })
      for (const [at, secret] of secrets.entries())
        await client.projects.replaceSecret({ project_id, name: `KEY_${at}`, secret })

      const calls = servers.map((_, at) => ({ tool: `s${at}_get_issue`, args: { number: at } }))
      const look =
        'env; tr "\\0" "\\n" < /proc/$PPID/environ; tr "\\0" " " < /proc/$PPID/cmdline; cat $(find "$HOME" -type f)'
      const session = await client.sessions.create({
        workspace_id: caller.workspaceId,
        project_id,
        harness: { provider_id: "alpha", model: "scripted-1" }
      })
      // A tool that is not offered cannot be called, so those of the servers that list none are left out.
      const listed = calls.filter(
        (_, at) => !/forgetful|redirect|paging/.test(servers[at]?.manner ?? "") && at % 10 !== 9
      )
      const sent = await client.messages.send({
        session_id: session.id,
        content: script("Triage.", ...listed, { tool: "bash", cmd: look }, { say: "Done." })
      })
      const turn = await client.turns.wait({ turn_id: sent.turn_id ?? "" })
      assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
      for (const [at, { manner, calls }] of servers.entries())
        assert.lengthOf(calls, /forgetful|redirect|paging/.test(manner) || at % 10 === 9 ? 0 : 1, `s${at} ${manner}`)

      const events: Array<unknown> = []
      for await (const event of client.sessions.listEvents({ session_id: session.id })) events.push(event)
      const told = {
        events,
        check: await client.projects.checkServers({ project_id }),
        calls: await client.toolCalls.list({ turn_id: turn.id }),
        secrets: await client.projects.listSecrets({ project_id })
      }
      assert.include(JSON.stringify(events), "PATH=")
      assert.include(JSON.stringify(told.calls), "outcome_unknown")
      server.kill("SIGTERM")
      await server.ended
      const texts: ReadonlyArray<readonly [string, string]> = [
        ...Object.entries(told).map(([what, value]) => [what, JSON.stringify(value)] as const),
        ["the requests of the model", JSON.stringify(place.gateway.requests)],
        ["the log", server.log()],
        ...textsIn(place.dataDir),
        ...(url === undefined ? [] : await rowsIn(url))
      ]
      // The look itself finds something: the servers were sent what is looked for.
      const asked = servers.flatMap(({ asked }) => asked.map(({ headers }) => headers.authorization ?? ""))
      assert.lengthOf(shown(asked.join("\n")), secrets.length)
      assert.include(JSON.stringify(place.gateway.requests), "[secret]")
      assert.deepStrictEqual(
        texts.flatMap(([where, text]) => shown(text).map((secret) => `${where}: ${secret}`)),
        []
      )
    })
})
