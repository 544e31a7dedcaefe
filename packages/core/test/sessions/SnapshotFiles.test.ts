import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Bell } from "@reins/core/store/Bell"
import * as Sqlite from "@reins/core/store/Sqlite"
import { plainGit } from "@reins/testing/git/Fixture"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import { Effect, Layer } from "effect"
import { agentGit, listingOf, put, sealedSession, withSnapshots } from "./Snapshooting.js"

// These are about files alone, which are the same on every database.

const base = { ".gitignore": "*.log\nbig/\nsmall/\n.env\n", "a.txt": "one\n", "dir/b.txt": "two\n" }

const overHttp = (path: string) => Effect.map(gitHttpServer(dirname(path), null), ({ url }) => `${url}/remote.git`)

const layer = Layer.merge(Sqlite.layerMemory, Bell.layer)

describe("the files of snapshots", () => {
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

  it.scopedLive("take the base from the remote, say so when it is gone there, and keep it from the twentieth on", () =>
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
        const other = plainGit(remote, "commit-tree", "-m", "another history", "main^{tree}")
        plainGit(remote, "update-ref", "refs/heads/main", other)
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
})
