import { assert, it } from "@effect/vitest"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { Effect } from "effect"
import * as Story from "../test/e2e/Story.js"
import { server, surroundings, temporaryDirectory } from "../test/e2e/Surroundings.js"
import { Visitor } from "../test/e2e/Visitor.js"
import { load } from "./Tools.js"

interface Prism {
  readonly listen: (port: number, address: string) => Promise<string>
  readonly close: () => Promise<void>
}

// Boundary: the tools are not among the dependencies of the repository, so their types are not here.
const { getHttpOperationsFromSpec } = load("@stoplight/prism-http") as {
  readonly getHttpOperationsFromSpec: (document: object) => Promise<ReadonlyArray<unknown>>
}
const { createServer } = load("@stoplight/prism-http-server") as {
  readonly createServer: (operations: ReadonlyArray<unknown>, options: object) => Prism
}
const { createLogger } = load("@stoplight/prism-core") as {
  readonly createLogger: (name: string, options: object) => unknown
}

/** A proxy that holds every request and answer to the document, and tells in a header what is wrong. */
const proxy = (upstream: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const document = (await (await fetch(`${upstream}/openapi.json`)).json()) as object
      const prism = createServer(await getHttpOperationsFromSpec(document), {
        components: { logger: createLogger("prism", { level: "silent" }) },
        cors: false,
        config: {
          isProxy: true,
          checkSecurity: true,
          validateRequest: true,
          validateResponse: true,
          errors: false,
          upstream: new URL(upstream),
          mock: { dynamic: false },
          upstreamProxy: undefined
        }
      })
      return { prism, url: await prism.listen(0, "127.0.0.1") }
    }),
    ({ prism }) => Effect.promise(() => prism.close())
  )

it.scopedLive(
  "Prism between a visitor and the server finds nothing in the whole story",
  () =>
    Effect.gen(function* () {
      const around = yield* surroundings
      const { url } = yield* server(around.dataDir, {
        REINS_CACHE_DIR: cacheWithSmallAgent(yield* temporaryDirectory)
      })
      const between = yield* proxy(url)
      const violations: Array<string> = []
      const visitor = new Visitor(url, {}, async (target, init) => {
        const response = await fetch(target.replace(url, between.url), init)
        const found = response.headers.get("sl-violations")
        if (found !== null) violations.push(`${init.method} ${target} ${response.status} ${found}`)
        return response
      })
      yield* Effect.promise(() => Story.whole(visitor, around, { agentKeepsState: false }))
      assert.deepStrictEqual(violations, [])
    }),
  600_000
)
