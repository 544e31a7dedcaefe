import { assert, describe, it } from "@effect/vitest"
import { fromMillis, now, toMillis } from "@reins/base/domain/Timestamp"
import type { RemoteMergeRequest } from "@reins/machine/forge/ForgeCalls"
import { system } from "@reins/testing/changes/Fixture"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { services } from "@reins/testing/sessions/Services"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { forgesOn } from "@reins/testing/Volume"
import { Effect, Runtime } from "effect"
import { head, openRequest } from "./OpenRequest.js"

/** An open merge request that was looked at, with what other readers of the forge write. */
const given = (kind: KnownForge) =>
  Effect.gen(function* () {
    const open = yield* openRequest(kind)
    const { base, db, forge, id, interludes, journal, look, read, session, store } = open
    const runtime = yield* Effect.runtime()
    const pull = forge.pulls[0] ?? (yield* Effect.dieMessage("no merge request"))
    yield* look
    const remote = (draft: boolean): RemoteMergeRequest => ({
      number: 1,
      webUrl: `${base}/1`,
      state: "open",
      draft,
      description: "",
      headSha: head
    })
    /** A reading that begins later than that of the row. */
    const later = (draft: boolean) =>
      Effect.gen(function* () {
        const { observed_at } = yield* read
        const at = yield* Effect.repeat(now, { until: (at) => at > (observed_at ?? "") })
        return { at, remote: remote(draft) }
      })
    /** A person has the service make it a draft, or ready. */
    const setDraft = (draft: boolean) =>
      Effect.gen(function* () {
        pull.draft = draft
        yield* journal.commit(store.readinessSet(id, yield* later(draft), system))
      })
    /** Has the works done during the next look: the first before the forge is read, the second after it has shown the request. */
    const during = (works: ReadonlyArray<Effect.Effect<unknown, unknown>>) => {
      forge.seen.length = 0
      for (const [index, work] of works.entries()) interludes.set(index, () => Runtime.runPromise(runtime)(work))
    }
    const told = Effect.map(
      db.all(db.sql<{ type: string }>`select type from events where session_id = ${session.id} order by seq`),
      (rows) => rows.map(({ type }) => type)
    )
    return { ...open, during, later, pull, remote, setDraft, told }
  })

for (const { layer, name } of forgeDatabases) {
  const run = Effect.provide(services(layer, { allowPrivateHosts: ["127.0.0.1"] }))

  describe(`readings of a forge that overtake each other, on ${name}`, () => {
    for (const kind of forgesOn(name)) {
      it.scopedLive(`${kind}: a look that began before a command was done undoes nothing, and is made again`, () =>
        Effect.gen(function* () {
          const { during, look, setDraft, told, waitMs } = yield* given(kind)
          for (const { ends, works } of [
            { works: [Effect.void, setDraft(true)], ends: true },
            { works: [setDraft(false), setDraft(true)], ends: true },
            { works: [Effect.void, setDraft(false), setDraft(true), setDraft(false)], ends: false }
          ]) {
            const { length } = yield* told
            during(works)
            assert.strictEqual((yield* look).draft, ends)
            assert.isAtMost(yield* waitMs, 1_000, "the next one is due")
            const said = yield* told
            const commands = works.filter((work) => work !== Effect.void)
            assert.deepStrictEqual(
              said.slice(length),
              commands.map(() => "merge_request.readiness_changed")
            )
            assert.strictEqual((yield* look).draft, ends)
            assert.deepStrictEqual(yield* told, said)
            assert.isAbove(yield* waitMs, 1_000)
          }
        }).pipe(run)
      )

      it.scopedLive(`${kind}: what somebody else has written since the last look is read in full`, () =>
        Effect.gen(function* () {
          const { id, journal, later, look, pull, read, store } = yield* given(kind)
          assert.isFalse((yield* look).draft)
          yield* journal.commit(store.keepReading(id, yield* later(true), system))
          assert.isTrue((yield* read).draft)
          assert.isFalse((yield* look).draft)
          pull.draft = true
          assert.isTrue((yield* look).draft)
        }).pipe(run)
      )
    }

    it.scopedLive("a reading that is older than the row is not written, unless it is the end", () =>
      Effect.gen(function* () {
        const { id, journal, later, look, pull, read, remote, store, waitMs } = yield* given("gitea")
        const { at } = yield* later(false)
        pull.draft = true
        const seen = yield* look
        assert.isTrue(seen.draft)
        assert.isAbove(yield* waitMs, 1_000)
        const observed = (remote: RemoteMergeRequest, began = at) =>
          journal.commit(store.keepReading(id, { at: began, remote }, system))
        for (const older of [
          remote(false),
          { ...remote(true), headSha: "d".repeat(40) },
          { ...remote(true), baseBranch: "next" },
          { ...remote(true), headSha: "" },
          { ...remote(false), headSha: "d".repeat(40), baseBranch: "next" }
        ]) {
          yield* observed(older)
          assert.deepInclude(yield* read, { draft: true, head_sha: head, base_branch: "main", version: seen.version })
        }
        assert.isAtMost(yield* waitMs, 0)
        // One that says the same is no older word, and the time does not go back.
        yield* observed(remote(true))
        assert.strictEqual((yield* read).observed_at, seen.observed_at)
        // A clock that was set back by an hour holds nothing up.
        yield* observed(remote(false), fromMillis(toMillis(at) - 3_600_000))
        assert.isFalse((yield* read).draft)
        yield* observed({ ...remote(false), state: "merged" })
        assert.strictEqual((yield* read).state, "merged")
      }).pipe(run)
    )
  })
}
