import { execFile, execFileSync } from "node:child_process"
import { mkdirSync, readFileSync } from "node:fs"
import { createServer as createSecureServer } from "node:https"
import { join } from "node:path"
import { type OperatorProxy, startOperatorProxy } from "@reins/testing/connections/ConnectProxy"
import { localServer } from "@reins/testing/connections/LocalServer"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { processesWhere, shown } from "@reins/testing/executor/Processes"
import { bareRemote } from "@reins/testing/git/Fixture"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import { newCaller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { published, startServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Exit, Scope } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterEach, assert, beforeEach, it } from "vitest"
import { agent } from "../Volume.js"

const place = placeForEachTest()

const namespace = `reins-egress-${process.pid}`
const cable = `re${process.pid % 100_000}`
const [outside, inside] = ["10.79.0.1", "10.79.0.2"]
const ip = (...args: ReadonlyArray<string>) => execFileSync("ip", args, { stdio: "pipe" })
const launcher = ["ip", "netns", "exec", namespace]

const password = "egress-canary-p@ss:1"
const authorization = `Basic ${Buffer.from(`operator:${password}`).toString("base64")}`

let scope: Scope.CloseableScope
let proxy: OperatorProxy
let world: Readonly<Record<string, number>> = {}

const lives = <A>(made: Effect.Effect<A, never, Scope.Scope>) => Effect.runPromise(Scope.extend(made, scope))

beforeEach(async () => {
  scope = await Effect.runPromise(Scope.make())
  ip("netns", "add", namespace)
  ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", namespace)
  ip("addr", "add", `${outside}/30`, "dev", cable)
  ip("link", "set", cable, "up")
  ip("-n", namespace, "addr", "add", `${inside}/30`, "dev", "eth0")
  for (const device of ["eth0", "lo"]) ip("-n", namespace, "link", "set", device, "up")
  proxy = await startOperatorProxy({ authorization, host: outside, world: (asked) => world[asked] ?? { status: 403 } })
})

afterEach(async () => {
  await place.endProcesses()
  await proxy.close()
  ip("netns", "del", namespace)
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

/** A web server with a certificate that nobody signed. */
const secureServer = (directory: string) => {
  const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")]
  const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=a"]
  execFileSync("openssl", [...args, "-keyout", key, "-out", cert], { stdio: "pipe" })
  const options = { key: readFileSync(key), cert: readFileSync(cert) }
  return onLoopback(() => createSecureServer(options, (_request, response) => void response.end("from the world")))
}

it("a server whose only way out is a proxy does its whole job through it", async () => {
  const { dataDir, directory, gateway } = place
  const remotes = join(directory, "remotes")
  mkdirSync(remotes)
  const path = bareRemote(remotes, { "README.md": "hello\n" }).slice(remotes.length)
  const git = await lives(gitHttpServer(remotes, null))
  const hooks = await lives(localServer((_asked, response) => void response.writeHead(204).end()))
  const registry = await lives(localServer((_asked, response) => void response.writeHead(404).end()))
  const portOf = (url: string) => Number(new URL(url).port)
  world = {
    "gateway.example:80": portOf(gateway.url),
    "git.example:80": portOf(git.url),
    "hooks.example:80": hooks.port,
    "registry.example:80": registry.port,
    "1.1.1.1:443": await lives(secureServer(directory))
  }
  const env = {
    REINS_EGRESS_PROXY: `http://operator:${encodeURIComponent(password)}@${outside}:${proxy.port}`,
    REINS_ALLOW_PRIVATE_HOSTS: "gateway.example,git.example,hooks.example",
    REINS_EXECUTOR: "local"
  }
  const server = await startServer({ dataDir, env, launcher, agent, args: ["--host", inside] })
  const caller = await newCaller(server, dataDir, { url: "http://gateway.example/v1" })
  const client = caller.at(server)
  const workspace_id = caller.workspaceId

  const own = (await client.connections.list({ workspace_id })).items.find(({ kind }) => kind === "alpha_gateway")
  const { operation } = await client.connections.validate({ connection_id: own?.id ?? "" })
  await client.jobs.wait(operation)
  assert.strictEqual((await client.connections.get({ connection_id: own?.id ?? "" })).health, "ready")

  await client.webhooks.createEndpoint({ workspace_id, url: "http://hooks.example/hook" })
  const { id: session_id } = await client.sessions.create({
    workspace_id,
    repository: { url: `http://git.example${path}` },
    harness: { provider_id: "alpha", model: "scripted-1" }
  })
  // The agent asks through the way that it was given, past it, and for what no agent may reach.
  const cmd = [
    "curl -sk -m 10 https://1.1.1.1/ > proxied.txt",
    "curl -sk -m 3 --noproxy '*' https://1.1.1.1/ > direct.txt || echo none > direct.txt",
    `curl -sk -m 10 -o /dev/null -w '%{http_connect}' https://${outside}/ > private.txt`,
    "env > environment.txt; true"
  ].join("\n")
  const { turn } = await client
    .run({ session_id, content: script("Look.", { tool: "bash", cmd }, { say: "Done." }) })
    .final()
  assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
  const textOf = async (file: string) => (await client.sessions.getFile({ session_id, path: file })).content?.trim()
  assert.strictEqual(await textOf("README.md"), "hello")
  assert.strictEqual(await textOf("proxied.txt"), "from the world")
  assert.strictEqual(await textOf("direct.txt"), "none")
  assert.strictEqual(await textOf("private.txt"), "403")
  assert.notInclude(await textOf("environment.txt"), "egress-canary")
  await eventually("the webhook is delivered", () => hooks.asked.length > 0)

  const [changeset] = (await client.sessions.listChangesets({ session_id })).items
  const asked = await client.changesets.deliver({ changeset_id: changeset?.id ?? "" })
  await client.jobs.wait(asked.operation)
  const delivery = await client.deliveries.get({ delivery_id: asked.delivery.id })
  assert.strictEqual(delivery.state, "succeeded", JSON.stringify(delivery))
  const refs = execFileSync("git", ["-C", join(remotes, path), "for-each-ref"], { encoding: "utf8" })
  assert.include(refs, delivery.target_ref)

  // The guard refuses these before the proxy hears of them.
  for (const base_url of [`https://${outside}/v1`, "https://169.254.169.254/v1", "http://other.example/v1"]) {
    const made = await client.connections.create({
      workspace_id,
      kind: "alpha_gateway",
      label: "refused",
      credential: { base_url, api_key: "k" }
    })
    const refused = await client.connections.validate({ connection_id: made.id })
    await client.jobs.wait(refused.operation)
    assert.notStrictEqual((await client.connections.get({ connection_id: made.id })).health, "ready", base_url)
  }

  const words = [...launcher.slice(1), process.execPath, published, "harnesses", "install", "alpha"]
  const cached = { REINS_CACHE_DIR: join(directory, "cache"), REINS_NPM_REGISTRY: "http://registry.example" }
  // The proxy is in this process, which must not be blocked meanwhile.
  const said = await new Promise<string>((resolve) =>
    execFile(
      "ip",
      [...words, "--data-dir", dataDir],
      { env: { ...process.env, ...env, ...cached } },
      (_, out, errors) => resolve(out + errors)
    )
  )
  assert.include(said, "The registry answered 404")

  assert.sameMembers([...new Set(proxy.asked)], [...Object.keys(world)])
  const told = server.log() + said + JSON.stringify(await client.sessions.listEvents({ session_id }))
  assert.notInclude(told, "egress-canary")
  assert.lengthOf(
    processesWhere((pid) => shown(pid, "cmdline").includes("egress-canary")),
    0
  )
})
