import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { systemActor } from "@reins/core/access/Access"
import { Changesets } from "@reins/core/changes/Changesets"
import * as Embedded from "@reins/core/Embedded"
import { EventLog } from "@reins/core/events/EventLog"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Database } from "@reins/core/store/Database"
import { settingsFiles } from "@reins/core/store/DataDirectory"
import { Journal } from "@reins/core/store/Journal"
import { Leases } from "@reins/core/worktrees/Leases"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { sessionPaths } from "@reins/machine/bench/SessionPaths"
import { Git } from "@reins/machine/git/Git"
import { bareRemote, plainGit } from "@reins/testing/git/Fixture"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { ownerWithConnection } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { backUp, capture, databases, installation, restoreTo, temporary } from "./Installations.js"

/** A session with a workspace that has a file, and a changeset of it. */
const worked = Effect.gen(function* () {
  const owner = yield* ownerWithConnection
  const session = yield* (yield* Sessions).create(owner.principal, owner.workspaceId, {})
  const files = yield* SessionFiles
  yield* files.upload(owner.principal, session.id, { path: "notes/a.txt", content: "one\n" })
  const changesetId = yield* capture(session.id)
  return { ...owner, session, changesetId, paths: yield* pathsOf(session.id) }
})

/** All that a client can read of the session and its changeset. */
const seen = (sessionId: string, changesetId: string) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const changesets = yield* Changesets
    return {
      session: yield* (yield* Sessions).get(principal, sessionId),
      events: yield* (yield* EventLog).read(sessionId, 0, 1000),
      changeset: yield* changesets.get(principal, changesetId),
      diff: yield* changesets.diff(principal, changesetId, {}),
      changes: (yield* changesets.changes(principal, sessionId)).files
    }
  })

const setUpIn = (makePlace: (typeof databases)[number]["place"]) =>
  Effect.gen(function* () {
    const place = yield* makePlace
    const root = yield* temporary
    const [dataDir, elsewhere, file] = [join(root, "data"), join(root, "elsewhere"), join(root, "backup.tar")]
    return { place, dataDir, elsewhere, file, keyRing: join(dataDir, "keyring.json") }
  })

for (const { name, place } of databases) {
  const setUp = setUpIn(place)

  describe(`a backup of an installation on ${name}`, () => {
    it.scopedLive(
      "a restored installation answers as the one that was backed up, and its changesets can be applied",
      () =>
        Effect.gen(function* () {
          const { dataDir, elsewhere, file, keyRing, place } = yield* setUp
          const { before, made, work } = yield* Effect.gen(function* () {
            const work = yield* worked
            for (const name of Object.values(settingsFiles)) writeFileSync(join(dataDir, name), `of ${name}`)
            const before = yield* seen(work.session.id, work.changesetId)
            // While the services are open, as beside a server.
            return { work, before, made: yield* backUp(place, dataDir, file) }
          }).pipe(Effect.provide(installation(place, dataDir)))
          assert.strictEqual(statSync(file).mode & 0o777, 0o600)
          assert.strictEqual(made.manifest.key_ring, "left_out")
          assert.deepStrictEqual([made.skipped, made.manifest.incomplete, made.manifest.unsettled], [[], [], []])
          rmSync(join(dataDir, "sessions"), { recursive: true })

          yield* restoreTo(place, file, elsewhere, { keyRing })
          assert.strictEqual(statSync(elsewhere).mode & 0o777, 0o700)
          assert.strictEqual(statSync(join(elsewhere, "keyring.json")).mode & 0o777, 0o600)
          for (const name of Object.values(settingsFiles))
            assert.strictEqual(readFileSync(join(elsewhere, name), "utf8"), `of ${name}`)
          yield* Effect.gen(function* () {
            assert.deepStrictEqual(yield* seen(work.session.id, work.changesetId), before)
            const target = yield* (yield* Sessions).create(work.principal, work.workspaceId, {})
            const trees = yield* WorkingTrees
            yield* trees.make(target.id)
            const { gitDir, workTree } = yield* pathsOf(target.id)
            const applied = yield* (yield* Git).applyTree({
              source: {
                gitDir: (yield* pathsOf(work.session.id)).gitDir,
                base: null,
                tree: before.changeset.tree ?? ""
              },
              target: { gitDir, workTree, base: null },
              strategy: "three_way",
              dryRun: false
            })
            assert.deepStrictEqual(applied.changed, ["notes/a.txt"])
            assert.strictEqual(readFileSync(join(workTree, "notes/a.txt"), "utf8"), "one\n")
          }).pipe(Effect.provide(installation(place, elsewhere)))
        })
    )

    it.scopedLive("a session that is closed while it is copied has no half of a workspace afterwards", () =>
      Effect.gen(function* () {
        const { dataDir, elsewhere, file, keyRing, place } = yield* setUp
        const { made, session } = yield* Effect.gen(function* () {
          const { paths, session } = yield* worked
          const db = yield* Database
          const close = Effect.zipRight(
            Effect.sync(() => rmSync(join(paths.workTree, "notes"), { recursive: true })),
            db.run(db.sql`update sessions set lifecycle = 'closed' where id = ${session.id}`)
          )
          // The inventory has been read by then, which on PostgreSQL comes from the living database.
          const progress = (line: string) => (line.startsWith("session 1 of") ? close : Effect.void)
          const made = yield* backUp(place, dataDir, file, { progress })
          if (place.kind === "postgresql")
            yield* db.run(db.sql`update sessions set lifecycle = 'open' where id = ${session.id}`)
          return { made, session }
        }).pipe(Effect.provide(installation(place, dataDir)))
        assert.deepStrictEqual(made.manifest.incomplete, [session.id])
        yield* restoreTo(place, file, elsewhere, { keyRing })
        assert.isFalse(existsSync(join(elsewhere, "sessions", session.id, "workspace")))
        const row = yield* Effect.provide(
          Effect.flatMap(SessionStore, (store) => store.find(session.id)),
          installation(place, elsewhere)
        )
        assert.deepStrictEqual([row?.lifecycle, row?.tree.state], ["open", "none"])
      })
    )
  })
}

