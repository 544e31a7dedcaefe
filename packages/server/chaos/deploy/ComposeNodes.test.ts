import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { placeForEachTest } from "@reins/testing/process/Place"
import { assert, it } from "vitest"
import { type Container, Network } from "./Containers.js"
import { deployed, readYaml } from "./Deploy.js"
import { assertSettings, assertWorkAcrossNodes } from "./SeveralNodes.js"

const place = placeForEachTest()

interface Service {
  readonly command?: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
  readonly volumes?: ReadonlyArray<string>
  readonly tmpfs?: ReadonlyArray<string>
  readonly networks?: Readonly<Record<string, unknown>>
  readonly ports?: ReadonlyArray<unknown>
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly build?: { readonly dockerfile: string }
  readonly stop_grace_period?: string
}

const variables = {
  REINS_DOMAIN: "reins.example.com",
  POSTGRES_PASSWORD: "s3cret",
  REINS_SMTP_URL: "smtp://127.0.0.1:9"
}

const compose = (env: Readonly<Record<string, string>>) =>
  spawnSync("docker-compose", ["--file", deployed("compose-nodes.yaml"), "config"], {
    env: { PATH: process.env["PATH"], ...env },
    encoding: "utf8"
  })

const composed = (): Readonly<Record<string, Service>> => {
  const { status, stderr, stdout } = compose(variables)
  assert.strictEqual(status, 0, stderr)
  const [document] = readYaml(stdout) as ReadonlyArray<{ services: Readonly<Record<string, Service>> }>
  return document?.services ?? {}
}

/** The services of the image. */
const ours = () => Object.entries(composed()).filter(([, { build }]) => build?.dockerfile === "deploy/Dockerfile")

it("compose takes the file of several nodes, and asks for what it needs", () => {
  assert.sameMembers(Object.keys(composed()), ["keys", "migrate", "api", "runner-1", "runner-2", "postgres", "caddy"])
  for (const name of Object.keys(variables)) {
    const { [name]: _, ...others } = variables as Readonly<Record<string, string>>
    const { status, stderr } = compose(others)
    assert.notStrictEqual(status, 0, name)
    assert.match(stderr, /domain|password|mail server/)
  }
})

it("every setting is one, PostgreSQL and the runners are reached by nodes alone, and nodes begin after the key ring and the schema", async () => {
  const services = composed()
  for (const [, { environment }] of ours()) await assertSettings(environment)
  const networksOf = (name: string) => Object.keys(services[name]?.networks ?? {})
  assert.deepStrictEqual(networksOf("postgres"), ["back"])
  assert.deepStrictEqual(networksOf("caddy"), ["front"])
  for (const name of ["runner-1", "runner-2"]) assert.sameMembers(networksOf(name), ["back", "out"])
  assert.deepStrictEqual(
    Object.keys(services).filter((name) => services[name]?.ports !== undefined),
    ["caddy"]
  )
  for (const name of ["api", "runner-1", "runner-2"]) {
    assert.deepStrictEqual(
      Object.entries(services[name]?.depends_on ?? {}).map(([on, { condition }]) => [on, condition]),
      [
        ["keys", "service_completed_successfully"],
        ["migrate", "service_completed_successfully"]
      ]
    )
    assert.strictEqual(services[name]?.stop_grace_period, "20s")
    assert.include(services[name]?.volumes ?? [], "keys:/var/lib/reins-keys:ro")
  }
})

it("its services, run as they are written, have a session go on on the other node", { timeout: 300_000 }, async () => {
  const network = new Network(place.directory)
  const volumesOf = (name: string, { tmpfs = [], volumes = [] }: Service): Container["volumes"] =>
    Object.fromEntries([
      ...volumes.map((volume) => {
        const [from = "", to = "", mode = "rw"] = volume.split(":")
        return [to, { from: join(place.directory, "volumes", from), readOnly: mode === "ro" }] as const
      }),
      ...tmpfs
        .map((mount) => mount.split(":")[0] ?? "")
        .filter((path) => path !== "/tmp")
        .map((path) => [path, { from: join(place.directory, `tmpfs-${name}`), readOnly: false }] as const)
    ])
  const containers = Object.fromEntries(
    ours().map(([name, service]): [string, Container] => [
      name,
      {
        names: [name],
        address: network.join(name),
        command: service.command ?? [],
        environment: service.environment,
        volumes: volumesOf(name, service)
      }
    ])
  )
  const { api, keys, migrate, "runner-1": one, "runner-2": two } = containers
  assert(api && keys && migrate && one && two)
  await assertWorkAcrossNodes(place, {
    network,
    first: [keys, migrate],
    nodes: { api, "runner-1": one, "runner-2": two },
    entry: "api",
    drain: (node) => ({ ...api, command: ["node", "drain", node, "--wait"] }),
    keyFile: join(place.directory, "volumes/keys/keyring.json"),
    changes: { REINS_CACHE_DIR: cacheWithSmallAgent(place.directory) }
  })
})
