import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { type CoreLimits, defaultLimits } from "@reins/base/base/CoreLimits"
import { Artifacts } from "@reins/core/artifacts/Artifacts"
import { Messages } from "@reins/core/sessions/Messages"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { end } from "../delegations/Children.js"
import { agentOf, newAgent } from "./CallingAgent.js"

/** An agent whose working tree is there, and how it publishes a file of so many bytes. */
const publisher = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const first = yield* newAgent(principal, workspaceId)
  yield* (yield* WorkingTrees).make(first.sessionId)
  const { workTree } = yield* pathsOf(first.sessionId)
  let files = 0
  const publishAs = (agent: typeof first, bytes = 1) =>
    Effect.suspend(() => {
      const path = `${++files}.txt`
      writeFileSync(join(workTree, path), "x".repeat(bytes))
      return agent.call("publish_artifact", { path })
    })
  return { first, principal, publishAs }
})

for (const { layer, name } of flowDatabases) {
  describe(`the limits of artifacts on ${name}`, () => {
    const withLimits = (more: Partial<CoreLimits>) =>
      Effect.provide(services(layer, { limits: { ...defaultLimits, ...more } }))

    it.scopedLive("a file is as large as it may be, and one of a byte more is refused with both sizes", () =>
      Effect.gen(function* () {
        const { first, publishAs } = yield* publisher
        for (const bytes of [999, 1000]) {
          const kept = yield* publishAs(first, bytes)
          assert.isFalse(kept.is_error, kept.text)
        }
        const refused = yield* publishAs(first, 1001)
        assert.isTrue(refused.is_error)
        assert.strictEqual(refused.text, "path: the file has 1001 bytes, and 1000 are allowed. Publish a smaller one.")
      }).pipe(withLimits({ artifactBytes: 1000 }))
    )

    it.scopedLive("20 files at once are as many as a turn may publish, and the next turn has room again", () =>
      Effect.gen(function* () {
        const { first, principal, publishAs } = yield* publisher
        const answers = yield* Effect.forEach(Array.from({ length: 20 }), () => publishAs(first), {
          concurrency: "unbounded"
        })
        const refused = answers.filter(({ is_error }) => is_error)
        assert.lengthOf(refused, 17)
        for (const { text } of refused) {
          assert.include(text, "A turn publishes at most 3 files, and this one has published them")
          assert.include(text, "Put what is left into one file")
        }
        yield* end(principal, first.sessionId, "succeeded", "Done.")
        yield* (yield* Messages).send(principal, first.sessionId, { content: "Go on." })
        const second = yield* agentOf(principal, first.sessionId)
        for (const _ of [1, 2]) assert.isFalse((yield* publishAs(second)).is_error)
        // The session keeps five, whatever turn they are of.
        const full = yield* publishAs(second)
        assert.isTrue(full.is_error)
        assert.include(full.text, "A session keeps at most 5 published files, and this one keeps them")
        const artifacts = yield* Artifacts
        const { items } = yield* artifacts.list(principal, first.sessionId, { limit: 100 })
        assert.lengthOf(items, 5)
        yield* artifacts.delete(principal, items[0]?.id ?? "")
        assert.isFalse((yield* publishAs(second)).is_error)
      }).pipe(withLimits({ artifactsPerTurn: 3, artifactsPerSession: 5 }))
    )
  })
}
