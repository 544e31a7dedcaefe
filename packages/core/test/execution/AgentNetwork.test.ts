import { assert, describe, it } from "@effect/vitest"
import type { NetworkAccess } from "@reins/base/domain/NetworkAccess"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { SessionExecutors } from "@reins/core/execution/executor/SessionExecutors"
import { Projects } from "@reins/core/projects/Projects"
import { Sessions } from "@reins/core/sessions/Sessions"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { type Executor, Executors } from "@reins/machine/executor/Executors"
import { localServer } from "@reins/testing/connections/LocalServer"
import { Effect, Redacted } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { tunnelTo } from "../outbound/ProxyClient.js"
import { withAgent } from "./Agent.js"

const codeOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => (error instanceof ReinsError ? error.code : undefined))

describe("the network of an agent", () => {
  it.scopedLive("a list or none is refused on an executor that does not enforce it, and everything else is taken", () =>
    withAgent("alpha_gateway", ({ principal, workspaceId }) =>
      Effect.gen(function* () {
        const projects = yield* Projects
        const sessions = yield* Sessions
        const begin = Effect.fnUntraced(function* (slug: string, network?: NetworkAccess) {
          const spec = network === undefined ? {} : { network }
          const { id } = yield* projects.create(principal, workspaceId, { slug, name: slug, spec })
          return yield* sessions.create(principal, workspaceId, { project_id: id })
        })
        assert.strictEqual(yield* codeOf(begin("none", "none")), "executor_unavailable")
        assert.strictEqual(yield* codeOf(begin("list", ["registry.example"])), "executor_unavailable")
        yield* begin("silent")
        const { id } = yield* begin("open", "open")
        yield* (yield* SessionExecutors).activate(principal, id, {})
      })
    )
  )

  it.effect("an executor that restricts the network takes every spec", () =>
    Effect.gen(function* () {
      const strict: Executor = {
        backend: "strict",
        isolation: {
          level: "sandbox",
          process_group: true,
          own_home: true,
          filesystem: "restricted",
          network: "restricted",
          summary: "For a test."
        },
        spawn: () => Effect.dieMessage("it runs nothing"),
        reap: () => Effect.succeed([])
      }
      const { choose } = yield* Effect.provide(Executors, Executors.layerOf([strict]))
      for (const network of ["none", "open", ["registry.example"], undefined] as const)
        assert.strictEqual(yield* choose(undefined, network === undefined ? {} : { networks: [network] }), "strict")
    })
  )

  it.scopedLive(
    "an agent with an open network has a proxy of its own for its turn, which leads to no private host",
    () =>
      withAgent("alpha_gateway", ({ principal, runTurn, workspaceId }) =>
        Effect.gen(function* () {
          const project = yield* (yield* Projects).create(principal, workspaceId, {
            slug: "open",
            name: "open",
            spec: { network: "open" }
          })
          const { id } = yield* (yield* Sessions).create(principal, workspaceId, { project_id: project.id })
          const inner = yield* localServer((_asked, response) => void response.end("inner"))
          const cmd = `echo "$HTTPS_PROXY" > proxy.txt; curl -sS -p --noproxy "" -x "$HTTPS_PROXY" http://127.0.0.1:${inner.port}/ > said.txt 2>&1; true`
          const turn = yield* runTurn(id, script("Look.", { tool: "bash", cmd }, { say: "Done." }))
          assert.strictEqual(turn.state, "succeeded")
          const read = (path: string) =>
            Effect.flatMap(SessionFiles, (files) =>
              Effect.map(files.read(principal, id, path), ({ content }) => content)
            )
          assert.include(yield* read("said.txt"), "403")
          assert.lengthOf(inner.asked, 0)
          const url = new URL((yield* read("proxy.txt")).trim())
          assert.strictEqual(url.hostname, "127.0.0.1")
          const passage = { url: Redacted.make(url.href), port: Number(url.port) }
          assert.strictEqual((yield* tunnelTo(passage, "registry.example:443")).status, 407)
        })
      )
  )
})
