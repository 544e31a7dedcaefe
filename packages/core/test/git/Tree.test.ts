import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { limitDiff } from "@reins/machine/git/read/Diff"
import { defaultGitOptions } from "@reins/machine/repository/run/GitOptions"
import { cloned, gitLayer, plainGit, put } from "@reins/testing/git/Fixture"
import { Effect } from "effect"

const changed = Effect.gen(function* () {
  const fixture = yield* cloned({
    "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
    "dir/b.txt": "b\n",
    "old.txt": "same\ncontent\nmoved\n"
  })
  const { base, git, gitDir, workTree } = fixture
  put(workTree, "a.txt", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n")
  put(workTree, "dir/image.bin", Buffer.from([0, 1, 2]))
  fs.renameSync(join(workTree, "old.txt"), join(workTree, "new.txt"))
  fs.symlinkSync("a.txt", join(workTree, "link"))
  const { tree } = yield* git.snapshot({ gitDir, workTree, base })
  return { ...fixture, tree }
})

/** Changes of one line in each of some files. */
const changesOf = (times: number) =>
  Array.from({ length: times }, (_, at) => ({
    oldMode: "100644",
    newMode: "100644",
    oldId: "",
    newId: "",
    letter: "M",
    path: `x${at}`,
    oldPath: null,
    file: { path: `x${at}`, status: "modified" as const, mode: "100644", additions: 1, deletions: 1, binary: false }
  }))

describe("Git.diff", () => {
  it.scopedLive("renames are found, binary content is only named, context and path narrow it", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, tree } = yield* changed
      const whole = yield* git.diff({ gitDir, base, tree })
      assert.isFalse(whole.truncated)
      assert.match(whole.diff, /rename from old.txt\nrename to new.txt/)
      assert.match(whole.diff, /Binary files \/dev\/null and b\/dir\/image.bin differ/)
      assert.match(whole.diff, / 4\n-5\n\+five\n 6\n/)
      const narrow = yield* git.diff({ gitDir, base, tree, path: "a.txt", context: 0 })
      assert.match(narrow.diff, /^diff --git a\/a.txt[\s\S]*@@ -5 \+5 @@.*\n-5\n\+five\n$/)
      assert.strictEqual((yield* git.diff({ gitDir, base, tree, path: "none*" })).diff, "")
      assert.match((yield* git.diff({ gitDir, base: null, tree })).diff, /new file mode/)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a file, the whole and the number of files are cut at their limits, at whole hunks and files", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* cloned({ "a.txt": "1\n" })
      put(workTree, "aa-large.txt", "line of text\n".repeat(60_000))
      put(workTree, "b-small.txt", "small\n")
      const one = yield* git.snapshot({ gitDir, workTree, base })
      const cut = yield* git.diff({ gitDir, base, tree: one.tree })
      assert.isTrue(cut.truncated)
      const shown = cut.diff.split("\n").filter((line) => line === "+line of text").length
      assert.isAbove(shown, 30_000)
      assert.include(cut.diff, `@@ -0,0 +1,${shown} @@`)
      assert.match(cut.diff, /\+small/)
      assert.deepStrictEqual(cut.omitted, [{ path: "aa-large.txt", additions: 60_000 - shown, deletions: 0 }])
      // The text that is left is a patch.
      const beside = join(workTree, "..", "beside.patch")
      fs.writeFileSync(beside, cut.diff)
      plainGit(workTree, "apply", "--check", "--cached", beside)
      fs.rmSync(join(workTree, "aa-large.txt"))
      for (let number = 0; number < 5; number += 1) put(workTree, `part${number}`, "line of text\n".repeat(30_000))
      const two = yield* git.snapshot({ gitDir, workTree, base })
      const total = yield* git.diff({ gitDir, base, tree: two.tree })
      assert.isTrue(total.truncated)
      assert.isAtMost(Buffer.byteLength(total.diff), 1024 * 1024)
      assert.match(total.diff, /b\/part1\n/)
      assert.isTrue(total.diff.endsWith("+line of text\n"))
    }).pipe(Effect.provide(gitLayer))
  )

  it("more than 1,000 files, and a patch that was not read to its end, are cut", () => {
    const file = "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n"
    const limit = (times: number, complete: boolean, limits: Partial<typeof defaultGitOptions> = {}) =>
      limitDiff(Buffer.from(file.repeat(times)), complete, changesOf(times), { ...defaultGitOptions, ...limits })
    const whole = limit(1_000, true)
    assert.deepStrictEqual([whole.truncated, whole.omitted], [false, []])
    const many = limit(1_001, true)
    assert.deepStrictEqual([many.diff, many.truncated], [file.repeat(1_000), true])
    assert.deepStrictEqual(many.omitted, [{ path: "x1000", additions: 1, deletions: 1 }])
    const fewer = limit(3, true, { maxDiffFiles: 2 })
    assert.deepStrictEqual([fewer.diff, fewer.truncated, fewer.omitted.length], [file.repeat(2), true, 1])
    assert.deepStrictEqual(limit(3, true, { maxDiffBytes: file.length * 2 }), fewer)
    const partial = limit(2, false)
    assert.deepStrictEqual([partial.diff, partial.truncated, partial.omitted.length], [file.repeat(2), true, 1])
  })

  it("a line that is longer than the limit shows its beginning, cut between characters", () => {
    const file = `diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+${"é".repeat(10_000)}\n`
    const { diff, omitted } = limitDiff(Buffer.from(file), true, changesOf(1), {
      ...defaultGitOptions,
      maxDiffFileBytes: 2_001
    })
    assert.match(diff, /^diff --git a\/x b\/x\n@@ -1 \+0,0 @@\n-a\n$/)
    assert.deepStrictEqual(omitted, [{ path: "x0", additions: 1, deletions: 0 }])
    const alone = `diff --git a/x b/x\n@@ -0,0 +1 @@\n+${"é".repeat(10_000)}\n`
    for (const most of [2_000, 2_001]) {
      const cut = limitDiff(Buffer.from(alone), true, changesOf(1), { ...defaultGitOptions, maxDiffFileBytes: most })
      assert.match(cut.diff, /\n\+é{900,}\n\\ \d+ more bytes of this line are left out\n$/)
      assert.notInclude(cut.diff, "\uFFFD")
      assert.deepStrictEqual(cut.omitted, [{ path: "x0", additions: 1, deletions: 1 }])
    }
  })

  it.scopedLive("a rename is the same by its old path, its new path, and a folder of either", () =>
    Effect.gen(function* () {
      const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`)
      const { base, git, gitDir, workTree } = yield* cloned({
        "src/old.js": `${lines.join("\n")}\n`,
        "src/other.js": "other\n",
        "lib/[1]*.js": "one\n",
        "run.sh": "echo\n",
        kind: "text\n"
      })
      fs.renameSync(join(workTree, "src/old.js"), join(workTree, "lib/new.js"))
      put(workTree, "lib/new.js", `${lines.with(5, "LINE 5").join("\n")}\n`)
      put(workTree, "lib/copy.js", `${lines.join("\n")}\n`)
      put(workTree, "lib/[1]*.js", "two\n")
      fs.chmodSync(join(workTree, "run.sh"), 0o755)
      fs.rmSync(join(workTree, "kind"))
      fs.symlinkSync("run.sh", join(workTree, "kind"))
      fs.writeFileSync(Buffer.from(`${workTree}/lib/caf\xe9.txt`, "latin1"), Buffer.from("caf\xe9\n", "latin1"))
      const { files, tree } = yield* git.snapshot({ gitDir, workTree, base })
      const whole = yield* git.diff({ gitDir, base, tree })
      assert.deepStrictEqual(whole.files, files)
      const sections = whole.diff.split(/^(?=diff --git )/m)
      assert.isTrue(sections.some((each) => each.startsWith('diff --git a/lib/"caf\\351.txt" b/lib/"caf\\351.txt"\n')))
      assert.include(whole.diff, "+caf\\351\n")
      const isAt = (path: string) => (file: { readonly path: string; readonly old_path?: string }) =>
        [file.path, file.old_path].some((name) => name === path || name?.startsWith(`${path}/`))
      for (const path of [
        "lib",
        "src",
        "lib/new.js",
        "src/old.js",
        "lib/copy.js",
        "run.sh",
        "kind",
        "lib/[1]*.js",
        'lib/"caf\\351.txt"',
        "none"
      ]) {
        const narrow = yield* git.diff({ gitDir, base, tree, path })
        const expected = files.filter(isAt(path))
        assert.deepStrictEqual(narrow.files, expected, path)
        const kept = narrow.diff.split(/^(?=diff --git )/m).filter((each) => each !== "")
        for (const section of kept) assert.include(sections, section)
        assert.strictEqual(
          kept.length,
          expected.reduce((sum, { status }) => sum + (status === "type_changed" ? 2 : 1), 0)
        )
        const plus = (narrow.diff.match(/^\+(?!\+\+ )/gm) ?? []).length
        assert.strictEqual(
          plus,
          expected.reduce((sum, { additions }) => sum + additions, 0),
          path
        )
      }
      const blob = yield* git.readBlob({ gitDir, tree, path: 'lib/"caf\\351.txt"', maxBytes: 100 })
      assert.strictEqual(Buffer.from(blob.bytes).toString("latin1"), "caf\xe9\n")
      const patch = yield* git.patch({ gitDir, base, tree })
      const copy = join(workTree, "..", "patched")
      plainGit("/", "clone", "--quiet", gitDir, copy)
      plainGit(copy, "checkout", "--quiet", base ?? "")
      fs.writeFileSync(join(copy, "..", "it.patch"), patch)
      plainGit(copy, "apply", "--index", join(copy, "..", "it.patch"))
      assert.strictEqual(plainGit(copy, "write-tree"), tree)
    }).pipe(Effect.provide(gitLayer))
  )
})

describe("Git.patch", () => {
  it.scopedLive("git apply turns the base into exactly the tree, binary content and modes included", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, root, tree } = yield* changed
      const patch = join(root, "change.patch")
      fs.writeFileSync(patch, yield* git.patch({ gitDir, base, tree }))
      const other = join(root, "other")
      plainGit(root, "clone", "--quiet", "remote.git", other)
      plainGit(other, "apply", "--index", patch)
      assert.strictEqual(plainGit(other, "write-tree"), tree)
      const tooLarge = yield* Effect.flip(git.patch({ gitDir, base, tree, maxBytes: 10 }))
      assert.strictEqual(tooLarge.kind, "conflict")
      assert.strictEqual((yield* git.patch({ gitDir, base: tree, tree })).length, 0)
    }).pipe(Effect.provide(gitLayer))
  )
})

describe("Git.listTree and Git.readBlob", () => {
  it.scopedLive("files are listed with mode and size, and read with the digest of the whole", () =>
    Effect.gen(function* () {
      const { git, gitDir, tree } = yield* changed
      const { items, truncated } = yield* git.listTree({ gitDir, tree })
      assert.isFalse(truncated)
      assert.deepStrictEqual(
        items.map((item) => [item.path, item.mode, item.size]),
        [
          ["a.txt", "100644", 21],
          ["dir/b.txt", "100644", 2],
          ["dir/image.bin", "100644", 3],
          ["link", "120000", 5],
          ["new.txt", "100644", 19]
        ]
      )
      const content = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"
      const blob = yield* git.readBlob({ gitDir, tree, path: "a.txt", maxBytes: 4 })
      assert.deepStrictEqual(
        { ...blob, bytes: Buffer.from(blob.bytes).toString() },
        {
          bytes: "1\n2\n",
          size: content.length,
          digest: `sha256:${createHash("sha256").update(content).digest("hex")}`,
          truncated: true,
          mode: "100644"
        }
      )
      const link = yield* git.readBlob({ gitDir, tree, path: "link", maxBytes: 100 })
      assert.deepStrictEqual([Buffer.from(link.bytes).toString(), link.mode], ["a.txt", "120000"])
      for (const path of [
        "",
        "dir",
        "dir/",
        "none",
        "../a.txt",
        "/a.txt",
        "./a.txt",
        "*.txt",
        ":/a.txt",
        "a.txt\0x",
        "link/x"
      ]) {
        const error = yield* Effect.flip(git.readBlob({ gitDir, tree, path, maxBytes: 100 }))
        assert.strictEqual(error.kind, "not_found", path)
      }
      for (const id of ["HEAD", "--help", "refs/heads/main", "0".repeat(40), "abc"]) {
        const error = yield* Effect.flip(git.readBlob({ gitDir, tree: id, path: "a.txt", maxBytes: 100 }))
        assert.strictEqual(error.kind, "not_found", id)
      }
    }).pipe(Effect.provide(gitLayer))
  )
})