for (const { name, place } of databases.filter(({ name }) => flowDatabases.some((flow) => flow.name === name))) {
  const setUp = setUpIn(place)

  describe(`what a backup brings and says on ${name}`, () => {
    it.scopedLive("an object store comes once, and both repositories of a session find it at its new place", () =>
      Effect.gen(function* () {
        const { dataDir, elsewhere, file, keyRing, place } = yield* setUp
        const url = bareRemote(yield* temporary, { "a.txt": "one\n" })
        const local = { allowLocalRepositories: true }
        const { made, paths } = yield* Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const trees = yield* WorkingTrees
          const sessions = yield* Sessions
          const make = Effect.gen(function* () {
            const { id } = yield* sessions.create(principal, workspaceId, { repository: { url } })
            yield* trees.make(id)
            return id
          })
          const ids = [yield* make, yield* make]
          return {
            made: yield* backUp(place, dataDir, file),
            paths: (at: string) => ids.map((id) => sessionPaths(at, id))
          }
        }).pipe(Effect.provide(installation(place, dataDir, local)))
        assert.strictEqual(made.manifest.format, 2)
        assert.lengthOf(
          Object.keys(made.manifest.parts).filter((part) => part.startsWith("object-stores/")),
          1
        )
        rmSync(join(dataDir, "sessions"), { recursive: true })
        rmSync(join(dataDir, "object-stores"), { recursive: true })
        yield* restoreTo(place, file, elsewhere, { keyRing })
        for (const { gitDir, workTree } of paths(elsewhere)) {
          plainGit("/", `--git-dir=${gitDir}`, "fsck", "--connectivity-only")
          plainGit(workTree, "fsck", "--connectivity-only")
          assert.strictEqual(plainGit(workTree, "status", "--porcelain"), "")
          for (const folder of [gitDir, join(workTree, ".git")])
            assert.include(
              readFileSync(join(folder, "objects/info/alternates"), "utf8"),
              join(elsewhere, "object-stores")
            )
        }
      })
    )

    it.scopedLive(
      "of files that another machine has it says that it lacks them, and a restore leaves their place free",
      () =>
        Effect.gen(function* () {
          const { dataDir, elsewhere, file, keyRing, place } = yield* setUp
          const there = join(elsewhere, "sessions")
          const { closed, far, near } = yield* Effect.gen(function* () {
            const [near, far, closed] = [yield* worked, yield* worked, yield* worked]
            const trees = yield* WorkingTrees
            yield* (yield* Sessions).close(closed.principal, closed.session.id)
            yield* trees.remove(closed.session.id)
            // It never had files, so none are missing.
            const unused = yield* (yield* Sessions).create(near.principal, near.workspaceId, {})
            yield* (yield* Sessions).close(near.principal, unused.id)
            yield* trees.remove(unused.id)
            return { near, far, closed }
          }).pipe(Effect.provide(installation(place, dataDir)))
          const ids = [far.session.id, closed.session.id]
          for (const id of ids) renameSync(join(dataDir, "sessions", id), join(yield* temporary, id))

          const made = yield* backUp(place, dataDir, file)
          assert.sameMembers([...made.manifest.missing], ids)
          yield* restoreTo(place, file, elsewhere, { keyRing })
          assert.isTrue(existsSync(join(there, near.session.id, "workspace/notes/a.txt")))
          yield* Effect.gen(function* () {
            const states = Effect.map((yield* SessionStore).find(far.session.id), (row) => row?.tree.state)
            assert.strictEqual(yield* states, "ready")
          }).pipe(Effect.provide(installation(place, elsewhere)))
        })
    )

    it.scopedLive("files come back with their rights and links, and git's locks do not", () =>
      Effect.gen(function* () {
        const { dataDir, elsewhere, file, keyRing, place } = yield* setUp
        const long = `${"d".repeat(120)}/${"e".repeat(120)}/ä ${"f".repeat(100)}.txt`
        const { paths, session } = yield* Effect.provide(worked, installation(place, dataDir))
        const at = (path: string) => join(paths.workTree, path)
        mkdirSync(join(at(long), ".."), { recursive: true })
        writeFileSync(at(long), "long")
        writeFileSync(at("run.sh"), "#!/bin/sh\n", { mode: 0o755 })
        writeFileSync(at("big"), Buffer.alloc(3 * 1024 * 1024 + 17, 7))
        symlinkSync("/etc/hostname", at("link"))
        symlinkSync("notes", at("folder"))
        mkdirSync(at("fixed"))
        writeFileSync(at("fixed/file"), "fixed")
        chmodSync(at("fixed"), 0o555)
        mkdirSync(paths.home, { recursive: true })
        writeFileSync(join(paths.home, "state"), "kept")
        writeFileSync(join(paths.gitDir, "packed-refs.lock"), "")
        mkdirSync(join(dataDir, "outbox"), { recursive: true })
        writeFileSync(join(dataDir, "outbox", "1.eml"), "mail", { mode: 0o600 })
        yield* backUp(place, dataDir, file)

        yield* restoreTo(place, file, elsewhere, { keyRing })
        const restored = (path: string) => join(elsewhere, "sessions", session.id, "workspace", path)
        assert.strictEqual(readFileSync(restored(long), "utf8"), "long")
        assert.strictEqual(lstatSync(restored("run.sh")).mode & 0o777, 0o755)
        assert.deepStrictEqual(readFileSync(restored("big")), readFileSync(at("big")))
        assert.strictEqual(readlinkSync(restored("link")), "/etc/hostname")
        assert.strictEqual(readlinkSync(restored("folder")), "notes")
        assert.strictEqual(lstatSync(restored("fixed")).mode & 0o777, 0o555)
        const beside = (path: string) => join(elsewhere, "sessions", session.id, path)
        assert.strictEqual(readFileSync(beside("home/state"), "utf8"), "kept")
        assert.isFalse(existsSync(beside("trusted.git/packed-refs.lock")))
        assert.strictEqual(readFileSync(join(elsewhere, "outbox", "1.eml"), "utf8"), "mail")
        chmodSync(restored("fixed"), 0o755)
        chmodSync(at("fixed"), 0o755)
      })
    )

    it.scopedLive(
      "a workspace that is not whole is made anew from the base, and a lease of the other machine is lost",
      () =>
        Effect.gen(function* () {
          const { dataDir, elsewhere, file, keyRing, place } = yield* setUp
          const { paths, session } = yield* Effect.gen(function* () {
            const work = yield* worked
            const journal = yield* Journal
            yield* journal.commit((yield* Leases).allocate(work.session.id, systemActor("test")))
            return work
          }).pipe(Effect.provide(installation(place, dataDir)))
          rmSync(paths.workTree, { recursive: true })
          yield* backUp(place, dataDir, file)
          yield* restoreTo(place, file, elsewhere, { keyRing })
          yield* Effect.gen(function* () {
            const row = yield* (yield* SessionStore).find(session.id)
            assert.deepStrictEqual([row?.tree.state, row?.executor.lease?.state], ["none", "lost"])
            const { events: items } = yield* (yield* EventLog).read(session.id, 0, 1000)
            assert.deepStrictEqual([items.at(-1)?.type, items.at(-1)?.seq], ["executor.lost", row?.event_watermark])
            yield* (yield* WorkingTrees).make(session.id)
          }).pipe(Effect.provide(installation(place, elsewhere)))
        })
    )

    it.scopedLive("the keys are asked for in words; without them all but the credentials is restored", () =>
      Effect.gen(function* () {
        const { dataDir, elsewhere, file, place } = yield* setUp
        yield* Effect.provide(worked, installation(place, dataDir))
        const made = yield* backUp(place, dataDir, file)
        const [keyId = ""] = made.manifest.key_ids
        const key = /"k[0-9a-f]+": "([^"]+)"/.exec(readFileSync(join(dataDir, "keyring.json"), "utf8"))?.[1] ?? "none"
        assert.isFalse(readFileSync(file).includes(key))

        const refused = yield* Effect.flip(restoreTo(place, file, elsewhere))
        assert.include(refused.message, keyId)
        assert.match(refused.message, /--keyring <file>.*--without-keys/s)
        assert.deepStrictEqual(readdirSync(elsewhere), ["server.lock"])

        const given = yield* restoreTo(place, file, elsewhere, { withoutKeys: true })
        assert.deepStrictEqual(given.missingKeys, [keyId])
        yield* Effect.provide(Embedded.owner, installation(place, elsewhere))

        const withRing = `${file}.with`
        yield* backUp(place, dataDir, withRing, { keyFile: join(dataDir, "keyring.json") })
        assert.isTrue(readFileSync(withRing).includes(key))
        const again = yield* restoreTo(place, withRing, `${elsewhere}2`)
        assert.deepStrictEqual(again.missingKeys, [])
        assert.strictEqual(readFileSync(join(`${elsewhere}2`, "keyring.json"), "utf8").includes(key), true)
      })
    )
  })
}

