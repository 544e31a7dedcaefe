import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { defaultLimits } from "@reins/base/base/CoreLimits"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Sessions } from "@reins/core/sessions/Sessions"
import type { Bell } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Layer } from "effect"
import { codeOf } from "../delegations/Children.js"
import { agentOf, newAgent, valueOf } from "./CallingAgent.js"

const limitsOf = (more: Partial<typeof defaultLimits>) => ({ limits: { ...defaultLimits, ...more } })

/** Two servers on one database, with one data directory. */
const twoNodes = Effect.fnUntraced(function* (
  database: Layer.Layer<Database | Bell>,
  limits: Partial<typeof defaultLimits>
) {
  const dataDir = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-tree-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  const shared = Layer.succeedContext(yield* Layer.build(database))
  const node = Layer.build(Layer.fresh(services(shared, { dataDir, ...limitsOf(limits) })))
  return [yield* node, yield* node] as const
})

const delegate = (name: string) => ["delegate", { name, instructions: "Do a part." }] as const

for (const { layer, name } of flowDatabases) {
  describe(`the limits of delegations on ${name}`, () => {
    it.scopedLive(
      "20 calls at once, of five sessions of a tree and two servers, make exactly as many as there is room",
      () =>
        Effect.gen(function* () {
          const [one, other] = yield* twoNodes(layer, { treeDelegations: 10, liveDelegations: 50, openToolCalls: 50 })
          const { children, principal, root } = yield* Effect.gen(function* () {
            const { principal, workspaceId } = yield* ownerWithConnection
            const root = yield* newAgent(principal, workspaceId)
            const children = yield* Effect.forEach(["a", "b", "c", "d"], (each) =>
              Effect.map(root.call(...delegate(each)), (answer) => valueOf(answer).session_id)
            )
            return { children, principal, root }
          }).pipe(Effect.provide(one))
          const agents = yield* Effect.forEach(children, (id, index) =>
            Effect.provide(agentOf(principal, id), index % 2 === 0 ? one : other)
          )
          const callers = [root, ...agents]
          const answers = yield* Effect.forEach(
            Array.from({ length: 20 }, (_, index) => index),
            (index) => (callers[index % callers.length] ?? assert.fail("no agent")).call(...delegate(`part ${index}`)),
            { concurrency: "unbounded" }
          )
          const refused = answers.filter(({ is_error }) => is_error)
          const made = yield* Effect.gen(function* () {
            const delegations = yield* Delegations
            const lists = yield* Effect.forEach(callers, ({ sessionId }) =>
              delegations.list(principal, sessionId, { limit: 100 })
            )
            return lists.flatMap(({ items }) => items)
          }).pipe(Effect.provide(one))
          assert.lengthOf(made, 10)
          assert.lengthOf(refused, 14)
          for (const { text } of refused) {
            assert.include(text, "have delegated 10 times already")
            assert.include(text, "do the work itself")
            assert.include(text, "delegation_limit")
          }
        })
    )

    it.scopedLive("20 calls at once of one session, and calls of one name, never pass the limit of live ones", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const root = yield* newAgent(principal, workspaceId)
        const answers = yield* Effect.forEach(
          // Each name is called twice at the same time.
          Array.from({ length: 20 }, (_, index) => `part ${Math.floor(index / 2)}`),
          (each) => root.call(...delegate(each)),
          { concurrency: "unbounded" }
        )
        const made = answers.filter(({ is_error }) => !is_error).map(valueOf)
        assert.strictEqual(new Set(made.map(({ delegation_id }) => delegation_id)).size, 5)
        assert.lengthOf(made, 10)
        for (const { is_error, text } of answers)
          if (is_error) assert.include(text, "5 delegations of this session are live already. Wait for one to end")
      }).pipe(Effect.provide(services(layer, limitsOf({ liveDelegations: 5 }))))
    )

    it.scopedLive("calls of one name are one delegation, also where they take the last places of a tree", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const root = yield* newAgent(principal, workspaceId)
        const answers = yield* Effect.forEach(
          // Each name is called twice at the same time.
          Array.from({ length: 20 }, (_, index) => `part ${Math.floor(index / 2)}`),
          (each) => root.call(...delegate(each)),
          { concurrency: "unbounded" }
        )
        const made = answers.filter(({ is_error }) => !is_error).map(valueOf)
        assert.strictEqual(new Set(made.map(({ delegation_id }) => delegation_id)).size, 5)
        assert.lengthOf(made, 10)
      }).pipe(Effect.provide(services(layer, limitsOf({ treeDelegations: 5 }))))
    )

    it.scopedLive("a refused call is decided anew when it comes again, and an accepted one stays what it was", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const root = yield* newAgent(principal, workspaceId)
        const first = valueOf(yield* root.call(...delegate("first")))
        for (const _ of [1, 2]) {
          const refused = yield* root.call(...delegate("second"))
          assert.isTrue(refused.is_error)
          assert.include(refused.text, "1 delegations of this session are live already")
        }
        yield* root.call("cancel", { delegation_id: "first" })
        const second = valueOf(yield* root.call(...delegate("second")))
        assert.deepInclude(second, { existing: false, state: "pending" })
        yield* root.call("cancel", { delegation_id: "second" })
        assert.deepInclude(valueOf(yield* root.call(...delegate("first"))), {
          existing: true,
          state: "cancelled",
          delegation_id: first.delegation_id
        })
      }).pipe(Effect.provide(services(layer, limitsOf({ liveDelegations: 1 }))))
    )

    it.scopedLive("an agent one level above the deepest delegates, and one at it is offered and given nothing", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const root = yield* newAgent(principal, workspaceId)
        const child = yield* agentOf(principal, valueOf(yield* root.call(...delegate("child"))).session_id)
        const last = yield* agentOf(principal, valueOf(yield* child.call(...delegate("last"))).session_id)
        const refused = yield* last.call(...delegate("below"))
        assert.isTrue(refused.is_error)
        assert.include(refused.text, "delegate is not there")
        // The same through the API, which has no list of tools.
        const spawning = (yield* Delegations).spawn(principal, last.sessionId, { role: "x", instructions: "y" })
        assert.strictEqual(yield* codeOf(spawning), "delegation_limit")
        const sessions = yield* (yield* Sessions).list(principal, workspaceId, {})
        assert.lengthOf(sessions.items, 3)
      }).pipe(Effect.provide(services(layer, limitsOf({ delegationDepth: 2 }))))
    )
  })
}
