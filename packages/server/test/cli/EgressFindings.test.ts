import { assert, it } from "@effect/vitest"
import { startOperatorProxy } from "@reins/testing/connections/ConnectProxy"
import { localServer } from "@reins/testing/connections/LocalServer"
import { placeForEachTest } from "@reins/testing/process/Place"
import { Effect } from "effect"
import { reinsAt } from "./Cli.js"

const place = placeForEachTest()
const authorization = `Basic ${Buffer.from("operator:egress-canary-7").toString("base64")}`

const proxyOf = (options: Omit<Parameters<typeof startOperatorProxy>[0], "host">) =>
  Effect.acquireRelease(
    Effect.promise(() => startOperatorProxy(options)),
    ({ close }) => Effect.promise(close)
  )

/** The finding of the doctor about a proxy; undefined when it has none. */
const found = (env: Readonly<Record<string, string>>) =>
  Effect.promise(async () => {
    const args = ["doctor", "--json", "--data-dir", place.dataDir]
    const { stderr, stdout } = await reinsAt({ cwd: place.directory, env }, args)
    assert.notMatch(stdout + stderr, /canary|^ +at /m)
    const { checks }: { readonly checks: ReadonlyArray<Record<"check" | "state" | "detail" | "todo", string>> } =
      JSON.parse(stdout)
    return checks.find(({ check }) => check === "egress proxy")
  })

it.scopedLive("doctor says whether the egress proxy is reached, takes its password and connects", () =>
  Effect.gen(function* () {
    assert.isUndefined(yield* found({}))
    const server = yield* localServer((_asked, response) => void response.end())
    const proxy = yield* proxyOf({
      authorization,
      world: (asked) =>
        asked === "registry.example:80" ? server.port : { status: asked.startsWith("busy") ? 502 : 403 }
    })
    const [own, other] = [`operator:egress-canary-7@127.0.0.1:${proxy.port}`, `operator:canary@127.0.0.1:${proxy.port}`]
    const at = (login: string, registry = "http://registry.example/npm/") =>
      found({ REINS_EGRESS_PROXY: `http://${login}`, REINS_NPM_REGISTRY: registry })
    assert.deepInclude(yield* at(own), {
      state: "ok",
      detail: `127.0.0.1:${proxy.port} connects to registry.example:80`
    })
    const refused = yield* at(own, "https://held-back.example")
    assert.deepInclude(refused, { state: "warn" })
    assert.include(refused?.detail, "does not connect to held-back.example:443 (403)")
    assert.deepInclude(yield* at(own, "https://busy.example"), { state: "warn" })
    for (const login of [other, `127.0.0.1:${proxy.port}`]) {
      const stranger = yield* at(login)
      assert.deepInclude(stranger, { state: "fail" })
      assert.include(stranger?.detail, "does not accept its name and password (407)")
    }
    const nobody = yield* at("operator:canary@127.0.0.1:9")
    assert.deepInclude(nobody, { state: "fail" })
    assert.include(nobody?.detail, "cannot be reached (ECONNREFUSED)")
    // The registry of this machine needs no proxy, so the public one is asked for.
    const direct = yield* at(own, `http://127.0.0.1:${server.port}`)
    assert.include(direct?.detail, "does not connect to ")
    assert.deepInclude(direct, { state: "warn" })
    assert.isTrue(proxy.asked.some((asked) => asked.endsWith(":443") && !asked.includes("example")))
  })
)
