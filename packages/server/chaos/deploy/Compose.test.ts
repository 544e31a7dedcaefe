import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { load } from "@reins/server/Config"
import { Effect } from "effect"
import { assert, it } from "vitest"
import { deployed, imageSays, readYaml, rests, root, stagesOf } from "./Deploy.js"

interface Composed {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly environment: Readonly<Record<string, string>>
        readonly volumes: ReadonlyArray<string>
        readonly networks: Readonly<Record<string, unknown>>
        readonly build?: { readonly context: string; readonly dockerfile: string }
      }
    >
  >
}

const variables = { REINS_DOMAIN: "reins.example.com", POSTGRES_PASSWORD: "s3cret" }

const compose = (env: Readonly<Record<string, string>>) =>
  spawnSync("docker-compose", ["--file", deployed("compose.yaml"), "config"], {
    env: { PATH: process.env["PATH"], ...env },
    encoding: "utf8"
  })

/** The file as compose understands it, by way of its own YAML. */
const read = (): Composed => {
  const { status, stderr, stdout } = compose(variables)
  assert.strictEqual(status, 0, stderr)
  const [document] = readYaml(stdout) as ReadonlyArray<Composed>
  assert(document)
  return document
}

let composition: Composed | undefined
const composed = (): Composed => {
  composition ??= read()
  return composition
}

it("compose takes the file, and asks for the domain and the password", () => {
  assert.sameMembers(Object.keys(composed().services), ["reins", "postgres", "caddy"])
  for (const name of Object.keys(variables)) {
    const { [name]: _, ...others } = variables as Readonly<Record<string, string>>
    const { status, stderr } = compose(others)
    assert.notStrictEqual(status, 0)
    assert.include(stderr, "REINS_DOMAIN" === name ? "domain" : "password")
  }
})

it("every setting that is given to the server is one, and fits the image and the network", async () => {
  const { services } = composed()
  const { build, environment = {}, volumes = [] } = services["reins"] ?? {}
  const [, image = []] = stagesOf(deployed("Dockerfile"))
  const fromImage = imageSays.environment
  const config = await Effect.runPromise(load({}, { ...fromImage, ...environment }, "/nowhere"))
  const ours = Object.keys({ ...fromImage, ...environment }).filter((name) => name.startsWith("REINS_"))
  const flags = Object.fromEntries(
    ours.map((name) => [name.slice(6).toLowerCase(), { ...fromImage, ...environment }[name]])
  )
  const given = Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== ""))
  // Given as flags, a name that is no setting is refused; in the environment it is passed over.
  await Effect.runPromise(load(given, {}, "/nowhere"))
  assert.strictEqual(config.publicUrl.href, "https://reins.example.com/")
  assert.deepStrictEqual(config.trustedProxies, ["10.77.7.0/24"])
  assert.isFalse(config.metrics, "the figures are on only where nobody else can reach them")
  const mounted = volumes.map((volume) => volume.split(":")[1] ?? "")
  const made = rests(image, "RUN").join(" ")
  for (const path of [config.dataDir, "/var/lib/reins-keys"]) {
    assert.include(mounted, path)
    assert.match(made, new RegExp(`install --directory --owner=reins .*${path}( |$)`))
  }
  assert.strictEqual(config.keyFile, "/var/lib/reins-keys/keyring.json")
  assert.strictEqual(build?.context, root)
  assert.isTrue(existsSync(`${root}/${build?.dockerfile}`))
})

it("the database is reached by the server alone", () => {
  const { services } = composed()
  const networksOf = (name: string) => Object.keys(services[name]?.networks ?? {})
  assert.deepStrictEqual(networksOf("postgres"), ["back"])
  assert.deepStrictEqual(networksOf("caddy"), ["front"])
})
