import { assert, layer } from "@effect/vitest"
import { now } from "@reins/base/domain/Timestamp"
import type { MergeRequestFilter } from "@reins/core/requests/rows/MergeRequestStore"
import { Journal } from "@reins/core/store/Journal"
import { eventOf, installation } from "@reins/testing/changes/Fixture"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { forgesOn } from "@reins/testing/Volume"
import { Effect } from "effect"
import { isAtRest, until, watched } from "./Watched.js"

for (const { layer: database, name } of forgeDatabases) {
  layer(installation(database), { excludeTestServices: true })(`looks on ${name}`, (it) => {
    for (const kind of forgesOn(name)) {
      it.scoped(`checks, reviews, threads and conflicts on ${kind} become rows, sums and events`, () =>
        Effect.gen(function* () {
          const { head, id, look, looks, origin, principal, session } = yield* watched(kind)
          const first = yield* look
          assert.deepInclude(first.standing?.checks ?? {}, { state: "none", head_sha: head, complete: true })
          assert.deepInclude(first.standing ?? {}, { head_is_ours: true, conflicts: "none" })
          assert.notStrictEqual(first.next_look_at, null)

          const { forge } = origin
          forge.check({ head, name: "build", state: "passed" })
          const test = forge.check({ head, name: "test", state: "failed" })
          forge.review({ author: "bob", state: "approved" })
          forge.comment({ author: "cleo", body: "Why?", place: { path: "a.txt", line: 1, side: "new" } })
          const red = yield* look
          assert.deepInclude(red.standing?.checks ?? {}, { state: "failing", passing: 1, failing: 1 })
          assert.strictEqual(red.standing?.reviews.approvals, 1)
          assert.strictEqual(red.standing?.threads.open, 1)
          assert.deepStrictEqual(
            red.standing?.waiting_for.map(({ kind, names }) => [kind, ...names]),
            [["checks_failing", "test"], ["open_threads"]]
          )
          for (const type of ["checks_changed", "reviewed", "commented"])
            assert.notStrictEqual(yield* eventOf(session.id, 0, `merge_request.${type}`), undefined)
          const checks = (yield* looks.checks(principal, id, { head_sha: head })).items
          assert.sameMembers(
            checks.map(({ name, state }) => `${name} ${state}`),
            ["build passing", "test failing"]
          )
          const thread = (yield* looks.threads(principal, id, {})).items[0]
          assert.deepInclude(thread ?? {}, { path: "a.txt", line: 1, side: "new", resolved: false })
          assert.deepInclude(thread?.comments[0] ?? {}, { body: "Why?" })
          const review = (yield* looks.reviews(principal, id, {})).items.find(({ state }) => state === "approved")
          assert.deepInclude(review ?? {}, { head_sha: head })

          // A look at which nothing has changed writes nothing.
          assert.strictEqual((yield* look).version, red.version)
          test.state = "passed"
          assert.strictEqual((yield* look).standing?.checks.state, "passing")

          origin.forge.odd.conflicts = true
          if (kind === "gitea") assert.strictEqual((yield* look).standing?.conflicts, "unknown")
          assert.strictEqual((yield* look).standing?.conflicts, "conflicts")
          origin.forge.odd.conflicts = false

          const theirs = origin.commitOn(first.head_branch, "c.txt", "theirs\n")
          const moved = yield* look
          assert.strictEqual(moved.head_sha, theirs)
          assert.deepInclude(moved.standing?.checks ?? {}, { state: "none", head_sha: theirs })
          assert.deepInclude(moved.standing ?? {}, { head_is_ours: false })
          if (kind !== "gitlab") assert.strictEqual(moved.standing?.reviews.approvals, 0)
        })
      )

      it.scoped(`a part that ${kind} does not show is told and never green`, () =>
        Effect.gen(function* () {
          const { head, look, origin } = yield* watched(kind)
          origin.forge.check({ head, name: "build", state: "passed" })
          assert.strictEqual((yield* look).standing?.checks.state, "passing")
          origin.forge.odd.forbidden = "/commits/"
          const unread = yield* look
          assert.strictEqual(unread.standing?.checks.state, "unreadable")
          assert.include(unread.standing?.waiting_for.map(({ kind }) => kind) ?? [], "checks_unreadable")
          origin.forge.odd.forbidden = undefined
          assert.strictEqual((yield* look).standing?.checks.state, "passing")
        })
      )
    }

    it.scoped("25 rings at once are one look", () =>
      Effect.gen(function* () {
        const { connection, get, look, looks, origin } = yield* watched("github")
        const { number, repository, version } = yield* look
        const asked = () => origin.forge.seen.filter(({ path }) => /\/pulls\/\d+$/.test(path)).length
        const before = asked()
        const from = yield* now
        const journal = yield* Journal
        const rung = { connectionId: connection.id, repository, number: number ?? 0 }
        yield* journal.commit(
          Effect.gen(function* () {
            for (let index = 0; index < 25; index++) assert.strictEqual(yield* looks.ringAll(rung), 1)
            assert.strictEqual(yield* looks.ringAll({ ...rung, repository: "acme/other" }), 0)
          })
        )
        yield* until(get, (request) => isAtRest(request, from))
        assert.strictEqual(asked(), before + 1)
        assert.strictEqual((yield* get).version, version)
      })
    )

    it.scoped("the list of a workspace takes a state, a project and a session", () =>
      Effect.gen(function* () {
        const { id, looks, principal, session } = yield* watched("gitea")
        const listed = (filter: MergeRequestFilter) =>
          Effect.map(looks.list(principal, session.workspace_id, filter), ({ items }) => items.map((each) => each.id))
        assert.include(yield* listed({}), id)
        assert.deepStrictEqual(yield* listed({ session_id: session.id, state: "open" }), [id])
        assert.deepStrictEqual(yield* listed({ session_id: session.id, state: "merged" }), [])
        assert.deepStrictEqual(yield* listed({ session_id: "sess_other" }), [])
        assert.deepStrictEqual(yield* listed({ project_id: "prj_other" }), [])
      })
    )

    it.scoped("a merge elsewhere ends the looks, and a look at it is refused", () =>
      Effect.gen(function* () {
        const { get, id, look, looks, origin, principal } = yield* watched("gitea")
        const [pull] = origin.forge.pulls
        if (pull !== undefined) pull.state = "merged"
        yield* look
        assert.deepInclude(yield* get, { state: "merged", next_look_at: null })
        const refused = yield* Effect.flip(looks.look(principal, id))
        assert.strictEqual("code" in refused && refused.code, "invalid_transition")
      })
    )
  })
}
