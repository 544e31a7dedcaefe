import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { snapshotStore } from "@reins/core/sessions/SnapshotStore"
import { Snapshots } from "@reins/core/sessions/Snapshots"
import { Journal } from "@reins/core/store/Journal"
import { plainGit } from "@reins/testing/git/Fixture"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import { databases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { agentGit, listingOf, put, sealedSession, withSnapshots } from "./Snapshooting.js"

const base = { ".gitignore": "*.log\nbig/\nsmall/\n.env\n", "a.txt": "one\n", "dir/b.txt": "two\n" }

/** The names of the blobs in the store. */
const storedIn = (store: string): ReadonlyArray<string> =>
  fs.existsSync(store)
    ? fs.readdirSync(store, { recursive: true, encoding: "utf8" }).filter((name) => name.length > 3)
    : []

const overHttp = (path: string) => Effect.map(gitHttpServer(dirname(path), null), ({ url }) => `${url}/remote.git`)

for (const { layer, name } of databases) {
  describe(`snapshots on ${name}`, () => {
    it.scopedLive("say what they leave out, whole directories of it, and take the small things", () =>
      Effect.gen(function* () {
        const session = yield* sealedSession(base)
        const { workTree } = session.paths
        put(workTree, ".env", "KEY=1\n", 0o600)
        put(workTree, "small/x.bin", Buffer.alloc(1000))
        put(workTree, "big/one.bin", "1")
        put(workTree, "big/two.bin", "2")
        fs.truncateSync(join(workTree, "big/two.bin"), 32 * 1024 * 1024)
        fs.writeFileSync(join(workTree, "socket-like.log"), "log")
        yield* session.seal
        yield* session.lose
        const restored = yield* session.restore
        assert.deepStrictEqual(restored.left_out, [{ path: "big", bytes: null, reason: "too_large" }])
        assert.strictEqual(restored.more_left_out, 0)
        const found = listingOf(workTree)
        assert.isFalse(found.has("big"))
        assert.include(found.get(".env"), "file 600")
        assert.isTrue(found.has("small/x.bin") && found.has("socket-like.log"))
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
      }).pipe(Effect.provide(withSnapshots(layer)))
    )

    it.scopedLive(
      "take the base from the remote, say so when it is gone there, and keep it from the twentieth on",
      () =>
        Effect.gen(function* () {
          const session = yield* sealedSession(base, overHttp)
          const { workTree } = session.paths
          const remote = join(session.root, "remote.git")
          put(workTree, "a.txt", "changed\n")
          agentGit(workTree, "commit", "--quiet", "--all", "--message=of the agent")
          yield* session.seal
          assert.isNull((yield* session.manifest).blobs.base)
          const before = listingOf(workTree)
          yield* session.lose
          yield* session.restore
          assert.deepStrictEqual(listingOf(workTree), before)
          assert.strictEqual(plainGit(workTree, "log", "-1", "--format=%s"), "of the agent")

          // Somebody replaces the history of the branch, and the remote forgets the old one.
          const replaced = () => {
            const work = join(session.root, "remote-work")
            plainGit(work, "checkout", "--quiet", "--orphan", "other")
            plainGit(work, "commit", "--quiet", "--message=another history")
            plainGit(work, "push", "--quiet", "--force", remote, "other:main")
            plainGit(remote, "reflog", "expire", "--expire=now", "--all")
            plainGit(remote, "gc", "--quiet", "--prune=now")
          }
          yield* session.db.run(
            session.db.sql`update snapshots set manifest = replace(manifest, '"ordinal":1', '"ordinal":19')`
          )
          put(workTree, "dir/c.txt", "more\n")
          yield* session.seal
          assert.isNotNull((yield* session.manifest).blobs.base)
          const later = listingOf(workTree)
          replaced()
          yield* session.lose
          yield* session.restore
          assert.deepStrictEqual(listingOf(workTree), later)

          const other = yield* sealedSession(base, overHttp)
          yield* other.seal
          yield* other.lose
          fs.rmSync(join(other.root, "remote.git"), { recursive: true })
          plainGit(other.root, "init", "--quiet", "--bare", "--initial-branch=main", join(other.root, "remote.git"))
          const refused = yield* Effect.flip(other.restore)
          assert.match(refused.message, /no longer has the commit/)
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

    it.scopedLive("take the place of nothing that is there, and go on with a restore that was broken off", () =>
      Effect.gen(function* () {
        const session = yield* sealedSession(base)
        yield* session.seal
        const before = listingOf(session.paths.workTree)
        put(session.paths.workTree, "unsealed.txt", "the only copy")
        const refused = yield* Effect.flip(session.restore)
        assert.match(refused.message, /Something is at .* already: move it away/)
        assert.isTrue(listingOf(session.paths.workTree).has("unsealed.txt"))
        yield* session.lose
        const { blobs } = yield* session.manifest
        const path = join(session.store, blobs.repository.digest.slice(7, 9), blobs.repository.digest.slice(7))
        fs.renameSync(path, `${path}.away`)
        assert.include((yield* Effect.flip(session.restore)).message, "does not hold it")
        assert.isTrue(fs.existsSync(session.paths.workTree))
        fs.renameSync(`${path}.away`, path)
        yield* session.restore
        assert.deepStrictEqual(listingOf(session.paths.workTree), before)
        assert.notInclude(fs.readdirSync(session.paths.root), "restoring")
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
        assert.deepStrictEqual(yield* journal.commit(store.announce([old])), [])
        assert.deepStrictEqual(yield* journal.commit(store.condemn()), [])
        yield* db.run(db.sql`update snapshot_blobs set used_at = '2020-01-01T00:00:00.000Z'`)
        assert.deepStrictEqual(yield* journal.commit(store.condemn()), [old.digest])
        assert.isUndefined(yield* journal.commit(store.announce([old])))
        assert.isFalse(yield* journal.commit(store.confirm([old])))
        yield* collect
        assert.lengthOf(storedIn(session.store), both.length - 1)
        assert.deepStrictEqual(yield* journal.commit(store.announce([old])), [old])

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
          yield* journal.commit(store.settle(session.id, 1, []))
          assert.strictEqual((yield* session.snapshots.unsealed).sessions, 1)
          assert.strictEqual(yield* jobs, 2)
          yield* session.snapshots.seal(session.id)
          assert.strictEqual((yield* session.snapshots.unsealed).sessions, 0)
        }).pipe(Effect.provide(withSnapshots(layer)))
    )
  })
}
