import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import {
  attempt,
  type BeneathError,
  inDirectory,
  type OpenDirectory,
  readLink,
  removeFile,
  replaceFile,
  replaceLink,
  withFile
} from "@reins/machine/files/Beneath"
import { readTree } from "@reins/machine/files/TreeReader"
import { put, temporary } from "@reins/testing/git/Fixture"
import { Effect, Either } from "effect"

/** The ways to find an open directory, by whether the system has /proc. */
const ways = [
  { way: "by /proc", without: false },
  { way: "without /proc", without: true }
] as const

const at = <A, E, R>(without: boolean, effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => without && Object.assign(process.env, { REINS_WITHOUT_PROC: "1" })),
    () => effect,
    () => Effect.sync(() => delete process.env["REINS_WITHOUT_PROC"])
  )

/** A root with the directory `a`, and a place outside with files of the same names. */
const world = Effect.map(temporary, (outer) => {
  const root = join(outer, "root")
  for (const path of ["root/a/file", "out/file"]) put(outer, path, path)
  fs.symlinkSync("of a", join(root, "a/link"))
  fs.symlinkSync("of out", join(outer, "out/link"))
  return { outer, root }
})

/** Puts another file in the place of the directory `a`. */
const exchanges = {
  "a link to a place outside": (outer: string) => {
    fs.renameSync(join(outer, "root/a"), join(outer, "moved"))
    fs.symlinkSync("../out", join(outer, "root/a"))
  },
  "another directory": (outer: string) => {
    fs.renameSync(join(outer, "root/a"), join(outer, "moved"))
    fs.renameSync(join(outer, "out"), join(outer, "root/a"))
  },
  nothing: (outer: string) => fs.renameSync(join(outer, "root/a"), join(outer, "moved"))
}

const bytes = Buffer.from("written")

const operations: Readonly<Record<string, (directory: OpenDirectory) => Effect.Effect<unknown, BeneathError>>> = {
  "reads a file": (directory) => withFile(directory, "file", (handle) => handle.readFile("utf8")),
  "reads a link": (directory) => Effect.map(readLink(directory, "link"), String),
  lists: (directory) => attempt(".", () => fs.promises.readdir(directory.entry("."))),
  "replaces a file": (directory) => replaceFile(directory, "file", bytes, { mode: 0o644, exclusive: false }),
  "makes a file": (directory) => replaceFile(directory, "new", bytes, { mode: 0o644, exclusive: true }),
  "replaces a link": (directory) => replaceLink(directory, "link", bytes),
  "removes a file": (directory) => removeFile(directory, "file")
}

const stateOf = (directory: string): unknown =>
  fs.existsSync(directory)
    ? fs
        .readdirSync(directory)
        .sort()
        .map((name) => [
          name,
          name === "link" ? fs.readlinkSync(join(directory, name)) : fs.readFileSync(join(directory, name), "utf8")
        ])
    : null

describe.each(ways)("an open directory that is exchanged, $way", ({ without }) => {
  for (const [kind, exchange] of Object.entries(exchanges))
    for (const [name, operation] of Object.entries(operations))
      it.scopedLive(`for ${kind}: whoever ${name} meets nothing from outside`, () =>
        at(
          without,
          Effect.gen(function* () {
            const { outer, root } = yield* world
            const before = stateOf(join(outer, "out"))
            const result = yield* inDirectory(root, ["a"], { create: false }, (directory) =>
              Effect.zipRight(
                Effect.sync(() => exchange(outer)),
                Effect.either(operation(directory))
              )
            )
            const outside = kind === "another directory" ? join(root, "a") : join(outer, "out")
            assert.deepStrictEqual(stateOf(outside), before)
            if (without)
              assert.deepStrictEqual(
                Either.getLeft(result).pipe((left) => left._tag),
                "Some",
                "is refused"
              )
            else assert.isTrue(Either.isRight(result), "works on the open directory")
            if (Either.isRight(result)) assert.notInclude(JSON.stringify(result.right) ?? "", "out")
          })
        )
      )

  it.scopedLive("works as ever while nothing is exchanged, also in a root that is reached by a link", () =>
    at(
      without,
      Effect.gen(function* () {
        const { outer, root } = yield* world
        fs.symlinkSync("root", join(outer, "by-link"))
        for (const path of [root, join(outer, "by-link")]) {
          yield* inDirectory(path, ["a", "made"], { create: true }, (directory) =>
            replaceFile(directory, "new", bytes, { mode: 0o644, exclusive: false })
          )
          assert.strictEqual(fs.readFileSync(join(root, "a/made/new"), "utf8"), "written")
          fs.rmSync(join(root, "a/made"), { recursive: true })
        }
      })
    )
  )

  it.scopedLive("a tree that is read leaves out what was exchanged, and has nothing from outside", () =>
    at(
      without,
      Effect.gen(function* () {
        const { outer, root } = yield* world
        const skipped: Array<string> = []
        const contents = yield* Effect.promise(async () => {
          const found: Array<string> = []
          for await (const entry of readTree(root, "t", { skipped: (path) => skipped.push(path) })) {
            if (entry.path === "t/a") exchanges["a link to a place outside"](outer)
            if (entry.content !== undefined) for await (const piece of entry.content()) found.push(String(piece))
          }
          return found
        })
        assert.deepStrictEqual(contents, without ? [] : ["root/a/file"])
        assert.deepStrictEqual(skipped, without ? ["t/a"] : [])
      })
    )
  )
})
