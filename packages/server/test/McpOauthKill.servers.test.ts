import { authorizationServer } from "@reins/testing/mcp/AuthorizationServer"
import { mcpServer } from "@reins/testing/mcp/McpServer"
import { newCaller } from "@reins/testing/process/Caller"
import { inMemory, placeForEachTest } from "@reins/testing/process/Place"
import { startServer } from "@reins/testing/process/ServerProcess"
import { Effect, Exit, Scope } from "effect"
import { afterEach, assert, beforeEach, it } from "vitest"

const place = placeForEachTest(inMemory)
const word = "canary-Zq8rT2vX5nB7mK1p"
let scope: Scope.CloseableScope
beforeEach(async () => {
  scope = await Effect.runPromise(Scope.make())
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const inScope = <A>(effect: Effect.Effect<A, never, Scope.Scope>) => Effect.runPromise(Scope.extend(effect, scope))

it("a server that is killed with a refresh token in use tells that it is used up, and does not send it again", async () => {
  const { dataDir, gateway } = place
  const issuer = await inScope(authorizationServer(word))
  const server = await inScope(mcpServer(issuer.good))
  server.authorization = [issuer.url]
  const first = await startServer({ dataDir })
  const { workspaceId: workspace_id, ...caller } = await newCaller(first, dataDir, gateway)
  const before = caller.at(first)
  const credential = { server_url: server.url, client_id: "reins", refresh_token: issuer.refreshToken }
  const { id: connection_id } = await before.connections.create({
    workspace_id,
    kind: "mcp_oauth",
    label: "lab",
    credential
  })
  const spec = { tools: { mcp_servers: [{ name: "lab", url: server.url, connection_id, allow: ["get_issue"] }] } }
  const { id: project_id } = await before.projects.create({ workspace_id, slug: "lab", name: "Lab", spec })

  // The authorization server has taken the token and made the next one, and its answer does not come.
  issuer.hold = new Promise(() => {})
  const asked = new Promise<void>((resolve) => {
    issuer.heard = resolve
  })
  const lost = before.projects.checkServers({ project_id }).catch(() => undefined)
  await asked
  first.kill("SIGKILL")
  await first.ended
  await lost

  issuer.hold = Promise.resolve()
  const second = await startServer({ dataDir })
  const after = caller.at(second)
  for (const _ of ["waits for the lease of the killed one", "sends nothing", "sends nothing"]) {
    const { servers } = await after.projects.checkServers({ project_id })
    assert.strictEqual(servers[0]?.state, "auth_required", servers[0]?.problem ?? "")
    assert.include(servers[0]?.problem ?? "", "new credential")
  }
  assert.lengthOf(issuer.forms, 2)
  assert.strictEqual((await after.connections.get({ connection_id })).health, "reauth_required")

  await after.connections.replaceCredential({
    connection_id,
    credential: { ...credential, refresh_token: issuer.refreshToken }
  })
  const { servers } = await after.projects.checkServers({ project_id })
  assert.strictEqual(servers[0]?.state, "reached", servers[0]?.problem ?? "")
  second.kill("SIGTERM")
  await second.ended
  for (const { log } of [first, second]) assert.notInclude(log(), word)
}, 120_000)
