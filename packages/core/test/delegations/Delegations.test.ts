import { assert, describe, it } from "@effect/vitest"
import { defaultLimits } from "@reins/base/base/CoreLimits"
import { ChangesetId, newId } from "@reins/base/domain/Ids"
import { ChangesetStore } from "@reins/core/changes/ChangesetStore"
import { Connections } from "@reins/core/connections/Connections"
import { delegationEndings } from "@reins/core/delegations/DelegationEndings"
import { DelegationResults } from "@reins/core/delegations/DelegationResults"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Waits } from "@reins/core/delegations/Waits"
import { JobStore } from "@reins/core/jobs/JobStore"
import { Jobs } from "@reins/core/jobs/Jobs"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Journal } from "@reins/core/store/Journal"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { stranger } from "../identity/Principals.js"
import { begin, codeOf, delegationEvents, end } from "./Children.js"

const given = Effect.gen(function* () {
  const { connection, principal, workspaceId } = yield* ownerWithConnection
  const parent = yield* (yield* Sessions).create(principal, workspaceId, {
    repository: { url: "https://git.example/one.git", base_ref: "stable" }
  })
  const delegations = yield* Delegations
  const spawn = (more: Partial<Parameters<typeof delegations.spawn>[2]> = {}, sessionId: string = parent.id) =>
    Effect.map(
      delegations.spawn(principal, sessionId, { role: "reviewer", instructions: "Review it.", ...more }),
      ({ delegation }) => delegation
    )
  return { principal, workspaceId, connection, parent, delegations, results: yield* DelegationResults, spawn }
})

