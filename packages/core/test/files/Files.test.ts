import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
import { assert, describe, it } from "@effect/vitest"
import { Files } from "@reins/machine/files/Files"
import { parseWorkspacePath } from "@reins/machine/files/WorkspacePath"
import { devices, plantDevices, put, temporary } from "@reins/testing/git/Fixture"
import { raceSeconds, raceTimeout } from "@reins/testing/Volume"
import { Effect, Either } from "effect"

const sha256 = (content: string | Uint8Array) => `sha256:${createHash("sha256").update(content).digest("hex")}`

const workspace = Effect.gen(function* () {
  const files = yield* Files
  const outer = yield* temporary
  const root = join(outer, "root")
  fs.mkdirSync(root)
  put(outer, "out/secret", "SECRET\n")
  return { files, outer, root }
})

const bytes = (text: string) => new TextEncoder().encode(text)

/** Paths that could lead out of the root or into a repository's own directory, or that make no sense. */
const hostilePaths: ReadonlyArray<string> = [
  "",
  ".",
  "..",
  "/",
  "//",
  "a//b",
  "a/",
  "/a",
  "./a",
  "a/.",
  "a/..",
  "a/../b",
  "../out/secret",
  "a/../../out/secret",
  "..\\out\\secret",
  "a\\b",
  "a\0b",
  "\0",
  "a/\0",
  "/etc/passwd",
  "//etc/passwd",
  "C:/x",
  "c:/windows",
  ".git",
  ".git/config",
  ".GIT/config",
  ".Git/hooks/pre-commit",
  "a/.git/config",
  "a/.gIt",
  ".git ",
  ".git.",
  ".git. .",
  ".git::$INDEX_ALLOCATION/config",
  ".git:stream",
  "git~1",
  "GIT~1/config",
  "git~2/x",
  "git~1.",
  ".g\u200cit/config",
  ".gi\u200dt",
  "\ufeff.git",
  ".git\u200e",
  ".g\u202eit/x",
  ".\u206agit",
  ".ｇｉｔ/config",
  "x".repeat(256),
  `a/${"é".repeat(128)}`,
  `${"a/".repeat(2500)}a`,
  "\ud800",
  "a/\udfff/b",
  ".git\n/config",
  ".git\t"
]

describe("workspace paths", () => {
  it("every hostile spelling is refused", () => {
    const accepted = hostilePaths.filter((path) => Either.isRight(parseWorkspacePath(path)))
    assert.deepStrictEqual(accepted, [])
  })

  it("ordinary names, also unusual ones, are taken as they are", () => {
    for (const path of [
      "a",
      ".gitignore",
      ".gitattributes",
      ".github/x.yml",
      "a/b c/d",
      "...",
      "..a",
      "a..",
      "~",
      "-x",
      "é",
      "git",
      "a:b",
      "%2e%2e",
      "git~"
    ]) {
      assert.strictEqual(Either.getOrThrow(parseWorkspacePath(path)).join("/"), path)
    }
  })
})