describe("the file of a backup", () => {
  const made = Effect.gen(function* () {
    const [sqlite] = databases
    if (sqlite === undefined) return yield* Effect.dieMessage("no SQLite")
    const place = yield* sqlite.place
    const root = yield* temporary
    const [dataDir, file] = [join(root, "data"), join(root, "backup.tar")]
    yield* Effect.provide(worked, installation(place, dataDir))
    yield* backUp(place, dataDir, file, { keyFile: join(dataDir, "keyring.json") })
    return { place, root, file, dataDir, bytes: readFileSync(file) }
  })

  it.scopedLive("cut off anywhere it is refused, and nothing looks like an installation", () =>
    Effect.gen(function* () {
      const { bytes, place, root } = yield* made
      const cut = join(root, "cut.tar")
      for (const length of [0, 100, 512, 5000, bytes.length / 2, bytes.length - 3000, bytes.length - 1624]) {
        writeFileSync(cut, bytes.subarray(0, Math.floor(length)))
        const refused = yield* Effect.flip(restoreTo(place, cut, join(root, "into")))
        assert.include(refused.message, "not a whole backup")
        assert.isFalse(existsSync(join(root, "into", "reins.db")))
      }
    })
  )

  it.scopedLive("with a changed byte it is refused, unless the byte belongs to nothing", () =>
    Effect.gen(function* () {
      const { bytes, place, root } = yield* made
      const changed = join(root, "changed.tar")
      let refusals = 0
      for (let round = 0; round < 40; round++) {
        const at = Math.floor((bytes.length - 1024) * ((round + 0.5) / 40))
        const copy = Buffer.from(bytes)
        copy[at] = (copy[at] ?? 0) ^ 0x41
        writeFileSync(changed, copy)
        const into = join(root, `into-${round}`)
        const result = yield* Effect.either(restoreTo(place, changed, into))
        if (result._tag === "Left") {
          refusals++
          assert.isFalse(existsSync(join(into, "reins.db")), `byte ${at}`)
        } else assert.strictEqual(bytes[at], 0, `byte ${at} was changed and nobody saw it`)
      }
      assert.isAbove(refusals, 20)
    })
  )

  it.scopedLive("it goes into an empty directory alone, and never over a file", () =>
    Effect.gen(function* () {
      const { dataDir, file, place, root } = yield* made
      const taken = yield* Effect.flip(backUp(place, dataDir, file))
      assert.include(taken.message, "is there already")
      const occupied = join(root, "occupied")
      mkdirSync(occupied)
      writeFileSync(join(occupied, "mine"), "")
      const refused = yield* Effect.flip(restoreTo(place, file, occupied))
      assert.include(refused.message, "is not empty")
      assert.deepStrictEqual(
        readdirSync(occupied).filter((name) => name !== "server.lock"),
        ["mine"]
      )
      assert.isEmpty(readdirSync(root).filter((name) => name.endsWith(".partial")))
    })
  )

  it.scopedLive("of a newer release it is refused in words", () =>
    Effect.gen(function* () {
      const { dataDir, place, root } = yield* made
      yield* Effect.provide(
        Effect.flatMap(Database, (db) =>
          db.run(db.sql`update agreements set value = '9.8.7' where name = 'min_release'`)
        ),
        place.asIs(dataDir)
      )
      const refused = yield* Effect.flip(backUp(place, dataDir, join(root, "newer.tar")))
      assert.match(refused.message, /needs release 9\.8\.7 of Reins or a newer one/)
    })
  )
})
