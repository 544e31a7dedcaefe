import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Git } from "@reins/core/git/Git"
import { bareRemote, cloned, gitLayer, plainGit, put, remoteCommit, temporary } from "@reins/testing/git/Fixture"
import { Effect } from "effect"

describe("Git.clone", () => {
  it.scopedLive("the work tree is an ordinary clone in which an agent can look, branch and commit", () =>
    Effect.gen(function* () {
      const { base, url, workTree } = yield* cloned({ "a.txt": "one\n", "dir/b.txt": "b\n" })
      assert.strictEqual(plainGit(workTree, "rev-parse", "HEAD"), base)
      assert.strictEqual(plainGit(workTree, "status", "--porcelain", "--branch"), "## main...origin/main")
      assert.strictEqual(plainGit(workTree, "remote", "get-url", "origin"), url)
      assert.match(plainGit(workTree, "log", "--oneline"), /first/)
      put(workTree, "c.txt", "c\n")
      plainGit(workTree, "add", "--all")
      plainGit(workTree, "-c", "user.useConfigOnly=true", "commit", "--quiet", "--message=mine")
      plainGit(workTree, "fsck", "--strict")
      assert.strictEqual(plainGit(workTree, "fetch", "origin"), "")
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("the agent's repository shares no file with the trusted one", () =>
    Effect.gen(function* () {
      const { gitDir, workTree } = yield* cloned({ "a.txt": "one\n" })
      const inodes = (folder: string) =>
        fs
          .readdirSync(folder, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => fs.statSync(join(entry.parentPath, entry.name)).ino)
      const trusted = new Set(inodes(gitDir))
      assert.isEmpty(inodes(workTree).filter((inode) => trusted.has(inode)))
      assert.isFalse(fs.existsSync(join(workTree, ".git/objects/info/alternates")))
      assert.strictEqual(fs.statSync(gitDir).mode & 0o077, 0)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a branch, a tag, a commit and the default branch are found by name", () =>
    Effect.gen(function* () {
      const git = yield* Git
      const root = yield* temporary
      const url = bareRemote(root, { "a.txt": "one\n" })
      const feature = remoteCommit(root, "feature/x", "b.txt", "b\n")
      const main = plainGit("/", `--git-dir=${url}`, "rev-parse", "main")
      plainGit(
        "/",
        `--git-dir=${url}`,
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@y",
        "tag",
        "-a",
        "v1",
        "-m",
        "v1",
        feature
      )
      let number = 0
      const take = (ref: string | null) => {
        number += 1
        return git.clone({ url, ref, gitDir: join(root, `t${number}`), workTree: join(root, `w${number}`) })
      }
      assert.deepStrictEqual(yield* take(null), { commit: main, ref: "main" })
      assert.deepStrictEqual(yield* take("feature/x"), { commit: feature, ref: "feature/x" })
      assert.deepStrictEqual(yield* take("refs/heads/feature/x"), { commit: feature, ref: "feature/x" })
      assert.deepStrictEqual(yield* take("v1"), { commit: feature, ref: "v1" })
      assert.strictEqual(plainGit(join(root, "w4"), "rev-parse", "HEAD"), feature)
      assert.deepStrictEqual(yield* take(main), { commit: main, ref: main })
      plainGit("/", `--git-dir=${url}`, "symbolic-ref", "HEAD", "refs/heads/feature/x")
      assert.deepStrictEqual(yield* take(null), { commit: feature, ref: "feature/x" })
      assert.strictEqual((yield* Effect.flip(take("none"))).kind, "ref_not_found")
      assert.strictEqual((yield* Effect.flip(take("0".repeat(40)))).kind, "ref_not_found")
      assert.strictEqual((yield* Effect.flip(take("--upload-pack=x"))).kind, "ref_not_found")
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("an empty remote gives an empty workspace without a commit", () =>
    Effect.gen(function* () {
      const git = yield* Git
      const root = yield* temporary
      const url = join(root, "empty.git")
      plainGit(root, "init", "--quiet", "--bare", url)
      const gitDir = join(root, "trusted")
      const workTree = join(root, "work")
      assert.deepStrictEqual(yield* git.clone({ url, ref: null, gitDir, workTree }), { commit: null, ref: "main" })
      put(workTree, "a.txt", "a\n")
      const snapshot = yield* git.snapshot({ gitDir, workTree, base: null })
      assert.strictEqual(snapshot.fileCount, 1)
      assert.strictEqual(plainGit(workTree, "remote", "get-url", "origin"), url)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a folder that holds something is refused, one that a cut-short clone left is taken again", () =>
    Effect.gen(function* () {
      const git = yield* Git
      const root = yield* temporary
      const url = bareRemote(root, { "a.txt": "one\n" })
      put(root, "full/mine.txt", "mine\n")
      const request = { url, ref: null, gitDir: join(root, "trusted"), workTree: join(root, "full") }
      assert.strictEqual((yield* Effect.flip(git.clone(request))).kind, "conflict")
      assert.isTrue(fs.existsSync(join(root, "full/mine.txt")))
      const again = { ...request, workTree: join(root, "work") }
      yield* Effect.flip(git.clone({ ...again, url: join(root, "none.git") }))
      put(again.workTree, "left-over", "x")
      const { commit } = yield* git.clone(again)
      assert.deepStrictEqual((yield* git.snapshot({ ...again, base: commit })).files, [])
      assert.strictEqual((yield* Effect.flip(git.clone(again))).kind, "conflict")
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("init makes an ordinary repository without a commit", () =>
    Effect.gen(function* () {
      const git = yield* Git
      const root = yield* temporary
      const workTree = join(root, "work")
      yield* git.init({ gitDir: join(root, "trusted"), workTree })
      put(workTree, "a.txt", "a\n")
      plainGit(workTree, "add", "--all")
      plainGit(workTree, "commit", "--quiet", "--message=mine")
      assert.strictEqual(plainGit(workTree, "branch", "--show-current"), "main")
    }).pipe(Effect.provide(gitLayer))
  )
})
