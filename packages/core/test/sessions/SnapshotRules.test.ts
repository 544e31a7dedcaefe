import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ChangesetId, newId } from "@reins/base/domain/Ids"
import { systemActor } from "@reins/core/access/Access"
import { treeCapture } from "@reins/core/changes/Capture"
import { ChangesetStore } from "@reins/core/changes/ChangesetStore"
import { Changesets } from "@reins/core/changes/Changesets"
import { Journal } from "@reins/core/store/Journal"
import { snapshotStore } from "@reins/core/worktrees/snapshots/SnapshotStore"
import { Snapshots } from "@reins/core/worktrees/snapshots/Snapshots"
import { aMoment } from "@reins/testing/process/Waiting"
import { databases } from "@reins/testing/store/Databases"
import { restOn } from "@reins/testing/Variants"
import { Effect, Fiber } from "effect"
import { listingOf, put, sealedSession, withSnapshots } from "./Snapshooting.js"

const base = { ".gitignore": "*.log\nbig/\nsmall/\n.env\n", "a.txt": "one\n", "dir/b.txt": "two\n" }

/** The names of the blobs in the store. */
const storedIn = (store: string): ReadonlyArray<string> =>
  fs.existsSync(store)
    ? fs.readdirSync(store, { recursive: true, encoding: "utf8" }).filter((name) => name.length > 3)
    : []

