import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Git } from "@reins/machine/git/Git"
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
      assert.deepStrictEqual(yield* take("v1"), { commit: feature, ref: "v1", tag: true })
      assert.strictEqual(plainGit(join(root, "w4"), "rev-parse", "HEAD"), feature)
      assert.deepStrictEqual(yield* take(main), { commit: main, ref: main })
      plainGit("/", `--git-dir=${url}`, "symbolic-ref", "HEAD", "refs/heads/feature/x")
      assert.deepStrictEqual(yield* take(null), { commit: feature, ref: "feature/x" })
      assert.strictEqual((yield* Effect.flip(take("none"))).kind, "ref_not_found")
      assert.strictEqual((yield* Effect.flip(take("0".repeat(40)))).kind, "ref_not_found")
      assert.strictEqual((yield* Effect.flip(take("--upload-pack=x"))).kind, "ref_not_found")
      for (const part of [main.slice(0, 7), main.slice(0, 39), main.toUpperCase().slice(0, 12), `${main}0`]) {
        const refused = yield* Effect.flip(take(part))
        assert.strictEqual(refused.kind, "ref_not_found")
        assert.include(refused.message, "give the whole id")
      }
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a commit with a path that git writes to no disk is told, and nothing of it is written", () =>
    Effect.gen(function* () {
      const git = yield* Git
      const root = yield* temporary
      const url = bareRemote(root, { "a.txt": "one\n" })
      const remote = (input: string | Buffer, ...args: ReadonlyArray<string>) =>
        execFileSync("git", [`--git-dir=${url}`, ...args], { encoding: "utf8", input }).trim()
      const written = (type: string, content: string | Buffer) =>
        remote(content, "hash-object", "-t", type, "-w", "--stdin", "--literally")
      const entry = (mode: string, name: string, id: string) =>
        Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")])
      const inner = written("tree", entry("100644", "outside", remote("", "rev-parse", "main:a.txt")))
      const by = "A <a@a.test> 1 +0000"
      for (const [number, name] of [".git", ".GIT", "..", ".", "git~1", ".git ", ".git."].entries()) {
        const tree = written("tree", entry("40000", name, inner))
        const commit = written("commit", `tree ${tree}\nauthor ${by}\ncommitter ${by}\n\nm\n`)
        remote("", "update-ref", "refs/heads/main", commit)
        const workTree = join(root, `refused${number}`)
        const refused = yield* Effect.flip(
          git.clone({ url, ref: null, gitDir: join(root, `store${number}`), workTree })
        )
        assert.strictEqual(refused.kind, "conflict", refused.message)
        assert.include(refused.message, `'${name}/outside'`)
        assert.isFalse(fs.existsSync(join(root, "outside")))
      }
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a branch with any name that git allows is checked out, with its upstream", () =>
    Effect.gen(function* () {
      const git = yield* Git
      const root = yield* temporary
      const url = bareRemote(root, { "a.txt": "one\n" })
      const main = plainGit("/", `--git-dir=${url}`, "rev-parse", "main")
      const names = ["fix#1", "a;b", `say"it's"`, "@", "a/-b", "ünï/\u{1f600}%20+&=", "$(id)`x`", "x".repeat(250)]
      for (const name of names) put(url, `refs/heads/${name}`, `${main}\n`)
      for (const [index, name] of names.entries()) {
        const workTree = join(root, `w${index}`)
        const request = { url, ref: name, gitDir: join(root, `t${index}`), workTree }
        assert.deepStrictEqual(yield* git.clone(request), { commit: main, ref: name })
        const told = plainGit(workTree, "status", "--porcelain=v2", "--branch").split("\n")
        assert.includeMembers(told, [`# branch.head ${name}`, `# branch.upstream origin/${name}`, "# branch.ab +0 -0"])
      }
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("the refs are those of git clone, in one file", () =>
    Effect.gen(function* () {
      const git = yield* Git
      const root = yield* temporary
      const url = bareRemote(root, { "a.txt": "one\n" })
      const head = plainGit("/", `--git-dir=${url}`, "rev-parse", "main")
      const tip = remoteCommit(root, "tip", "b.txt", "b\n")
      plainGit("/", `--git-dir=${url}`, "tag", "-a", "-m", "v1", "v1", tip)
      const names = ["team/é", "#1;'\"", "-x", "@", "a/b/c", ...Array.from({ length: 300 }, (_, at) => `many/b${at}`)]
      const refs = [...names.flatMap((name) => [`refs/heads/${name}`, `refs/tags/${name}`]), "refs/pull/1/head"]
      const notUtf8 = Buffer.from(`create refs/heads/caf\xe9 ${head}\n`, "latin1")
      const input = Buffer.concat([Buffer.from(refs.map((name) => `create ${name} ${head}\n`).join("")), notUtf8])
      execFileSync("git", [`--git-dir=${url}`, "update-ref", "--stdin"], { input })
      const byHand = join(root, "by-hand")
      plainGit(root, "clone", "--quiet", url, byHand)
      const [gitDir, workTree] = [join(root, "trusted"), join(root, "work")]
      yield* git.clone({ url, ref: null, gitDir, workTree })
      const list = (of: string) => plainGit(of, "for-each-ref", "--format=%(refname) %(objectname) %(symref)")
      assert.strictEqual(list(workTree), list(byHand))
      assert.strictEqual(plainGit(workTree, "fetch", "origin"), "")
      assert.deepStrictEqual(fs.readdirSync(join(gitDir, "refs")).sort(), ["heads", "reins", "tags"])
      assert.isEmpty(fs.readdirSync(join(gitDir, "refs/tags")))
      assert.strictEqual(plainGit(workTree, "describe", "--tags", "origin/tip"), "v1")
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a commit that only HEAD of the remote leads to is checked out", () =>
    Effect.gen(function* () {
      const git = yield* Git
      const root = yield* temporary
      const url = bareRemote(root, { "a.txt": "one\n" })
      const head = remoteCommit(root, "gone", "b.txt", "b\n")
      plainGit("/", `--git-dir=${url}`, "update-ref", "--no-deref", "HEAD", head)
      plainGit("/", `--git-dir=${url}`, "update-ref", "-d", "refs/heads/gone")
      plainGit("/", `--git-dir=${url}`, "branch", "--quiet", "--move", "main", "other")
      const workTree = join(root, "work")
      const clone = yield* git.clone({ url, ref: null, gitDir: join(root, "trusted"), workTree })
      assert.deepStrictEqual(clone, { commit: head, ref: head })
      assert.isTrue(fs.existsSync(join(workTree, "b.txt")))
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a remote that is a shallow clone itself gives the history that it has", () =>
    Effect.gen(function* () {
      const git = yield* Git
      const root = yield* temporary
      const url = bareRemote(root, { "a.txt": "one\n" })
      for (const text of ["1", "2", "3"]) remoteCommit(root, "main", "a.txt", text)
      const shallow = join(root, "shallow.git")
      plainGit(root, "clone", "--quiet", "--bare", "--depth=2", `file://${url}`, shallow)
      const workTree = join(root, "work")
      const { commit } = yield* git.clone({ url: shallow, ref: null, gitDir: join(root, "trusted"), workTree })
      assert.strictEqual(plainGit(workTree, "rev-list", "--count", "HEAD"), "2")
      put(workTree, "a.txt", "4")
      const { files } = yield* git.snapshot({ gitDir: join(root, "trusted"), workTree, base: commit })
      assert.deepStrictEqual(
        files.map(({ path }) => path),
        ["a.txt"]
      )
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
