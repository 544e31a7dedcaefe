import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { type SubjectEntry, subjectDigest } from "@reins/machine/git/read/Subject"
import { clonedOnce, gitLayer, put } from "@reins/testing/git/Fixture"
import { subjectSteps } from "@reins/testing/Volume"
import { Effect } from "effect"
import * as fc from "fast-check"

const entry: fc.Arbitrary<SubjectEntry> = fc.record({
  path: fc.string({ minLength: 1 }),
  mode: fc.constantFrom("100644", "100755", "120000", "000000"),
  digest: fc.option(fc.hexaString({ minLength: 1, maxLength: 8 }))
})

const entries = fc.uniqueArray(entry, { selector: (one) => one.path, maxLength: 8 })

const keyOf = (base: string | null, list: ReadonlyArray<SubjectEntry>) =>
  JSON.stringify([
    base,
    [...list].sort((left, right) => (left.path < right.path ? -1 : 1)).map((one) => [one.path, one.mode, one.digest])
  ])

describe("subjectDigest", () => {
  it("does not depend on the order of the entries", () => {
    fc.assert(
      fc.property(entries, (list) => {
        assert.strictEqual(
          subjectDigest({ base: null, entries: list }),
          subjectDigest({ base: null, entries: [...list].reverse() })
        )
      })
    )
  })

  it("is equal if and only if base and entries are", () => {
    const base = fc.constantFrom(null, "a".repeat(40), "b".repeat(40))
    fc.assert(
      fc.property(base, entries, base, entries, (base1, list1, base2, list2) => {
        assert.strictEqual(
          subjectDigest({ base: base1, entries: list1 }) === subjectDigest({ base: base2, entries: list2 }),
          keyOf(base1, list1) === keyOf(base2, list2)
        )
      })
    )
  })

  it("is the same in every version", () => {
    const digest = subjectDigest({
      base: "1".repeat(40),
      entries: [
        { path: "b", mode: "000000", digest: null },
        { path: "a", mode: "100644", digest: "sha256:00" }
      ]
    })
    const text = `reins.subject.v1\n${"1".repeat(40)}\n["a","100644","sha256:00"]\n["b","000000",null]\n`
    assert.strictEqual(digest, `sha256:${createHash("sha256").update(text).digest("hex")}`)
  })
})

const paths = ["a.txt", "dir/b.txt", "dir/sub/c.bin", "new", "dir", "x y"] as const

const operation = fc.oneof(
  fc.record({
    kind: fc.constant("write" as const),
    path: fc.constantFrom(...paths),
    content: fc.constantFrom("", "1\n", "2\n", "\0")
  }),
  fc.record({ kind: fc.constant("remove" as const), path: fc.constantFrom(...paths) }),
  fc.record({ kind: fc.constant("executable" as const), path: fc.constantFrom(...paths) }),
  fc.record({ kind: fc.constant("link" as const), path: fc.constantFrom(...paths) }),
  fc.record({ kind: fc.constant("touch" as const), path: fc.constantFrom(...paths) })
)

type Operation = typeof operation extends fc.Arbitrary<infer A> ? A : never

const clear = (root: string, path: string): void => fs.rmSync(join(root, path), { recursive: true, force: true })

const isFile = (path: string): boolean => fs.existsSync(path) && fs.lstatSync(path).isFile()

// A file or link gives way to a folder that is needed in its place.
const makeWay = (root: string, path: string): void => {
  const folders = path.split("/").slice(0, -1)
  folders.forEach((_, depth) => {
    const folder = join(root, ...folders.slice(0, depth + 1))
    if (fs.lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) fs.rmSync(folder)
  })
  fs.mkdirSync(dirname(join(root, path)), { recursive: true })
}

const perform = (root: string, step: Operation): void => {
  const target = join(root, step.path)
  makeWay(root, step.path)
  if (step.kind === "executable" && isFile(target)) fs.chmodSync(target, 0o755)
  if (step.kind === "touch" && isFile(target)) fs.utimesSync(target, 1, 1)
  if (step.kind === "executable" || step.kind === "touch") return
  clear(root, step.path)
  if (step.kind === "write") put(root, step.path, step.content)
  if (step.kind === "link") fs.symlinkSync("target", target)
}

/** The content of the work tree, read from the disk and not from git. */
const look = (root: string): string => {
  const found = fs.readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) => !/^\.git(\/|$)/.test(path))
  return JSON.stringify(
    found.sort().flatMap((path) => {
      const stat = fs.lstatSync(join(root, path))
      if (stat.isDirectory()) return []
      if (stat.isSymbolicLink()) return [[path, "link", fs.readlinkSync(join(root, path))]]
      return [[path, stat.mode & 0o100, fs.readFileSync(join(root, path), "base64")]]
    })
  )
}

describe("Git.subject of a snapshot", () => {
  it.scopedLive("has an equal digest if and only if the work trees are equal, whatever led to them", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* clonedOnce({ "a.txt": "1\n", "dir/b.txt": "2\n" })
      const seen = new Map<string, string>()
      const digests = new Map<string, string>()
      const steps = fc.sample(operation, { numRuns: subjectSteps, seed: 20_240_607 })
      for (const step of steps) {
        perform(workTree, step)
        const { tree } = yield* git.snapshot({ gitDir, workTree, base })
        const { digest } = yield* git.subject({ gitDir, base, tree })
        const content = look(workTree)
        assert.strictEqual(
          seen.get(content) ?? digest,
          digest,
          `same content, other digest after ${JSON.stringify(step)}`
        )
        assert.strictEqual(
          digests.get(digest) ?? content,
          content,
          `other content, same digest after ${JSON.stringify(step)}`
        )
        seen.set(content, digest)
        digests.set(digest, content)
      }
      assert.isAbove(seen.size, 10)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("lists every changed path with the SHA-256 of its content", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* clonedOnce({ "a.txt": "1\n", "b.txt": "2\n" })
      put(workTree, "big.bin", Buffer.alloc(300_000, 7))
      put(workTree, "empty", "")
      put(workTree, "same", "")
      fs.rmSync(join(workTree, "a.txt"))
      const { tree } = yield* git.snapshot({ gitDir, workTree, base })
      const subject = yield* git.subject({ gitDir, base, tree })
      const sha256 = (content: Uint8Array) => `sha256:${createHash("sha256").update(content).digest("hex")}`
      assert.deepStrictEqual(subject.entries, [
        { path: "a.txt", mode: "000000", digest: null },
        { path: "big.bin", mode: "100644", digest: sha256(Buffer.alloc(300_000, 7)) },
        { path: "empty", mode: "100644", digest: sha256(Buffer.alloc(0)) },
        { path: "same", mode: "100644", digest: sha256(Buffer.alloc(0)) }
      ])
      assert.strictEqual(subject.digest, subjectDigest(subject))
    }).pipe(Effect.provide(gitLayer))
  )
})