for (const { layer, name } of databases) {
  describe(`snapshots on ${name}`, () => {
    it.scopedLive("delete what nothing needs, and never what is being sealed", () =>
      Effect.gen(function* () {
        const session = yield* sealedSession(base)
        const { db } = session
        const { collect } = yield* Snapshots
        const store = yield* snapshotStore
        const journal = yield* Journal
        put(session.paths.workTree, "a.txt", "old\n")
        yield* session.seal
        const old = (yield* session.manifest).blobs.work
        put(session.paths.workTree, "a.txt", "new\n")
        yield* session.seal
        const both = storedIn(session.store)
        // Nothing is old enough.
        yield* collect
        assert.deepStrictEqual(storedIn(session.store), both)
        yield* db.run(db.sql`update snapshot_blobs set used_at = '2020-01-01T00:00:00.000Z'`)

        // A seal that announces a blob before it is condemned keeps it, and one that comes later waits until it has gone.
        assert.isTrue(yield* journal.commit(store.announce(session.id, [old])))
        assert.deepStrictEqual(yield* journal.commit(store.condemn()), [])
        yield* db.run(db.sql`update snapshot_blobs set used_at = '2020-01-01T00:00:00.000Z'`)
        assert.deepStrictEqual(yield* journal.commit(store.condemn()), [old.digest])
        assert.isFalse(yield* journal.commit(store.announce(session.id, [old])))
        assert.isFalse(yield* journal.commit(store.confirm([old])))
        yield* collect
        assert.lengthOf(storedIn(session.store), both.length - 1)
        assert.isTrue(yield* journal.commit(store.announce(session.id, [old])))

        // What the snapshot needs is still there.
        yield* session.lose
        yield* session.restore
        put(session.paths.workTree, "a.txt", "old\n")
        yield* session.seal
        assert.strictEqual((yield* session.manifest).blobs.work.digest, old.digest)
        yield* session.lose
        yield* session.restore
        assert.strictEqual(fs.readFileSync(join(session.paths.workTree, "a.txt"), "utf8"), "old\n")
      }).pipe(Effect.provide(withSnapshots(layer)))
    )

    restOn(name)(() => {
      it.scopedLive("give changesets back that came after them, which are in the store before they are ready", () =>
        Effect.gen(function* () {
          const session = yield* sealedSession(base)
          yield* session.seal
          put(session.paths.workTree, "a.txt", "captured later\n")
          const changesets = yield* ChangesetStore
          const journal = yield* Journal
          const capture = yield* treeCapture
          const [id, row] = [yield* newId(ChangesetId), yield* Effect.flatMap(session.row, Effect.fromNullable)]
          const captured = yield* capture(row, id)
          const actor = systemActor("capture")
          yield* journal.commit(
            Effect.zipRight(
              changesets.open(id, row.id, actor, { origin: "explicit", label: null, turnId: null }),
              changesets.seal(id, captured, actor)
            )
          )
          yield* session.lose
          yield* session.restore
          const { diff } = yield* (yield* Changesets).diff(session.principal, id, {})
          assert.include(diff, "+captured later")
          assert.include(listingOf(session.paths.workTree).get("a.txt"), Buffer.from("one\n").toString("base64"))
          // The next snapshot has it, and nothing needs its own copy any more.
          yield* session.seal
          assert.deepStrictEqual(yield* session.db.all(session.db.sql`select * from unsealed_changesets`), [])
          yield* session.lose
          yield* session.restore
          assert.deepStrictEqual((yield* (yield* Changesets).diff(session.principal, id, {})).diff, diff)
        }).pipe(Effect.provide(withSnapshots(layer)))
      )

      it.scopedLive("leave the bytes of an upload alone that go with another session at the same time", () =>
        Effect.gen(function* () {
          const session = yield* sealedSession(base)
          const store = yield* snapshotStore
          const journal = yield* Journal
          const blob = { digest: `sha256:${"a".repeat(64)}`, size: 3 }
          const announced = journal.commit(store.announce(session.id, [blob]))
          // The other session had them first, and is deleted between the two commits of the upload.
          assert.isTrue(yield* announced)
          assert.isTrue(yield* journal.commit(store.confirm([blob])))
          assert.isTrue(yield* announced)
          assert.deepStrictEqual(yield* journal.commit(store.condemnUnneeded([blob.digest])), [])
          assert.isTrue(yield* journal.commit(store.confirm([blob])))
          assert.deepStrictEqual(yield* journal.commit(store.condemnUnneeded([blob.digest])), [blob.digest])

          // An upload that comes while they are deleted waits until they have gone.
          const content = "the same bytes\n"
          const upload = (path: string) => session.files.upload(session.principal, session.id, { path, content })
          yield* upload("one.txt")
          yield* session.seal
          const { db } = session
          yield* db.run(db.sql`update snapshot_blobs set state = 'deleting'`)
          const second = yield* Effect.fork(upload("two.txt"))
          yield* Effect.repeatN(aMoment, 50)
          yield* db.run(db.sql`delete from unsealed_uploads`)
          yield* db.run(db.sql`update snapshot_blobs set state = 'stored'`)
          assert.strictEqual((yield* Fiber.join(second)).file.path, "two.txt")
        }).pipe(Effect.provide(withSnapshots(layer)))
      )

      it.scopedLive(
        "ask for one job, however often a session changes, and for another one after a change during a seal",
        () =>
          Effect.gen(function* () {
            const session = yield* sealedSession(base)
            const { db } = session
            const jobs = Effect.map(
              db.all(db.sql`select id from jobs where kind = 'session.seal'`),
              (rows) => rows.length
            )
            yield* session.change
            yield* session.change
            assert.strictEqual(yield* jobs, 1)
            const store = yield* snapshotStore
            const journal = yield* Journal
            // The seal has seen one change fewer than there are by now.
            yield* journal.commit(store.settle(session.id, 1, { uploads: [], changesets: [] }))
            assert.strictEqual((yield* session.snapshots.unsealed).sessions, 1)
            assert.strictEqual(yield* jobs, 2)
            yield* session.snapshots.seal(session.id)
            assert.strictEqual((yield* session.snapshots.unsealed).sessions, 0)
          }).pipe(Effect.provide(withSnapshots(layer)))
      )

      it.scopedLive("store nothing twice, and one row for each session", () =>
        Effect.gen(function* () {
          const session = yield* sealedSession(base)
          put(session.paths.workTree, ".env", "KEY=1\n")
          yield* session.seal
          const [first, stored] = [yield* session.manifest, storedIn(session.store)]
          // A repository of this machine has its base in the store from the beginning.
          assert.isNotNull(first.blobs.base)
          yield* session.seal
          assert.deepStrictEqual(yield* session.manifest, first)
          assert.deepStrictEqual(storedIn(session.store), stored)
          put(session.paths.workTree, "a.txt", "changed\n")
          yield* session.seal
          const second = yield* session.manifest
          assert.deepStrictEqual(
            [second.ordinal, second.blobs.base, second.blobs.files, second.blobs.repository],
            [2, first.blobs.base, first.blobs.files, first.blobs.repository]
          )
          assert.lengthOf(storedIn(session.store), stored.length + 1)
          assert.deepStrictEqual(yield* session.snapshots.unsealed, { sessions: 0, since: null, error: null })
          // Somebody empties the store: the next snapshot is whole all the same.
          fs.rmSync(session.store, { recursive: true })
          yield* session.seal
          const before = listingOf(session.paths.workTree)
          yield* session.lose
          yield* session.restore
          assert.deepStrictEqual(listingOf(session.paths.workTree), before)
        }).pipe(Effect.provide(withSnapshots(layer)))
      )

      it.scopedLive("give uploads back that came after them", () =>
        Effect.gen(function* () {
          const session = yield* sealedSession(base)
          yield* session.seal
          const upload = (path: string, content: string) =>
            session.files.upload(session.principal, session.id, { path, content, mode: "0755" })
          yield* upload("up/one.sh", "one")
          yield* upload("up/one.sh", "two")
          assert.strictEqual((yield* session.snapshots.unsealed).sessions, 1)
          const before = listingOf(session.paths.workTree)
          yield* session.lose
          assert.strictEqual((yield* session.restore).uploads, 2)
          assert.deepStrictEqual(listingOf(session.paths.workTree), before)
          // The next snapshot has them.
          yield* session.seal
          yield* session.lose
          assert.strictEqual((yield* session.restore).uploads, 0)
          assert.deepStrictEqual(listingOf(session.paths.workTree), before)
        }).pipe(Effect.provide(withSnapshots(layer)))
      )

      it.scopedLive("have no attachments, which come back with each restore all the same", () =>
        Effect.gen(function* () {
          const session = yield* sealedSession(base)
          yield* session.files.upload(session.principal, session.id, { name: "shot.txt", content: "one" })
          const attachments = join(session.paths.home, "attachments")
          const before = listingOf(attachments)
          for (const _ of [1, 2]) {
            yield* session.seal
            assert.strictEqual((yield* session.snapshots.unsealed).sessions, 0)
            yield* session.lose
            assert.strictEqual((yield* session.restore).uploads, 0)
            assert.deepStrictEqual(listingOf(attachments), before)
          }
        }).pipe(Effect.provide(withSnapshots(layer)))
      )

      it.scopedLive("note why they cannot be taken, lose no note, and are taken when the store is mended", () =>
        Effect.gen(function* () {
          const session = yield* sealedSession(base)
          fs.writeFileSync(session.store, "in the way")
          assert.strictEqual((yield* Effect.flip(session.seal)).retryable, true)
          const { error, sessions, since } = yield* session.snapshots.unsealed
          assert.strictEqual(sessions, 1)
          assert.isNotNull(since)
          assert.match(error ?? "", /directory of blobs cannot be used/)
          yield* session.snapshots.sealBefore(session.id)
          const upload = session.files.upload(session.principal, session.id, { path: "x", content: "x" })
          const failure = yield* Effect.flip(upload)
          assert.deepInclude(failure, { code: "executor_unavailable" })
          assert.isFalse(fs.existsSync(join(session.paths.workTree, "x")))
          fs.rmSync(session.store)
          yield* session.snapshots.sealBefore(session.id)
          assert.strictEqual((yield* session.snapshots.unsealed).sessions, 0)
        }).pipe(Effect.provide(withSnapshots(layer)))
      )
    })
  })
}
