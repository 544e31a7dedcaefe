import { execFileSync } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Git } from "@reins/machine/git/Git"
import { bareRemote, gitLayer, plainGit, put, remoteCommit, temporary } from "@reins/testing/git/Fixture"
import { variants } from "@reins/testing/Variants"
import { Effect } from "effect"
import type { ObjectStore } from "../../../machine/src/repository/objects/ObjectStore.js"

/** The place of a store as the service names them. */
const storeAt = (root: string, digit = "a"): ObjectStore => {
  const lock = Effect.unsafeMakeSemaphore(1)
  return { path: join(root, "object-stores", digit.repeat(64)), alone: (use) => lock.withPermits(1)(use) }
}

const setUp = (files: Readonly<Record<string, string>> = { "a.txt": "one\n" }) =>
  Effect.gen(function* () {
    const git = yield* Git
    const root = yield* temporary
    const url = bareRemote(root, files)
    const store = storeAt(root)
    const places = (name: string) => ({ gitDir: join(root, `${name}.git`), workTree: join(root, name) })
    const take = (name: string, ref: string | null = null, from: ObjectStore = store) =>
      git.clone({ url, ref, ...places(name), store: from })
    return { git, root, url, store, places, take }
  })

const packs = (folder: string): ReadonlyArray<string> =>
  fs.readdirSync(join(folder, "objects/pack")).filter((name) => name.endsWith(".pack"))

const bytesOf = (folder: string): number =>
  fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + fs.statSync(join(entry.parentPath, entry.name)).size, 0)

const alternates = (gitDir: string): string => fs.readFileSync(join(gitDir, "objects/info/alternates"), "utf8")

/** Writes over the middle of each pack. */
const damage = (folder: string): void => {
  for (const name of packs(folder)) {
    const file = join(folder, "objects/pack", name)
    fs.chmodSync(file, 0o644)
    const bytes = fs.readFileSync(file)
    bytes.fill(0xaa, 12, bytes.length - 20)
    fs.writeFileSync(file, bytes)
  }
}

const whole = (workTree: string): void => {
  plainGit(workTree, "fsck", "--connectivity-only")
  assert.strictEqual(plainGit(workTree, "status", "--porcelain"), "")
}

