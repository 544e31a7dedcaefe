import { assert, describe, it } from "@effect/vitest"
import { defaultLimits } from "@reins/base/base/CoreLimits"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Providers } from "@reins/core/catalog/Providers"
import { Connections } from "@reins/core/connections/Connections"
import * as Embedded from "@reins/core/Embedded"
import { EventLog } from "@reins/core/events/EventLog"
import { Jobs } from "@reins/core/jobs/Jobs"
import { Projects } from "@reins/core/projects/Projects"
import { Messages } from "@reins/core/sessions/Messages"
import type { Session } from "@reins/core/sessions/rows/Session"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { restOn } from "@reins/testing/Variants"
import { Effect } from "effect"
import { stranger } from "../identity/Principals.js"

const codeOf = <A, E>(effect: Effect.Effect<A, E | ReinsError>) =>
  Effect.map(Effect.flip(effect), (error) =>
    typeof error === "object" && error !== null && "code" in error ? error.code : error
  )

for (const { layer, name } of databases) {
  describe(`sessions on ${name}`, () => {
    restOn(name)(() => {
      it.scopedLive("a disabled provider, and one that no manifest declares, cannot be chosen", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const sessions = yield* Sessions
          for (const provider_id of ["gamma", "delta", "epsilon", "zeta", "omega"]) {
            const code = yield* codeOf(sessions.create(principal, workspaceId, { harness: { provider_id } }))
            assert.strictEqual(code, "provider_disabled")
          }
        }).pipe(Effect.provide(services(layer)))
      )

      it.scopedLive(
        "alpha without an active connection is refused, when a session is made and when a message is sent",
        () =>
          Effect.gen(function* () {
            const { principal, workspaceId } = yield* Embedded.owner
            const sessions = yield* Sessions
            assert.strictEqual(yield* codeOf(sessions.create(principal, workspaceId, {})), "connection_required")
            const { connection } = yield* ownerWithConnection
            const session = yield* sessions.create(principal, workspaceId, {})
            assert.strictEqual(session.harness.connection_id, connection.id)
            yield* (yield* Connections).disconnect(principal, connection.id)
            const send = (yield* Messages).send(principal, session.id, { content: "Hello" })
            assert.strictEqual(yield* codeOf(send), "connection_revoked")
          }).pipe(Effect.provide(services(layer)))
      )

      it.scopedLive("a capability that is unsupported or unknown is refused", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const session = yield* (yield* Sessions).create(principal, workspaceId, {})
          const steer = (yield* Messages).send(principal, session.id, { content: "Left!", routing: "steer" })
          assert.strictEqual(yield* codeOf(steer), "unsupported_capability")
          const unknown = (yield* Providers).requireCapability("beta", "native_state_export")
          assert.strictEqual(yield* codeOf(unknown), "unsupported_capability")
        }).pipe(Effect.provide(services(layer)))
      )
    })

    it.scopedLive("turns wait in order, are cancelled, retried and counted, and events never leave a gap", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const messages = yield* Messages
        const turns = yield* Turns
        const session = yield* (yield* Sessions).create(principal, workspaceId, { message: "First" })
        assert.strictEqual(session.activity, "queued")
        yield* Effect.forEach(
          Array.from({ length: defaultLimits.queuedTurns - 1 }),
          () => messages.send(principal, session.id, { content: "More" }),
          {
            concurrency: 10
          }
        )
        assert.strictEqual(
          yield* codeOf(messages.send(principal, session.id, { content: "Too much" })),
          "quota_exhausted"
        )
        const cancelled = yield* turns.cancel(principal, session.turn_id ?? "")
        assert.strictEqual(cancelled.state, "cancelled")
        assert.strictEqual(yield* codeOf(turns.cancel(principal, cancelled.id)), "invalid_transition")
        const job = yield* (yield* Jobs).get(principal, session.operation?.job_id ?? "")
        assert.strictEqual(job.state, "cancelled")
        const retried = yield* turns.retry(principal, cancelled.id)
        assert.deepStrictEqual([retried.state, retried.retry_of_turn_id], ["queued", cancelled.id])
        assert.strictEqual(yield* codeOf(turns.retry(principal, retried.id)), "invalid_transition")
        const { event_watermark, items } = yield* (yield* EventLog).page(principal, session.id, {
          after: 0,
          limit: 1000
        })
        assert.deepStrictEqual(
          items.map((event) => event.seq),
          Array.from({ length: event_watermark }, (_, index) => index + 1)
        )
        const ordinals = (yield* turns.list(principal, session.id, { limit: 200 })).items.map((turn) => turn.ordinal)
        assert.deepStrictEqual(
          ordinals,
          ordinals.map((_, index) => index + 1)
        )
        const newestFirst = { limit: 1, order: "newest" } as const
        let page = yield* turns.list(principal, session.id, newestFirst)
        const newest = [...page.items]
        while (page.next_cursor !== null) {
          page = yield* turns.list(principal, session.id, { ...newestFirst, cursor: page.next_cursor })
          newest.push(...page.items)
        }
        assert.deepStrictEqual(
          newest.map(({ ordinal }) => ordinal),
          [...ordinals].reverse()
        )
      }).pipe(Effect.provide(services(layer)))
    )

    restOn(name)(() => {
      it.scopedLive("a session is archived only when nothing waits, takes no work then, and is closed for good", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const sessions = yield* Sessions
          const messages = yield* Messages
          const session = yield* sessions.create(principal, workspaceId, { message: "First" })
          assert.strictEqual(yield* codeOf(sessions.archive(principal, session.id)), "turn_active")
          yield* (yield* Turns).cancel(principal, session.turn_id ?? "")
          assert.strictEqual((yield* sessions.archive(principal, session.id)).lifecycle, "archived")
          assert.strictEqual(
            yield* codeOf(messages.send(principal, session.id, { content: "Now?" })),
            "invalid_transition"
          )
          assert.strictEqual((yield* sessions.unarchive(principal, session.id)).lifecycle, "open")
          const { turn_id } = yield* messages.send(principal, session.id, { content: "Now." })
          assert.strictEqual((yield* sessions.close(principal, session.id)).lifecycle, "closed")
          assert.strictEqual((yield* (yield* Turns).get(principal, turn_id ?? "")).state, "cancelled")
          assert.strictEqual(yield* codeOf(sessions.close(principal, session.id)), "invalid_transition")
          assert.strictEqual(yield* codeOf(sessions.unarchive(principal, session.id)), "invalid_transition")
        }).pipe(Effect.provide(services(layer)))
      )

      it.scopedLive(
        "a session takes the connection that it names, or else the newest that fits, and its preferred model",
        () =>
          Effect.gen(function* () {
            const { connection: oldest, principal, workspaceId } = yield* ownerWithConnection
            const connections = yield* Connections
            const sessions = yield* Sessions
            const made = (kind: string, preferred_model: string, protocol?: string) =>
              Effect.gen(function* () {
                const credential = {
                  base_url: "http://127.0.0.1:9/v1",
                  api_key: "k".repeat(32),
                  ...(protocol && { protocol })
                }
                const { id } = yield* connections.create(principal, workspaceId, {
                  kind,
                  label: preferred_model,
                  credential
                })
                return (yield* connections.update(principal, id, { preferred_model })).id
              })
            const takenOf = ({ harness }: Session) => [harness.connection_id, harness.model]
            const newest = yield* made("alpha_gateway", "newest")
            const named = yield* sessions.create(principal, workspaceId, { connection_id: oldest.id })
            assert.deepStrictEqual(takenOf(named), [oldest.id, "scripted-1"])
            assert.deepStrictEqual(takenOf(yield* sessions.create(principal, workspaceId, {})), [newest, "newest"])

            const spoken = yield* made("gateway", "spoken", "anthropic_messages")
            yield* made("gateway", "unspoken", "openai_chat")
            const providers = yield* Providers
            const alpha = yield* providers.requireEnabled("alpha")
            const chosen = yield* providers.chooseConnection(
              workspaceId,
              {
                ...alpha,
                credential: { connection_kind: "gateway", required: true, protocols: ["anthropic_messages"] }
              },
              []
            )
            assert.deepInclude(chosen, { id: spoken, preferredModel: "spoken" })
          }).pipe(Effect.provide(services(layer)))
      )

      it.scopedLive("what a command answers is the session as it is read afterwards", () =>
        Effect.gen(function* () {
          const { connection, principal, workspaceId } = yield* ownerWithConnection
          const sessions = yield* Sessions
          yield* (yield* Connections).update(principal, connection.id, { preferred_model: "preferred" })
          const version = yield* (yield* Projects).create(principal, workspaceId, {
            slug: "whole",
            name: "Whole",
            spec: { repository: { url: "https://git.example/whole.git", base_ref: "main" } }
          })
          const read = (id: string) => sessions.get(principal, id)
          const created = yield* sessions.create(principal, workspaceId, {
            title: "T",
            labels: { a: "b" },
            auto_capture: false,
            project_id: version.id
          })
          assert.deepStrictEqual(created, yield* read(created.id))
          assert.strictEqual(created.harness.model, "preferred")
          assert.strictEqual(created.event_watermark, 1)
          const { operation, turn_id, ...first } = yield* sessions.create(principal, workspaceId, { message: "First" })
          assert.isDefined(operation)
          assert.strictEqual(first.activity, "queued")
          assert.deepStrictEqual(first, yield* read(first.id))
          assert.isDefined(turn_id)
          const updated = yield* sessions.update(principal, created.id, { title: "New" })
          assert.deepStrictEqual(updated, yield* read(created.id))
          const archived = yield* sessions.archive(principal, created.id)
          assert.deepStrictEqual(archived, yield* read(created.id))
        }).pipe(Effect.provide(services(layer)))
      )

      it.scopedLive("a write that expects another version changes nothing", () =>
        Effect.gen(function* () {
          const { connection, principal, workspaceId } = yield* ownerWithConnection
          const sessions = yield* Sessions
          const session = yield* sessions.create(principal, workspaceId, {})
          const changed = yield* sessions.update(principal, session.id, {
            title: "New",
            expected_version: session.version
          })
          assert.deepStrictEqual([changed.title, changed.version], ["New", session.version + 1])
          const stale = sessions.update(principal, session.id, { title: "Stale", expected_version: session.version })
          assert.strictEqual(yield* codeOf(stale), "version_conflict")
          const other = sessions.update(principal, session.id, { provider_id: "beta" })
          assert.strictEqual(yield* codeOf(other), "harness_switch_required")
          const label = (yield* Connections).update(principal, connection.id, { label: "x", expected_version: 99 })
          assert.strictEqual(yield* codeOf(label), "version_conflict")
          assert.strictEqual((yield* sessions.get(principal, session.id)).title, "New")
        }).pipe(Effect.provide(services(layer)))
      )

      it.scopedLive(
        "publishing the same spec again gives the version back, and a session keeps the version it began with",
        () =>
          Effect.gen(function* () {
            const { principal, workspaceId } = yield* ownerWithConnection
            const projects = yield* Projects
            const project = yield* projects.create(principal, workspaceId, {
              slug: "one",
              name: "One",
              spec: { repository: { url: "https://git.example/one.git" } }
            })
            const session = yield* (yield* Sessions).create(principal, workspaceId, { project_id: project.id })
            const same = yield* projects.publish(principal, project.id, {
              spec: { repository: { url: "https://git.example/one.git" } }
            })
            assert.strictEqual(same.id, session.project_version_id)
            const next = yield* projects.publish(principal, project.id, {
              spec: { repository: { url: "https://git.example/two.git" } }
            })
            assert.strictEqual(next.ordinal, 2)
            assert.strictEqual(
              (yield* (yield* Sessions).get(principal, session.id)).base.repository,
              "https://git.example/one.git"
            )
            const twice = projects.create(principal, workspaceId, { slug: "one", name: "Again" })
            assert.strictEqual(yield* codeOf(twice), "already_exists")
          }).pipe(Effect.provide(services(layer)))
      )

      it.scopedLive("what belongs to somebody else is answered like what does not exist", () =>
        Effect.gen(function* () {
          const { connection, principal, workspaceId } = yield* ownerWithConnection
          const session = yield* (yield* Sessions).create(principal, workspaceId, { message: "Mine" })
          const other = yield* stranger
          const tries: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
            (yield* Sessions).get(other, session.id),
            (yield* Sessions).list(other, workspaceId, {}),
            (yield* Sessions).create(other, workspaceId, {}),
            (yield* Messages).send(other, session.id, { content: "Yours" }),
            (yield* Turns).cancel(other, session.turn_id ?? ""),
            (yield* Connections).get(other, connection.id),
            (yield* Jobs).get(other, session.operation?.job_id ?? ""),
            (yield* Jobs).operation(other, session.operation?.id ?? ""),
            (yield* EventLog).page(other, session.id, { limit: 10 })
          ]
          for (const attempt of tries) assert.strictEqual(yield* codeOf(attempt), "not_found")
        }).pipe(Effect.provide(services(layer)))
      )
    })
  })
}
