import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { limitDiff } from "@reins/core/git/Diff"
import { defaultGitOptions } from "@reins/core/git/GitOptions"
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
      assert.notMatch(cut.diff, /line of text/)
      assert.match(cut.diff, /\+small/)
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
    assert.isFalse(limitDiff(Buffer.from(file.repeat(1_000)), true, defaultGitOptions).truncated)
    const many = limitDiff(Buffer.from(file.repeat(1_001)), true, defaultGitOptions)
    assert.deepStrictEqual([many.diff, many.truncated], [file.repeat(1_000), true])
    const fewer = limitDiff(Buffer.from(file.repeat(3)), true, { ...defaultGitOptions, maxDiffFiles: 2 })
    assert.deepStrictEqual(fewer, { diff: file.repeat(2), truncated: true })
    const smaller = { ...defaultGitOptions, maxDiffBytes: file.length * 2 }
    assert.deepStrictEqual(limitDiff(Buffer.from(file.repeat(3)), true, smaller), fewer)
    const partial = limitDiff(Buffer.from(file.repeat(2)), false, defaultGitOptions)
    assert.deepStrictEqual([partial.diff, partial.truncated], [file, true])
  })
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