for (const { layer, name } of flowDatabases) {
  describe(`delegations on ${name}`, () => {
    it.scopedLive(
      "a delegation is a child session of the same repository and harness, with the instructions queued",
      () =>
        Effect.gen(function* () {
          const { connection, delegations, parent, principal, workspaceId } = yield* given
          const sessions = yield* Sessions
          const { delegation, operation } = yield* delegations.spawn(principal, parent.id, {
            role: "reviewer",
            instructions: "Review it."
          })
          assert.deepInclude(delegation, { state: "pending", depth: 1, session_id: parent.id, result_id: null })
          const child = yield* sessions.get(principal, delegation.child_session_id)
          assert.deepInclude(child, { title: "reviewer", parent_delegation_id: delegation.id, activity: "queued" })
          assert.deepStrictEqual(child.base, parent.base)
          assert.deepStrictEqual(child.harness, { ...parent.harness, connection_id: connection.id })
          const [message] = (yield* (yield* Messages).list(principal, child.id, {})).items
          assert.deepInclude(message, {
            kind: "delegation",
            role: "user",
            content: [{ type: "text", text: "Review it." }]
          })
          assert.strictEqual((yield* (yield* Jobs).operation(principal, operation.id)).subject.id, message?.turn_id)
          const children = yield* sessions.list(principal, workspaceId, { parent_session_id: parent.id })
          assert.deepStrictEqual(
            children.items.map(({ id }) => id),
            [child.id]
          )
          assert.deepStrictEqual((yield* delegations.list(principal, parent.id, {})).items, [delegation])
        }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive(
      "the last text of the child becomes the result when no shape is asked for, once nothing more waits",
      () =>
        Effect.gen(function* () {
          const { delegations, parent, principal, results, spawn } = yield* given
          const { child_session_id: child, id } = yield* spawn()
          assert.strictEqual(yield* codeOf(results.get(principal, id)), "result_not_ready")
          yield* begin(principal, child)
          assert.strictEqual((yield* delegations.get(principal, id)).state, "active")
          yield* delegations.send(principal, id, { content: "And the tests." })
          yield* end(principal, child, "succeeded", "The code is fine.")
          assert.strictEqual((yield* delegations.get(principal, id)).state, "active")
          yield* begin(principal, child)
          yield* end(principal, child, "succeeded", "The tests are fine.")
          const result = yield* results.get(principal, id)
          assert.deepInclude(result, {
            kind: "generic",
            summary: "The tests are fine.",
            verdict: null,
            changeset_id: null
          })
          assert.deepInclude(yield* delegations.get(principal, id), { state: "succeeded", result_id: result.id })
          const events = yield* delegationEvents(principal, parent.id)
          assert.deepStrictEqual(
            events.map(({ type }) => type.replace("delegation.", "")),
            ["created", "active", "message_sent", "result_published", "succeeded"]
          )
          assert.isTrue(events.every((event) => event.delegation_id === id))
          assert.strictEqual(yield* codeOf(delegations.send(principal, id, { content: "More." })), "invalid_transition")
          assert.strictEqual(yield* codeOf(delegations.cancel(principal, id)), "invalid_transition")
        }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a delegation that asks for a shape waits for a result that has it", () =>
      Effect.gen(function* () {
        const { delegations, principal, results, spawn } = yield* given
        const { child_session_id: child, id } = yield* spawn({
          result_schema: { type: "object", required: ["score"], properties: { score: { type: "integer" } } }
        })
        yield* begin(principal, child)
        yield* end(principal, child, "succeeded", "Seven.")
        assert.strictEqual((yield* delegations.get(principal, id)).state, "waiting_result")
        const wrong = yield* Effect.flip(
          results.submit(principal, id, { kind: "review", summary: "Seven.", value: { score: "7" } })
        )
        assert.strictEqual(wrong._tag, "RequestInvalid")
        const result = yield* results.submit(principal, id, {
          kind: "review",
          verdict: "approved",
          summary: "Seven.",
          value: { score: 7 }
        })
        assert.deepInclude(result, { kind: "review", verdict: "approved", value: { score: 7 } })
        assert.strictEqual((yield* delegations.get(principal, id)).state, "succeeded")
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive(
      "a result is written once: the same again is the same answer, another is refused, of two at once one wins",
      () =>
        Effect.gen(function* () {
          const { principal, results, spawn } = yield* given
          const { child_session_id: child, id } = yield* spawn()
          assert.strictEqual(
            yield* codeOf(results.submit(principal, id, { kind: "generic", summary: "Early" })),
            "invalid_transition"
          )
          yield* begin(principal, child)
          const tries = yield* Effect.forEach(
            ["one", "two"],
            (summary) =>
              Effect.either(results.submit(principal, id, { kind: "generic", summary, value: { b: 1, a: 2 } })),
            { concurrency: "unbounded" }
          )
          const [won] = tries.flatMap((tried) => (tried._tag === "Right" ? [tried.right] : []))
          const lost = tries.flatMap((tried) => (tried._tag === "Left" ? [tried.left] : []))
          assert.deepStrictEqual(
            lost.map((error) => error._tag === "ReinsError" && error.code),
            ["result_already_set"]
          )
          const again = yield* results.submit(principal, id, {
            kind: "generic",
            summary: won?.summary ?? "",
            value: { a: 2, b: 1 }
          })
          assert.deepStrictEqual(again, won)
          // The turn that submitted the result still runs. Its end changes nothing.
          yield* end(principal, child, "failed")
          assert.deepStrictEqual(yield* results.get(principal, id), won)
        }).pipe(Effect.provide(services(layer)))
    )

    for (const [to, state, reason] of [
      ["failed", "failed", "turn_failed"],
      ["interrupted", "failed", "turn_interrupted"],
      ["cancelled", "cancelled", "turn_cancelled"]
    ] as const) {
      it.scopedLive(`a child whose turn is ${to} ends its delegation ${state}`, () =>
        Effect.gen(function* () {
          const { delegations, principal, results, spawn } = yield* given
          const { child_session_id: child, id } = yield* spawn()
          yield* begin(principal, child)
          yield* end(principal, child, to)
          assert.deepInclude(yield* delegations.get(principal, id), { state, reason })
          assert.strictEqual(
            yield* codeOf(results.submit(principal, id, { kind: "generic", summary: "Late" })),
            "invalid_transition"
          )
          assert.strictEqual(yield* codeOf(results.get(principal, id)), "result_not_ready")
        }).pipe(Effect.provide(services(layer)))
      )
    }

    it.scopedLive(
      "cancelling closes the child and what it has delegated; closing a session cancels what it has delegated",
      () =>
        Effect.gen(function* () {
          const { delegations, parent, principal, spawn } = yield* given
          const sessions = yield* Sessions
          const first = yield* spawn()
          const nested = yield* spawn({}, first.child_session_id)
          assert.deepInclude(yield* delegations.cancel(principal, first.id), {
            state: "cancelled",
            reason: "user_cancelled"
          })
          assert.deepInclude(yield* delegations.get(principal, nested.id), {
            state: "cancelled",
            reason: "session_closed"
          })
          for (const id of [first.child_session_id, nested.child_session_id]) {
            assert.strictEqual((yield* sessions.get(principal, id)).lifecycle, "closed")
            const [turn] = (yield* (yield* Turns).list(principal, id, {})).items
            assert.strictEqual(turn?.state, "cancelled")
          }
          const second = yield* spawn()
          const third = yield* spawn()
          yield* sessions.close(principal, third.child_session_id)
          assert.deepInclude(yield* delegations.get(principal, third.id), {
            state: "cancelled",
            reason: "session_closed"
          })
          yield* sessions.close(principal, parent.id)
          assert.deepInclude(yield* delegations.get(principal, second.id), {
            state: "cancelled",
            reason: "session_closed"
          })
          assert.strictEqual((yield* sessions.get(principal, second.child_session_id)).lifecycle, "closed")
          assert.strictEqual(yield* codeOf(spawn()), "invalid_transition")
        }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("children that end while their session is closed end once, and the session is closed", () =>
      Effect.gen(function* () {
        const { delegations, parent, principal, spawn } = yield* given
        const children = yield* Effect.forEach(Array.from({ length: 6 }), () => spawn())
        yield* Effect.forEach(children, ({ child_session_id }) => begin(principal, child_session_id))
        yield* Effect.all(
          [
            (yield* Sessions).close(principal, parent.id),
            ...children.map(({ child_session_id }) =>
              // A turn that was asked to stop before it could succeed ends cancelled.
              end(principal, child_session_id, "succeeded", "Done.").pipe(
                Effect.catchAllDefect(() => end(principal, child_session_id, "cancelled"))
              )
            )
          ],
          { concurrency: "unbounded" }
        )
        assert.strictEqual((yield* (yield* Sessions).get(principal, parent.id)).lifecycle, "closed")
        const ended = (yield* delegations.list(principal, parent.id, {})).items
        assert.isTrue(
          ended.every(({ state }) => state === "succeeded" || state === "cancelled"),
          JSON.stringify(ended)
        )
        const ends = (yield* delegationEvents(principal, parent.id)).filter(({ type }) =>
          /\.(?:succeeded|cancelled)$/.test(type)
        )
        assert.strictEqual(ends.length, children.length)
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive(
      `at most ${defaultLimits.liveDelegations} are live in a session, however many are asked for at once`,
      () =>
        Effect.gen(function* () {
          const { delegations, parent, principal, spawn } = yield* given
          const tries = yield* Effect.forEach(
            Array.from({ length: defaultLimits.liveDelegations + 3 }),
            () => Effect.either(spawn()),
            { concurrency: "unbounded" }
          )
          const refused = tries.flatMap((tried) => (tried._tag === "Left" ? [tried.left] : []))
          assert.strictEqual(refused.length, 3)
          assert.isTrue(refused.every((error) => error._tag === "ReinsError" && error.code === "delegation_limit"))
          const [first] = (yield* delegations.list(principal, parent.id, {})).items
          yield* delegations.cancel(principal, first?.id ?? "")
          yield* spawn()
        }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive(`delegations are nested at most ${defaultLimits.delegationDepth} deep`, () =>
      Effect.gen(function* () {
        const { parent, spawn } = yield* given
        let session: string = parent.id
        for (let depth = 1; depth <= defaultLimits.delegationDepth; depth++) {
          const delegation = yield* spawn({}, session)
          assert.strictEqual(delegation.depth, depth)
          session = delegation.child_session_id
        }
        assert.strictEqual(yield* codeOf(spawn({}, session)), "delegation_limit")
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive(
      "a child that never submits its result is ended by a deadline that has a default, with its last words",
      () =>
        Effect.gen(function* () {
          const { delegations, principal, spawn } = yield* given
          const endings = yield* delegationEndings
          const journal = yield* Journal
          const silent = yield* spawn({ result_schema: { type: "object" } })
          const span = Date.parse(silent.deadline_at ?? "") - Date.parse(silent.created_at)
          assert.approximately(span, defaultLimits.delegationSeconds * 1000, 5000)
          yield* begin(principal, silent.child_session_id)
          yield* end(principal, silent.child_session_id, "succeeded", "It is nearly done.")
          assert.strictEqual((yield* delegations.get(principal, silent.id)).state, "waiting_result")
          yield* journal.commit(endings.expire(silent.id))
          const ended = yield* delegations.get(principal, silent.id)
          assert.deepInclude(ended, { state: "failed", reason: "deadline_exceeded" })
          assert.include(ended.reason_message, "It is nearly done.")
        }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("the deadline is a job that fails what has not ended, and is taken back by an end", () =>
      Effect.gen(function* () {
        const { delegations, principal, spawn } = yield* given
        const endings = yield* delegationEndings
        const journal = yield* Journal
        const jobs = yield* Jobs
        const late = yield* spawn({ deadline_seconds: 60 })
        const deadline = yield* (yield* JobStore).newestOf(late.id)
        assert.strictEqual((yield* jobs.get(principal, deadline.job_id)).run_at, late.deadline_at)
        yield* begin(principal, late.child_session_id)
        yield* journal.commit(endings.expire(late.id))
        assert.deepInclude(yield* delegations.get(principal, late.id), {
          state: "failed",
          reason: "deadline_exceeded"
        })
        const [turn] = (yield* (yield* Turns).list(principal, late.child_session_id, {})).items
        assert.strictEqual(turn?.state, "cancelling")
        const early = yield* spawn({ deadline_seconds: 60 })
        yield* delegations.cancel(principal, early.id)
        assert.strictEqual((yield* (yield* JobStore).newestOf(early.id)).state, "cancelled")
        yield* journal.commit(endings.expire(early.id))
        assert.strictEqual((yield* delegations.get(principal, early.id)).state, "cancelled")
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a child starts with a sealed changeset of the workspace, and with nothing else", () =>
      Effect.gen(function* () {
        const { delegations, parent, principal, spawn } = yield* given
        const changesets = yield* ChangesetStore
        const journal = yield* Journal
        const changeset_id = yield* newId(ChangesetId)
        assert.strictEqual(yield* codeOf(spawn({ changeset_id })), "not_found")
        const actor = { kind: "system", id: "test" } as const
        yield* journal.commit(
          changesets.open(changeset_id, parent.id, actor, { origin: "explicit", label: null, turnId: null })
        )
        assert.strictEqual(yield* codeOf(spawn({ changeset_id })), "stale_subject")
        assert.isEmpty((yield* delegations.list(principal, parent.id, {})).items)
        const captured = {
          tree: "0".repeat(40),
          subjectDigest: "sha256:0",
          kept: Effect.void,
          files: [],
          additions: 0,
          deletions: 0,
          diagnostics: [],
          hidden: []
        }
        yield* journal.commit(changesets.seal(changeset_id, captured, actor))
        const delegation = yield* spawn({ changeset_id })
        assert.strictEqual(delegation.changeset_id, changeset_id)
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("the rules of providers hold for the child too", () =>
      Effect.gen(function* () {
        const { connection, principal, spawn } = yield* given
        assert.strictEqual(yield* codeOf(spawn({ harness: { provider_id: "gamma" } })), "provider_disabled")
        const beta = yield* spawn({ harness: { provider_id: "beta" } })
        const child = yield* (yield* Sessions).get(principal, beta.child_session_id)
        assert.deepStrictEqual(child.harness, { provider_id: "beta", model: null, connection_id: null, options: null })
        yield* (yield* Connections).disconnect(principal, connection.id)
        assert.strictEqual(yield* codeOf(spawn()), "connection_revoked")
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("what belongs to somebody else is answered like what does not exist", () =>
      Effect.gen(function* () {
        const { delegations, parent, principal, results, spawn } = yield* given
        const { id } = yield* spawn()
        const other = yield* stranger
        const waits = yield* Waits
        const tries: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
          delegations.get(other, id),
          delegations.list(other, parent.id, {}),
          delegations.spawn(other, parent.id, { role: "r", instructions: "i", result_schema: { type: 1 } }),
          delegations.cancel(other, id),
          delegations.send(other, id, { content: "Hello" }),
          results.get(other, id),
          results.submit(other, id, { kind: "generic", summary: "s" }),
          waits.wait(other, id, { timeout_seconds: 0 }),
          waits.wait(other, id, { timeout_seconds: 0, wake: "message" }),
          delegations.get(principal, parent.id),
          spawn({}, id)
        ]
        for (const attempt of tries) assert.strictEqual(yield* codeOf(attempt), "not_found")
      }).pipe(Effect.provide(services(layer)))
    )
  })
}
