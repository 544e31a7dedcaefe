import { assert, describe, layer as suiteOver } from "@effect/vitest"
import type { Actor, NewEvent } from "@reins/base/domain/Event"
import { newId, SessionId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { now } from "@reins/base/domain/Timestamp"
import * as Memberships from "@reins/core/access/Memberships"
import { Connections } from "@reins/core/connections/Connections"
import { Deletions } from "@reins/core/deletion/Deletions"
import { Accounts } from "@reins/core/identity/Accounts"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { workspaces } from "@reins/core/work/Operations"
import { makeWorkCatchUp } from "@reins/core/work/WorkRows"
import { type WorkRequest, Works } from "@reins/core/work/Works"
import { codeOf } from "@reins/testing/changes/Fixture"
import { newAccount } from "@reins/testing/identity/Identity"
import { services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { Effect, FastCheck } from "effect"
import { care, delivered, event, kinds, question, requested, sealed, things, turn, turnOf } from "./Walks.js"

const agent: Actor = { kind: "harness", id: "alpha" }

const tell = (id: SessionId, events: ReadonlyArray<NewEvent>, actor: Actor = agent) =>
  Effect.flatMap(Journal, ({ append, commit }) => commit(append(id, actor, events)))

const world = Effect.gen(function* () {
  const principal: Principal = {
    accountId: (yield* newAccount).id,
    scopes: ["read", "write", "admin"],
    workspaceId: null,
    via: { kind: "embedded" }
  }
  const workspaceId = (yield* (yield* Accounts).me(principal)).workspaces[0]?.id ?? ""
  yield* (yield* Connections).create(principal, workspaceId, {
    kind: "alpha_gateway",
    label: "gateway",
    credential: { base_url: "http://127.0.0.1:9/v1", api_key: "k".repeat(32) }
  })
  const sessions = yield* Sessions
  const works = yield* Works
  const db = yield* Database
  const list = (request: WorkRequest = {}, by: Principal = principal) => works.list(by, workspaceId, request)
  return {
    db,
    list,
    principal,
    works,
    workspaceId,
    add: (title: string) => sessions.create(principal, workspaceId, { title }),
    of: (id: SessionId, by: Principal = principal) =>
      Effect.map(
        list({ sessionIds: [id] }, by),
        ({ items: [item] }) => item ?? assert.fail("the session is not listed")
      ),
    all: Effect.fnUntraced(function* (request: WorkRequest) {
      const titles: Array<string | null> = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page: { items: ReadonlyArray<{ title: string | null }>; next_cursor: string | null } = yield* list({
          ...request,
          ...(cursor !== undefined && { cursor })
        })
        titles.push(...page.items.map(({ title }) => title))
        cursor = page.next_cursor
      }
      return titles
    })
  }
})

/** Another account that may write in the workspace. */
const member = (owner: Principal, workspace_id: string) =>
  Effect.gen(function* () {
    const account = yield* newAccount
    const { commit } = yield* Journal
    const db = yield* Database
    const membership = { workspace_id, account_id: account.id, role: "member" } as const
    yield* commit(Effect.flatMap(now, (created_at) => Memberships.add(db, { ...membership, created_at } as never)))
    return { ...owner, accountId: account.id } satisfies Principal
  })

/** The item of a session without the member that its row does not hold. */
const shownOf = ({ event_watermark: _, ...item }: { readonly event_watermark: number }) => item

for (const { layer, name } of databases) {
  describe(`work on ${name}`, () => {
    suiteOver(services(layer), { excludeTestServices: true })((it) => {
      it.effect("tells where a session stands after each event of its way to a merge", () =>
        Effect.gen(function* () {
          const { add, of } = yield* world
          const { id } = yield* add("Fix the sum")
          const the = yield* things
          const way: ReadonlyArray<readonly [NewEvent, state: string, view: string]> = [
            [turn(the, 0, "queued", "queued"), "queued", "working"],
            [turn(the, 0, "started", "running"), "running", "working"],
            [turn(the, 1, "queued", "queued"), "running", "working"],
            [question(the, 0, "action_required"), "asks", "waiting"],
            [question(the, 0, "action_resolved"), "running", "working"],
            // Its turn ends before anybody has answered.
            [question(the, 0, "action_required"), "asks", "waiting"],
            [turn(the, 0, "failed", "failed"), "queued", "working"],
            [turn(the, 1, "interrupted", "interrupted"), "interrupted", "waiting"],
            [
              event("turn.acknowledged", { turn: { ...turnOf(the, 1, "interrupted"), acknowledged_at: "2030" } }),
              "idle",
              "open"
            ],
            [sealed(the, 1, true), "idle", "open"],
            [sealed(the, 0), "review", "waiting"],
            [delivered(the, "requested", "pending"), "running", "working"],
            [delivered(the, "blocked", "blocked"), "blocked", "waiting"],
            [delivered(the, "failed", "failed"), "failed", "waiting"],
            [delivered(the, "succeeded", "succeeded"), "delivered", "open"],
            [requested(the, "requested", "pending"), "in_review", "open"],
            [requested(the, "opened", "open"), "in_review", "open"],
            [requested(the, "checks_changed", "open", 2), "needs_changes", "waiting"],
            [care(the, "handed_over"), "handed_over", "waiting"],
            [care(the, "began"), "needs_changes", "waiting"],
            [sealed(the, 1), "needs_changes", "waiting"],
            [requested(the, "checks_changed", "open"), "review", "waiting"],
            [requested(the, "merged", "merged"), "review", "waiting"],
            [event("session.archived", {}), "review", "archived"],
            [event("session.unarchived", {}), "review", "waiting"]
          ]
          for (const [told, state, view] of way) {
            yield* tell(id, [told])
            const item = yield* of(id)
            assert.deepStrictEqual([told.type, item.state, item.view], [told.type, state, view])
          }
          const { changeset, merge_request, turn: last } = yield* of(id)
          assert.deepInclude(changeset, { id: the.changesets[1], files: 2, additions: 3, deletions: 1 })
          assert.deepInclude(merge_request, { number: 7, state: "merged", waits_for: [] })
          assert.strictEqual(last?.state, "interrupted")
        })
      )

      it.effect("is the same whether a row was kept in each commit, or made of the log later", () =>
        Effect.gen(function* () {
          const { add, db, of } = yield* world
          const catchUp = yield* makeWorkCatchUp
          const walks = FastCheck.array(
            FastCheck.array(FastCheck.nat(kinds.length - 1), { minLength: 1, maxLength: 3 }),
            {
              minLength: 1,
              maxLength: 12
            }
          )
          for (const [walk, forgottenAt] of FastCheck.sample(FastCheck.tuple(walks, FastCheck.nat(11)), 25)) {
            const { id } = yield* add("walk")
            const the = yield* things
            // As with the first message.
            yield* db.run(db.sql`update sessions set turn_count = 1 where id = ${id}`)
            for (const [index, events] of walk.entries()) {
              // A release that knows of no rows leaves the row as it was.
              const before = yield* db.first(
                db.sql<{ facts: string }>`select * from work_rows where session_id = ${id}`
              )
              yield* tell(
                id,
                events.map((kind) => kinds[kind]?.(the) ?? assert.fail())
              )
              if (index !== forgottenAt) continue
              yield* db.run(db.sql`delete from work_rows where session_id = ${id}`)
              if (before !== undefined) yield* db.run(db.sql`insert into work_rows ${db.sql.insert({ ...before })}`)
            }
            // The last commit may be the one that was forgotten.
            yield* catchUp
            const kept = yield* of(id)
            yield* db.run(db.sql`delete from work_rows where session_id = ${id}`)
            yield* catchUp
            const made = yield* of(id)
            assert.deepStrictEqual(
              { ...shownOf(kept), unread: false },
              { ...shownOf(made), unread: false },
              JSON.stringify(walk)
            )
          }
        })
      )

      it.effect("lists a session whose events are no longer kept, as it is archived or open", () =>
        Effect.gen(function* () {
          const { add, db, of, principal } = yield* world
          const { id } = yield* add("long ago")
          yield* db.run(db.sql`update sessions set turn_count = 1 where id = ${id}`)
          yield* yield* makeWorkCatchUp
          assert.deepInclude(yield* of(id), { state: "idle", view: "open" })
          yield* (yield* Sessions).archive(principal, id)
          yield* db.run(db.sql`delete from work_rows where session_id = ${id}`)
          yield* db.run(db.sql`delete from events where session_id = ${id}`)
          yield* yield* makeWorkCatchUp
          assert.deepInclude(yield* of(id), { state: "idle", view: "archived" })
        })
      )

      it.effect(
        "lists a session that was archived or left alone by a release that knew of no lists, and one of each kind of id",
        () =>
          Effect.gen(function* () {
            const { add, db, of, principal, workspaceId } = yield* world
            const [left, archived] = [yield* add("left alone"), yield* add("archived before")]
            yield* (yield* Sessions).archive(principal, archived.id)
            yield* db.run(db.sql`delete from work_rows`)
            assert.deepInclude(yield* of(archived.id), { state: "idle", view: "archived" })
            yield* yield* makeWorkCatchUp
            assert.deepInclude(yield* of(left.id), { state: "idle", view: "open", unread: false })
            assert.deepInclude(yield* of(archived.id), { state: "idle", view: "archived", unread: false })
            const { listWork } = yield* workspaces
            const given = ["", "\u0000", "sess_none", left.id, left.id, `${left.id}\u0000`, "x".repeat(100_000)].join(
              ","
            )
            const query = { session_ids: given }
            const { items } = yield* listWork({ path: { workspace_id: workspaceId }, principal, query } as never)
            assert.deepStrictEqual(
              items.map(({ title }) => title),
              ["left alone"]
            )
          })
      )

      it.effect("asks until the last of many questions has its answer", () =>
        Effect.gen(function* () {
          const { add, of } = yield* world
          const { id } = yield* add("curious")
          const all = yield* Effect.forEach(Array.from({ length: 25 }), () => things)
          const [first] = all
          if (first === undefined) return assert.fail()
          const asks = (type: "action_required" | "action_resolved") =>
            all.map((each) => question({ ...first, questions: each.questions }, 0, type))
          yield* tell(id, asks("action_required"))
          assert.lengthOf((yield* of(id)).questions, 20)
          yield* tell(id, asks("action_resolved").slice(0, 24))
          const { questions, state } = yield* of(id)
          assert.deepStrictEqual([state, questions.map((asked) => asked.id)], ["asks", [all[24]?.questions[0]]])
        })
      )

      it.effect("finds the oldest question among many sessions, and counts what waits and works", () =>
        Effect.gen(function* () {
          const { add, all, list, works, principal, workspaceId } = yield* world
          for (let index = 0; index < 60; index++) {
            const { id } = yield* add(`session ${index}`)
            const the = yield* things
            yield* tell(id, [
              turn(the, 0, "queued", "queued"),
              ...(index % 10 === 0 ? [question(the, 0, "action_required")] : [turn(the, 0, "succeeded", "succeeded")])
            ])
          }
          const { counts, items, next_cursor } = yield* list({ view: "waiting", limit: 200 })
          assert.deepStrictEqual(
            items.map(({ questions: [asked], state, title }) => [title, state, asked?.title]),
            [50, 40, 30, 20, 10, 0].map((index) => [`session ${index}`, "asks", "change 0"])
          )
          assert.deepStrictEqual([counts.waiting, counts.working, counts.unread, next_cursor], [6, 0, 60, null])
          assert.lengthOf(yield* all({ limit: 7 }), 60)
          const stranger: Principal = { ...principal, accountId: (yield* newAccount).id }
          assert.strictEqual(yield* codeOf(works.list(stranger, workspaceId, {})), "not_found")
          assert.strictEqual(yield* codeOf(list({ cursor: "MTp4" })), "invalid_cursor")
        })
      )

      it.effect("gives each session once by pages of any size, those without a turn among them", () =>
        Effect.gen(function* () {
          const { add, all, list } = yield* world
          const expected: Array<string> = []
          for (let index = 0; index < 12; index++) {
            const { id } = yield* add(`session ${index}`)
            expected.unshift(`session ${index}`)
            if (index % 3 > 0) yield* tell(id, [turn(yield* things, 0, "queued", "queued")])
          }
          const first = yield* list({ limit: 200 })
          assert.sameMembers(
            first.items.map(({ title }) => title ?? ""),
            expected
          )
          for (const limit of [1, 2, 3, 5, 11, 12, 200])
            assert.deepStrictEqual(
              yield* all({ limit }),
              first.items.map(({ title }) => title)
            )
          assert.deepStrictEqual((yield* list({ sessionIds: [yield* newId(SessionId)] })).items, [])
          assert.deepStrictEqual((yield* list({ sessionIds: [] })).items, [])
        })
      )

      it.effect("tells each person what is new, never by their own words, in whatever order they look", () =>
        Effect.gen(function* () {
          const { add, list, of, principal: owner, works, workspaceId } = yield* world
          const other = yield* member(owner, workspaceId)
          const { id } = yield* add("shared")
          const the = yield* things
          const unread = Effect.gen(function* () {
            const [mine, theirs] = [yield* of(id), yield* of(id, other)]
            return [mine.unread, theirs.unread]
          })
          yield* tell(id, [turn(the, 0, "queued", "queued")], { kind: "account", id: owner.accountId })
          assert.deepStrictEqual(yield* unread, [false, true])
          yield* tell(id, [turn(the, 0, "succeeded", "succeeded")])
          assert.deepStrictEqual(yield* unread, [true, true])
          const { event_watermark } = yield* of(id)
          assert.deepStrictEqual(yield* works.see(owner, id, event_watermark), {
            session_id: id,
            seq: event_watermark,
            unread: false
          })
          // Another device was behind, and one has sent nonsense.
          yield* works.see(owner, id, 1)
          assert.strictEqual((yield* works.see(owner, id, 2_000_000_000)).seq, event_watermark)
          assert.deepStrictEqual(yield* unread, [false, true])
          yield* tell(id, [turn(the, 1, "queued", "queued")], { kind: "account", id: other.accountId })
          yield* works.see(other, id, event_watermark)
          assert.deepStrictEqual(yield* unread, [true, false])
          assert.deepStrictEqual(
            (yield* list({ view: "unread" })).items.map(({ title }) => title),
            ["shared"]
          )
          assert.deepStrictEqual((yield* list({ view: "unread" }, other)).counts.unread, 0)
          assert.deepStrictEqual(yield* works.unsee(other, id), { session_id: id, seq: null, unread: true })
          assert.deepStrictEqual(yield* unread, [true, true])
          const stranger: Principal = { ...owner, accountId: (yield* newAccount).id }
          assert.strictEqual(yield* codeOf(works.see(stranger, id, 1)), "not_found")
        })
      )

      it.effect("forgets a session that is deleted, at once", () =>
        Effect.gen(function* () {
          const { add, list, principal, works } = yield* world
          const { id } = yield* add("gone")
          yield* tell(id, [sealed(yield* things, 0)])
          yield* works.see(principal, id, 1)
          assert.strictEqual((yield* list()).counts.waiting, 1)
          yield* (yield* Deletions).deleteSession(principal, id)
          const { counts, items } = yield* list()
          assert.deepStrictEqual([counts.waiting, items], [0, []])
          assert.strictEqual(yield* codeOf(works.see(principal, id, 1)), "not_found")
          yield* yield* makeWorkCatchUp
          assert.deepStrictEqual((yield* list()).items, [])
        })
      )
    })
  })
}