describe("Files.read", () => {
  it.scopedLive("text is utf-8, other content base64, with the digest of the whole file", () =>
    Effect.gen(function* () {
      const { files, root } = yield* workspace
      put(root, "dir/text.txt", "\ufeffhéllo\n")
      put(root, "data.bin", Buffer.from([0xff, 0, 1]))
      put(root, "empty", "")
      assert.deepStrictEqual(yield* files.read(root, "dir/text.txt"), {
        path: "dir/text.txt",
        encoding: "utf-8",
        content: "\ufeffhéllo\n",
        size: 10,
        digest: sha256("\ufeffhéllo\n"),
        truncated: false
      })
      const binary = yield* files.read(root, "data.bin")
      assert.deepStrictEqual([binary.encoding, binary.content], ["base64", "/wAB"])
      const empty = yield* files.read(root, "empty")
      assert.deepStrictEqual([empty.content, empty.size, empty.truncated], ["", 0, false])
    }).pipe(Effect.provide(Files.layer))
  )

  it.scopedLive("a cut file says so, keeps whole characters, and has the size and digest of all of it", () =>
    Effect.gen(function* () {
      const { files, root } = yield* workspace
      put(root, "long.txt", "ééé")
      const cut = yield* files.read(root, "long.txt", 3)
      assert.deepStrictEqual(cut, {
        path: "long.txt",
        encoding: "utf-8",
        content: "é",
        size: 6,
        digest: sha256("ééé"),
        truncated: true
      })
      const exact = yield* files.read(root, "long.txt", 6)
      assert.deepStrictEqual([exact.content, exact.truncated], ["ééé", false])
    }).pipe(Effect.provide(Files.layer))
  )

  it.scopedLive("links, directories and special files are refused by kind, and a FIFO never blocks", () =>
    Effect.gen(function* () {
      const { files, outer, root } = yield* workspace
      put(root, "dir/file", "x")
      fs.symlinkSync("../out/secret", join(root, "link"))
      fs.symlinkSync("../out", join(root, "linked-dir"))
      fs.symlinkSync("dir", join(root, "inner-link"))
      fs.symlinkSync("/proc/self/root", join(root, "magic"))
      execFileSync("mkfifo", [join(root, "fifo")])
      plantDevices(root)
      yield* Effect.acquireRelease(
        Effect.async<ReturnType<typeof createServer>>((resume) => {
          const server = createServer().listen(join(root, "socket"), () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      const told = (path: string) =>
        Effect.map(Effect.flip(files.read(root, path)), (error) =>
          error._tag === "PathRefused" ? `${error._tag}:${error.reason}` : error._tag
        )
      assert.strictEqual(yield* told("link"), "PathRefused:symlink")
      assert.strictEqual(yield* told("linked-dir/secret"), "PathRefused:symlink")
      assert.strictEqual(yield* told("inner-link/file"), "PathRefused:symlink")
      assert.strictEqual(yield* told("magic/etc/passwd"), "PathRefused:symlink")
      assert.strictEqual(yield* told("fifo"), "PathRefused:special_file")
      assert.strictEqual(yield* told("socket"), "PathRefused:special_file")
      for (const device of Object.keys(devices).filter((name) => fs.existsSync(join(root, name))))
        assert.strictEqual(yield* told(device), "PathRefused:special_file")
      assert.strictEqual(yield* told("dir"), "NotAFile")
      assert.strictEqual(yield* told("dir/file/x"), "NotADirectory")
      assert.strictEqual(yield* told("none"), "FileNotFound")
      assert.strictEqual(yield* told("none/x"), "FileNotFound")
      const gone = yield* Effect.flip(files.read(join(outer, "nowhere"), "a"))
      assert.strictEqual(gone._tag, "FileNotFound")
    }).pipe(Effect.provide(Files.layer))
  )

  it.scopedLive("no hostile path reads, lists or writes anything", () =>
    Effect.gen(function* () {
      const { files, outer, root } = yield* workspace
      put(root, ".git/config", "x")
      for (const path of hostilePaths) {
        assert.strictEqual((yield* Effect.flip(files.read(root, path)))._tag, "PathRefused")
        assert.strictEqual((yield* Effect.flip(files.write(root, path, bytes("x"))))._tag, "PathRefused")
        if (path !== "") assert.strictEqual((yield* Effect.flip(files.list(root, path)))._tag, "PathRefused")
      }
      assert.deepStrictEqual(fs.readdirSync(root), [".git"])
      assert.deepStrictEqual(fs.readdirSync(outer).sort(), ["out", "root"])
    }).pipe(Effect.provide(Files.layer))
  )
})

describe("Files.list", () => {
  it.scopedLive("entries are sorted, links are not followed, and git's own directory is not shown", () =>
    Effect.gen(function* () {
      const { files, root } = yield* workspace
      put(root, "b.txt", "bb", 0o755)
      put(root, "a/inner.txt", "x")
      put(root, ".git/config", "x")
      fs.symlinkSync("../out/secret", join(root, "c-link"))
      execFileSync("mkfifo", [join(root, "d-fifo")])
      const { items, truncated } = yield* files.list(root)
      assert.deepStrictEqual(
        items.map((item) => [item.name, item.type]),
        [
          ["a", "directory"],
          ["b.txt", "file"],
          ["c-link", "symlink"],
          ["d-fifo", "other"]
        ]
      )
      assert.isFalse(truncated)
      assert.deepStrictEqual([items[1]?.size, items[1]?.mode], [2, "0755"])
      assert.strictEqual(items[1]?.modified_at.epochMillis, Math.floor(fs.statSync(join(root, "b.txt")).mtimeMs))
      assert.deepStrictEqual(
        (yield* files.list(root, "a")).items.map((item) => item.path),
        ["a/inner.txt"]
      )
      assert.strictEqual((yield* Effect.flip(files.list(root, "b.txt")))._tag, "NotADirectory")
      assert.strictEqual((yield* Effect.flip(files.list(root, "none")))._tag, "FileNotFound")
      assert.strictEqual((yield* Effect.flip(files.list(root, "c-link")))._tag, "PathRefused")
    }).pipe(Effect.provide(Files.layer))
  )

  it.scopedLive("more than 10,000 entries are cut and say so", () =>
    Effect.gen(function* () {
      const { files, root } = yield* workspace
      for (let number = 0; number < 10_001; number += 1) fs.writeFileSync(join(root, `f${number}`), "")
      const { items, truncated } = yield* files.list(root)
      assert.deepStrictEqual([items.length, truncated], [10_000, true])
    }).pipe(Effect.provide(Files.layer))
  )
})

describe("Files.write", () => {
  it.scopedLive("a file is put with the directories that it needs, and replaced keeping its mode", () =>
    Effect.gen(function* () {
      const { files, root } = yield* workspace
      assert.deepStrictEqual(yield* files.write(root, "a/b/c.txt", bytes("one")), {
        path: "a/b/c.txt",
        size: 3,
        digest: sha256("one")
      })
      assert.strictEqual(fs.statSync(join(root, "a/b/c.txt")).mode & 0o777, 0o644)
      yield* files.write(root, "a/b/c.txt", bytes("two"), { mode: 0o4755 })
      yield* files.write(root, "a/b/c.txt", bytes("three"))
      assert.strictEqual(fs.statSync(join(root, "a/b/c.txt")).mode & 0o7777, 0o755)
      assert.deepStrictEqual(fs.readdirSync(join(root, "a/b")), ["c.txt"])
      assert.strictEqual(fs.readFileSync(join(root, "a/b/c.txt"), "utf8"), "three")
    }).pipe(Effect.provide(Files.layer))
  )

  it.scopedLive("a condition that does not hold writes nothing and says what is there", () =>
    Effect.gen(function* () {
      const { files, root } = yield* workspace
      yield* files.write(root, "f", bytes("one"), { expectedDigest: "absent" })
      const there = yield* Effect.flip(files.write(root, "f", bytes("two"), { expectedDigest: "absent" }))
      assert.deepInclude(there, { _tag: "FileDigestMismatch", expected: "absent", actual: sha256("one") })
      const other = yield* Effect.flip(files.write(root, "f", bytes("two"), { expectedDigest: sha256("zero") }))
      assert.deepInclude(other, { _tag: "FileDigestMismatch", actual: sha256("one") })
      const none = yield* Effect.flip(files.write(root, "g", bytes("two"), { expectedDigest: sha256("one") }))
      assert.deepInclude(none, { _tag: "FileDigestMismatch", actual: "absent" })
      assert.strictEqual(fs.readFileSync(join(root, "f"), "utf8"), "one")
      yield* files.write(root, "f", bytes("two"), { expectedDigest: sha256("one") })
      assert.deepStrictEqual(fs.readdirSync(root), ["f"])
    }).pipe(Effect.provide(Files.layer))
  )

  it.scopedLive("of simultaneous conditional writes exactly one succeeds", () =>
    Effect.gen(function* () {
      const { files, root } = yield* workspace
      for (const expectedDigest of ["absent", sha256("0")]) {
        if (expectedDigest !== "absent") put(root, "f", "0")
        const outcomes = yield* Effect.all(
          Array.from({ length: 10 }, (_, number) =>
            Effect.either(files.write(root, "f", bytes(`w${number}`), { expectedDigest }))
          ),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(outcomes.filter(Either.isRight).length, 1)
      }
    }).pipe(Effect.provide(Files.layer))
  )

  it.scopedLive("links, directories and files in the way are not written through or over", () =>
    Effect.gen(function* () {
      const { files, outer, root } = yield* workspace
      put(root, "file", "x")
      fs.mkdirSync(join(root, "dir"))
      fs.symlinkSync("../out/secret", join(root, "link"))
      fs.symlinkSync("../out", join(root, "linked-dir"))
      fs.symlinkSync("../created", join(root, "dangling"))
      const tag = (path: string) => Effect.map(Effect.flip(files.write(root, path, bytes("x"))), (error) => error._tag)
      assert.strictEqual(yield* tag("link"), "PathRefused")
      assert.strictEqual(yield* tag("dangling"), "PathRefused")
      assert.strictEqual(yield* tag("linked-dir/new"), "PathRefused")
      assert.strictEqual(yield* tag("linked-dir/sub/new"), "PathRefused")
      assert.strictEqual(yield* tag("dir"), "NotAFile")
      assert.strictEqual(yield* tag("file/below"), "NotADirectory")
      assert.strictEqual(fs.readFileSync(join(outer, "out/secret"), "utf8"), "SECRET\n")
      assert.deepStrictEqual(fs.readdirSync(join(outer, "out")), ["secret"])
      assert.deepStrictEqual(fs.readdirSync(outer).sort(), ["out", "root"])
    }).pipe(Effect.provide(Files.layer))
  )
})

const swapper = `
const fs = require("node:fs")
const { parentPort, workerData: { root } } = require("node:worker_threads")
parentPort.postMessage("started")
for (;;) {
  try { fs.renameSync(root + "/d", root + "/d0"); fs.symlinkSync("../out", root + "/d"); fs.unlinkSync(root + "/d"); fs.renameSync(root + "/d0", root + "/d") }
  catch { try { fs.rmSync(root + "/d", { recursive: true, force: true }); fs.renameSync(root + "/d0", root + "/d") } catch {} }
}
`

describe("a directory exchanged with a symbolic link again and again", () => {
  it.scopedLive(
    "never lets a read, list or write out of the root",
    () =>
      Effect.gen(function* () {
        const { files, outer, root } = yield* workspace
        put(outer, "out/secret", "S".repeat(7_777))
        put(root, "d/secret", "inside\n")
        const worker = yield* Effect.acquireRelease(
          Effect.sync(() => new Worker(swapper, { eval: true, workerData: { root } })),
          (running) => Effect.promise(() => running.terminate())
        )
        yield* Effect.async<void>((resume) => {
          worker.once("message", () => resume(Effect.void))
        })
        let served = 0
        const reading = Date.now() + raceSeconds * 1000
        while (Date.now() < reading || served <= 10) {
          const read = yield* Effect.either(files.read(root, "d/secret"))
          if (Either.isRight(read)) {
            served += 1
            assert.strictEqual(read.right.content, "inside\n")
          }
          const listed = yield* Effect.either(files.list(root, "d"))
          if (Either.isRight(listed)) {
            assert.notInclude(
              listed.right.items.map((item) => item.size),
              7_777
            )
          }
        }
        let written = 0
        const writing = Date.now() + raceSeconds * 1000
        while (Date.now() < writing || written <= 10) {
          if (Either.isRight(yield* Effect.either(files.write(root, "d/written", bytes("w"))))) written += 1
        }
        assert.deepStrictEqual(fs.readdirSync(join(outer, "out")), ["secret"])
      }).pipe(Effect.provide(Files.layer)),
    raceTimeout
  )
})