describe("an object store", () => {
  it.scopedLive("gives two sessions one pack, and each an ordinary repository", () =>
    Effect.gen(function* () {
      const { git, places, root, store, take } = yield* setUp()
      const first = yield* take("one")
      const pack = packs(store.path)
      assert.lengthOf(pack, 1)
      assert.deepStrictEqual(yield* take("two"), first)
      assert.deepStrictEqual(packs(store.path), pack)
      for (const name of ["one", "two"]) {
        const { gitDir, workTree } = places(name)
        assert.isEmpty(packs(gitDir))
        assert.isEmpty(packs(join(workTree, ".git")))
        assert.strictEqual(alternates(gitDir), `${join(store.path, "objects")}\n`)
        assert.strictEqual(alternates(join(workTree, ".git")), alternates(gitDir))
        assert.strictEqual(plainGit(workTree, "status", "--porcelain", "--branch"), "## main...origin/main")
        whole(workTree)
      }
      const { gitDir, workTree } = places("two")
      put(workTree, "b.txt", "two\n")
      plainGit(workTree, "add", "--all")
      plainGit(workTree, "commit", "--quiet", "--message=mine")
      const taken = yield* git.snapshot({ gitDir, workTree, base: first.commit })
      assert.deepStrictEqual(
        taken.files.map(({ path }) => path),
        ["b.txt"]
      )
      // What is new in the remote comes alone.
      const tip = remoteCommit(root, "main", "c.txt", "c\n")
      assert.strictEqual((yield* take("three")).commit, tip)
      assert.lengthOf(packs(store.path), 2)
      whole(places("one").workTree)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive(
    "asks the remote for no objects where it has all, so that a second session takes 5 % of its files",
    () =>
      Effect.gen(function* () {
        const files = Object.fromEntries(
          Array.from({ length: 40 }, (_, at) => [`f${at}.txt`, randomBytes(16_384).toString("base64")])
        )
        const { places, take, url } = yield* setUp(files)
        yield* take("one")
        // The references can still be listed, and no object can be read.
        fs.renameSync(join(url, "objects"), join(url, "gone"))
        fs.mkdirSync(join(url, "objects"))
        yield* Effect.ensuring(
          take("two"),
          Effect.sync(() => {
            fs.rmdirSync(join(url, "objects"))
            fs.renameSync(join(url, "gone"), join(url, "objects"))
          })
        )
        const { gitDir, workTree } = places("two")
        const git = bytesOf(gitDir) + bytesOf(join(workTree, ".git"))
        assert.isBelow(git, (bytesOf(workTree) - bytesOf(join(workTree, ".git"))) / 20)
      }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("shares nothing with another store of the same remote", () =>
    Effect.gen(function* () {
      const { places, root, store, take } = yield* setUp()
      const other = storeAt(root, "b")
      yield* take("one")
      yield* take("two", null, other)
      const secret = remoteCommit(root, "secret", "s.txt", "s\n")
      yield* take("three")
      const has = (name: string) => {
        try {
          plainGit(places(name).workTree, "cat-file", "-e", secret)
          return true
        } catch {
          return false
        }
      }
      assert.deepStrictEqual([has("three"), has("two")], [true, false])
      assert.notStrictEqual(alternates(places("two").gitDir), alternates(places("three").gitDir))
      assert.isFalse(alternates(places("two").gitDir).includes(store.path))
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("gives nothing to whoever the remote refuses, and no commit that the remote does not list", () =>
    Effect.gen(function* () {
      const { places, root, take, url } = yield* setUp()
      const gone = remoteCommit(root, "gone", "s.txt", "s\n")
      yield* take("one")
      plainGit("/", `--git-dir=${url}`, "update-ref", "-d", "refs/heads/gone")
      plainGit("/", `--git-dir=${url}`, "reflog", "expire", "--expire=now", "--all")
      plainGit("/", `--git-dir=${url}`, "gc", "--quiet", "--prune=now")
      assert.strictEqual((yield* Effect.flip(take("two", gone))).kind, "ref_not_found")
      assert.isFalse(fs.existsSync(join(places("two").gitDir, "objects/info/alternates")))
      fs.renameSync(url, `${url}.away`)
      assert.strictEqual((yield* Effect.flip(take("three"))).kind, "not_found")
      assert.isFalse(fs.existsSync(join(places("three").gitDir, "objects/info/alternates")))
      fs.renameSync(`${url}.away`, url)
      whole(places("one").workTree)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("that is damaged costs a clone, and is whole again for the next session and for those before", () =>
    Effect.gen(function* () {
      const { places, root, store, take } = yield* setUp()
      remoteCommit(root, "more", "m.txt", "m\n")
      yield* take("one")
      damage(store.path)
      yield* take("two")
      assert.isFalse(fs.existsSync(join(places("two").gitDir, "objects/info/alternates")))
      whole(places("two").workTree)
      yield* take("three")
      assert.isTrue(fs.existsSync(join(places("three").gitDir, "objects/info/alternates")))
      for (const name of ["one", "three"]) whole(places(name).workTree)
      plainGit(places("one").workTree, "fsck")
    }).pipe(Effect.provide(gitLayer))
  )

  variants(() => {
    it.scopedLive("keeps what can be read of a damaged pack, when the remote has forgotten it", () =>
      Effect.gen(function* () {
        const { places, root, store, take, url } = yield* setUp()
        const kept = remoteCommit(root, "kept", "k.txt", "k\n")
        yield* take("one")
        plainGit("/", `--git-dir=${url}`, "update-ref", "-d", "refs/heads/kept")
        const [pack = ""] = packs(store.path)
        const file = join(store.path, "objects/pack", pack)
        fs.chmodSync(file, 0o644)
        const bytes = fs.readFileSync(file)
        // The checksum at the end is wrong, and all objects are right.
        bytes.fill(0, bytes.length - 20)
        fs.writeFileSync(file, bytes)
        fs.writeFileSync(join(store.path, "reins-doubted"), "")
        yield* take("two")
        assert.notInclude(packs(store.path), pack)
        plainGit(places("one").workTree, "cat-file", "-e", kept)
        whole(places("one").workTree)
        whole(places("two").workTree)
      }).pipe(Effect.provide(gitLayer))
    )
  })

  it.scopedLive("that is gone is made anew at its place", () =>
    Effect.gen(function* () {
      const { places, store, take } = yield* setUp()
      yield* take("one")
      fs.rmSync(store.path, { recursive: true })
      yield* take("two")
      for (const name of ["one", "two"]) whole(places(name).workTree)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("has few packs after many fetches, and every object of before", () =>
    Effect.gen(function* () {
      const { places, root, store, take, url } = yield* setUp()
      const takeOnce = (name: string) =>
        Effect.gen(function* () {
          const tip = remoteCommit(root, name, `${name}.txt`, `${name}\n`)
          yield* take(name, name)
          plainGit("/", `--git-dir=${url}`, "update-ref", "-d", `refs/heads/${name}`)
          return tip
        })
      const first = yield* takeOnce("first")
      const before = packs(store.path).length
      // Packs of earlier fetches, of objects that the remote has forgotten. One process makes them all.
      const blobs = Array.from({ length: 24 - before }, (_, at) => `earlier ${at}`)
      const ids = blobs.map((text) => createHash("sha1").update(`blob ${text.length}\0${text}`).digest("hex"))
      execFileSync("git", ["-c", "fastimport.unpackLimit=0", "fast-import", "--quiet"], {
        cwd: store.path,
        input: blobs.map((text) => `blob\ndata ${text.length}\n${text}\ncheckpoint\n`).join("")
      })
      assert.lengthOf(packs(store.path), 24)
      const tips = [first, yield* takeOnce("second"), yield* takeOnce("third")]
      assert.isBelow(packs(store.path).length, 24)
      for (const object of [...tips.map((tip) => `${tip}^{tree}`), ...ids])
        plainGit(places("first").workTree, "cat-file", "-e", object)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("loses nothing by what an agent does to its own git", () =>
    Effect.gen(function* () {
      const { git, places, root, store, take } = yield* setUp()
      const { commit } = yield* take("one")
      const { gitDir, workTree } = places("one")
      const before = fs.readdirSync(join(store.path, "objects"), { recursive: true }).sort()
      plainGit(workTree, "-c", "gc.auto=1", "gc", "--auto", "--quiet")
      plainGit(workTree, "gc", "--prune=now", "--quiet")
      assert.isEmpty(packs(join(workTree, ".git")))
      plainGit(workTree, "repack", "-a", "-d", "-q")
      // Its own copy is on its own disk.
      assert.lengthOf(packs(join(workTree, ".git")), 1)
      const file = join(workTree, ".git/objects/info/alternates")
      const secret = bareRemote(yield* temporary, { "s.txt": "secret\n" })
      const id = plainGit("/", `--git-dir=${secret}`, "rev-parse", "main")
      fs.writeFileSync(file, `${join(secret, "objects")}\n`)
      plainGit(workTree, "cat-file", "-e", id)
      assert.strictEqual(alternates(gitDir), `${join(store.path, "objects")}\n`)
      assert.throws(() => execFileSync("git", [`--git-dir=${gitDir}`, "cat-file", "-e", id], { stdio: "ignore" }))
      plainGit(workTree, "update-ref", "refs/heads/other", id)
      put(workTree, "b.txt", "b\n")
      const taken = yield* git.snapshot({ gitDir, workTree, base: commit })
      assert.strictEqual(taken.fileCount, 1)
      const left = yield* git.leftBehind({ gitDir, workTree, base: commit, tree: taken.tree })
      assert.notInclude(left.join(), "s.txt")
      assert.deepStrictEqual(fs.readdirSync(join(store.path, "objects"), { recursive: true }).sort(), before)
      assert.isTrue(fs.existsSync(root))
    }).pipe(Effect.provide(gitLayer))
  )
})
