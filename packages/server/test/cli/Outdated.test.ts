import { Manifests, optionalProviders } from "@reins/machine/harness/Manifests"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { compareVersions, followedPackages, newestVersion } from "@reins/server/cli/harnesses/NewestVersions"
import { json, localServer } from "@reins/testing/connections/LocalServer"
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { reinsAt, worldForFile } from "./Cli.js"

const world = worldForFile()

/** Answers of registry.npmjs.org to `/-/package/<name>/dist-tags`, as they were on 2026-12-01. */
const ofNpm: Readonly<Record<string, object>> = { "@openai/codex": { latest: "0.171.0" } }

/** A registry that has these tags, and the other packages in one other way. */
const registry = (
  tags: Readonly<Record<string, unknown>>,
  other: { readonly status: number; readonly body: unknown }
) =>
  localServer(({ path }, response) => {
    const [, name = ""] = /^\/-\/package\/(.+)\/dist-tags$/.exec(path) ?? []
    const found = tags[decodeURIComponent(name)]
    if (found === undefined) return json(response, other.status, other.body)
    json(response, 200, found)
  })

describe("versions", () => {
  it("are compared as npm does, and anything else is not", () => {
    const order = ["0.9.9", "1.0.0-alpha", "1.0.0-alpha.2", "1.0.0-alpha.10", "1.0.0", "1.0.1+build", "1.10.0", "2.0.0"]
    for (const [index, version] of order.entries())
      for (const [other, than] of order.entries())
        assert.strictEqual(
          Math.sign(compareVersions(version, than) ?? Number.NaN),
          Math.sign(index - other),
          `${version} ${than}`
        )
    for (const odd of ["", "1", "v1.2.3", "latest", "1.2.3.4", "1.2.x", `${"9".repeat(400)}.0.0`])
      assert.isUndefined(compareVersions(odd, "1.0.0"), odd)
  })

  it("are looked up for each agent of the release: its own package, and the program that it starts", async () => {
    const { list } = await Effect.runPromise(
      Effect.provide(Manifests, Manifests.layerIn({ enabled: optionalProviders })).pipe(Effect.orDie)
    )
    const names = Object.fromEntries(
      list.map((manifest) => [manifest.provider_id, followedPackages(manifest).map(({ name }) => name)])
    )
    assert.deepInclude(names, {
      alpha: ["opencode-linux-x64"],
      beta: ["@agentclientprotocol/codex-acp", "@openai/codex"],
      claude: ["@agentclientprotocol/claude-agent-acp", "@anthropic-ai/claude-agent-sdk"],
      gemini: ["@google/gemini-cli"]
    })
    for (const { provider_id, runtime } of list)
      if (runtime !== null) assert.isAbove(names[provider_id]?.length ?? 0, 0, provider_id)
  })
})

describe("a registry", () => {
  const cases: ReadonlyArray<readonly [what: string, status: number, body: unknown, words: RegExp]> = [
    ["names no tag", 200, {}, /names no latest version/],
    ["is something else", 200, "a page", /names no latest version/],
    ["has a tag that is no text", 200, { latest: 5 }, /names no latest version/],
    ["refuses", 403, { error: "no" }, /answered 403/],
    ["does not know it", 404, { error: "not found" }, /answered 404/]
  ]
  for (const [what, status, body, words] of cases)
    it(`that ${what} is told as what it is`, () =>
      Effect.gen(function* () {
        const { url } = yield* registry({}, { status, body })
        const outbound = yield* Outbound
        const refused = yield* Effect.flip(newestVersion(outbound, `${url}/`, "@openai/codex"))
        assert.match(refused.message, words)
      }).pipe(
        Effect.provide(Outbound.layerWith({ allowPrivateHosts: ["*"], egress: null })),
        Effect.scoped,
        Effect.runPromise
      ))

  it("without lists of tags is asked for the newest package", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* localServer(({ path }, response) =>
        path === "/@openai%2fcodex/latest" ? json(response, 200, { version: "0.171.0" }) : json(response, 404, {})
      )
      const outbound = yield* Outbound
      assert.strictEqual(yield* newestVersion(outbound, url, "@openai/codex"), "0.171.0")
      assert.lengthOf(asked, 2)
    }).pipe(
      Effect.provide(Outbound.layerWith({ allowPrivateHosts: ["*"], egress: null })),
      Effect.scoped,
      Effect.runPromise
    ))
})

it("reins harnesses outdated says what is newer and what is not known, and installs nothing", () =>
  Effect.gen(function* () {
    const { url } = yield* registry(ofNpm, { status: 404, body: {} })
    const { at } = world()
    const asking = { ...at, env: { ...at.env, REINS_NPM_REGISTRY: url } }
    const shown = yield* Effect.promise(() => reinsAt(asking, ["harnesses", "outdated"]))
    assert.strictEqual(shown.status, 0, shown.stderr)
    assert.match(shown.stdout, /beta +@openai\/codex +\d+\.\d+\.\d+ +0\.171\.0 +(?:newer|newest)\n/)
    assert.match(shown.stdout, /alpha +opencode-linux-x64 .+ - +not known: 127\.0\.0\.1:\d+ answered 404\.\n/)
    assert.match(shown.stderr, /The registry did not say of \d+\./)
    const lines = (yield* Effect.promise(() => reinsAt(asking, ["harnesses", "outdated", "--json"]))).stdout
      .trim()
      .split("\n")
    const codex = lines.map((line) => JSON.parse(line)).find((each) => each.package === "@openai/codex")
    assert.deepInclude(codex, { provider_id: "beta", newest: "0.171.0", reason: null })
  }).pipe(Effect.scoped, Effect.runPromise))
