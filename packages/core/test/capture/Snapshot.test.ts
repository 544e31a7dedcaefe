import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Git } from "@reins/machine/git/Git"
import { cloned, clonedOnce, gitLayer, gitLayerWith, plainGit, put, temporary } from "@reins/testing/git/Fixture"
import { Effect } from "effect"

const start = { "a.txt": "one\ntwo\n", "dir/b.txt": "b\n", "dir/c.txt": "c\n", ".gitignore": "node_modules\n*.log\n" }

const paths = (files: ReadonlyArray<{ readonly path: string }>) => files.map((file) => file.path)

const treeFiles = (gitDir: string, tree: string): ReadonlyArray<string> =>
  plainGit("/", `--git-dir=${gitDir}`, "ls-tree", "-r", "--name-only", tree)
    .split("\n")
    .filter((name) => name !== "")

describe("Git.snapshot", () => {
  it.scopedLive("an untouched clone is the base's own tree with no files", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* cloned(start)
      const snapshot = yield* git.snapshot({ gitDir, workTree, base })
      assert.strictEqual(snapshot.tree, plainGit("/", `--git-dir=${gitDir}`, "rev-parse", `${base}^{tree}`))
      assert.deepStrictEqual(snapshot.files, [])
      assert.deepStrictEqual(snapshot.diagnostics, [])
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("added, modified, deleted, renamed, type-changed, executable and binary files are told apart", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* cloned({
        ...start,
        "old-name.txt": "a long enough text\nto be recognised\nafter a rename\n",
        "link-to-be": "x\n",
        "run.sh": "#!/bin/sh\n"
      })
      put(workTree, "a.txt", "one\n2\nthree\n")
      put(workTree, "new/deep/file.bin", Buffer.from([0, 1, 2, 255]))
      fs.rmSync(join(workTree, "dir/b.txt"))
      fs.renameSync(join(workTree, "old-name.txt"), join(workTree, "new-name.txt"))
      fs.rmSync(join(workTree, "link-to-be"))
      fs.symlinkSync("/etc/passwd", join(workTree, "link-to-be"))
      fs.chmodSync(join(workTree, "run.sh"), 0o755)
      const snapshot = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(snapshot.files, [
        { path: "a.txt", status: "modified", mode: "100644", additions: 2, deletions: 1, binary: false },
        { path: "dir/b.txt", status: "deleted", mode: "100644", additions: 0, deletions: 1, binary: false },
        { path: "link-to-be", status: "type_changed", mode: "120000", additions: 1, deletions: 1, binary: false },
        {
          path: "new-name.txt",
          old_path: "old-name.txt",
          status: "renamed",
          mode: "100644",
          additions: 0,
          deletions: 0,
          binary: false
        },
        { path: "new/deep/file.bin", status: "added", mode: "100644", additions: 0, deletions: 0, binary: true },
        { path: "run.sh", status: "modified", mode: "100755", additions: 0, deletions: 0, binary: false }
      ])
      assert.strictEqual(snapshot.fileCount, 6)
      assert.strictEqual(snapshot.additions, 3)
      assert.strictEqual(snapshot.deletions, 3)
      const link = yield* git.readBlob({ gitDir, tree: snapshot.tree, path: "link-to-be", maxBytes: 100 })
      assert.strictEqual(Buffer.from(link.bytes).toString(), "/etc/passwd")
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("ignored files stay out, tracked files that match an ignore rule stay in", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* cloned({ ...start, "kept.txt": "k\n" })
      put(workTree, "node_modules/x/index.js", "x")
      put(workTree, "debug.log", "x")
      put(workTree, "dir/.gitignore", "secret\n")
      put(workTree, "dir/secret", "x")
      fs.appendFileSync(join(workTree, ".gitignore"), "kept.txt\n")
      put(workTree, "kept.txt", "changed\n")
      const snapshot = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(paths(snapshot.files), [".gitignore", "dir/.gitignore", "kept.txt"])
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("what an earlier snapshot saw has no influence on a later one", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* clonedOnce(start)
      put(workTree, "generated.txt", "g\n")
      put(workTree, "sub/file.txt", "s\n")
      const first = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(paths(first.files), ["generated.txt", "sub/file.txt"])
      fs.appendFileSync(join(workTree, ".gitignore"), "generated.txt\n")
      plainGit(join(workTree, "sub"), "init", "--quiet")
      const second = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(paths(second.files), [".gitignore"])
      assert.match(second.diagnostics.join(), /"sub\/" is a nested git repository/)
      fs.rmSync(join(workTree, "sub/.git"), { recursive: true })
      put(workTree, ".gitignore", start[".gitignore"])
      const third = yield* git.snapshot({ gitDir, workTree, base })
      assert.strictEqual(third.tree, first.tree)
      fs.rmSync(join(workTree, "generated.txt"))
      fs.rmSync(join(workTree, "sub"), { recursive: true })
      const fourth = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(fourth.files, [])
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a change of the same size within one clock tick is seen", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* cloned(start)
      for (const digit of ["1", "2", "3", "4", "5", "6"]) {
        fs.writeFileSync(join(workTree, "a.txt"), `on${digit}\ntwo\n`)
        const { tree } = yield* git.snapshot({ gitDir, workTree, base })
        const blob = yield* git.readBlob({ gitDir, tree, path: "a.txt", maxBytes: 100 })
        assert.strictEqual(Buffer.from(blob.bytes).toString(), `on${digit}\ntwo\n`)
      }
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("the agent's commits, branches and removed or replaced .git have no influence", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* clonedOnce(start)
      put(workTree, "a.txt", "changed\n")
      const expected = (yield* git.snapshot({ gitDir, workTree, base })).tree
      plainGit(workTree, "checkout", "--quiet", "-b", "agent")
      plainGit(workTree, "commit", "--quiet", "--all", "--message=agent")
      const head = plainGit(workTree, "rev-parse", "HEAD")
      assert.strictEqual((yield* git.snapshot({ gitDir, workTree, base })).tree, expected)
      assert.strictEqual(plainGit(workTree, "status", "--porcelain"), "")
      assert.strictEqual(plainGit(workTree, "rev-parse", "HEAD"), head)
      fs.rmSync(join(workTree, ".git"), { recursive: true })
      assert.strictEqual((yield* git.snapshot({ gitDir, workTree, base })).tree, expected)
      fs.writeFileSync(join(workTree, ".git"), "gitdir: /somewhere/else\n")
      assert.strictEqual((yield* git.snapshot({ gitDir, workTree, base })).tree, expected)
      fs.rmSync(join(workTree, ".git"))
      fs.symlinkSync(gitDir, join(workTree, ".git"))
      assert.strictEqual((yield* git.snapshot({ gitDir, workTree, base })).tree, expected)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("files and directories may take each other's place", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* clonedOnce(start)
      fs.rmSync(join(workTree, "a.txt"))
      put(workTree, "a.txt/inner", "now a directory\n")
      fs.rmSync(join(workTree, "dir"), { recursive: true })
      put(workTree, "dir", "now a file\n")
      const there = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(treeFiles(gitDir, there.tree), [".gitignore", "a.txt/inner", "dir"])
      fs.rmSync(join(workTree, "a.txt"), { recursive: true })
      fs.rmSync(join(workTree, "dir"))
      for (const [path, content] of Object.entries(start)) put(workTree, path, content)
      assert.deepStrictEqual((yield* git.snapshot({ gitDir, workTree, base })).files, [])
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a directory replaced by a symbolic link is captured as the link, never through it", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, root, workTree } = yield* clonedOnce(start)
      put(root, "outside/b.txt", "secret\n")
      put(root, "outside/c.txt", "c\n")
      fs.rmSync(join(workTree, "dir"), { recursive: true })
      fs.symlinkSync(join(root, "outside"), join(workTree, "dir"))
      const { tree } = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(treeFiles(gitDir, tree), [".gitignore", "a.txt", "dir"])
      const link = yield* git.readBlob({ gitDir, tree, path: "dir", maxBytes: 1000 })
      assert.strictEqual(link.mode, "120000")
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("special and oversized files and refused names become diagnostics", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* clonedOnce(start)
      fs.rmSync(join(workTree, "a.txt"))
      execFileSync("mkfifo", [join(workTree, "a.txt"), join(workTree, "untracked-fifo")])
      const server = yield* Effect.acquireRelease(
        Effect.async<ReturnType<typeof createServer>>((resume) => {
          const listening = createServer().listen(join(workTree, "socket"), () => resume(Effect.succeed(listening)))
        }),
        (open) => Effect.sync(() => open.close())
      )
      assert.isTrue(server.listening)
      put(workTree, "dir/b.txt", Buffer.alloc(3000, "x"))
      put(workTree, "big.bin", Buffer.alloc(3000))
      put(workTree, "GIT~1/config", "x")
      put(workTree, "nested/.GIT/config", "x")
      fs.writeFileSync(Buffer.from([...Buffer.from(`${workTree}/bad-`), 0xff, 0xfe]), "x")
      put(workTree, 'quote" and\nnewline\tand \\ back', "q\n")
      put(workTree, "ünïcødé/ファイル", "u\n")
      put(workTree, ":(glob)*.txt", "g\n")
      put(workTree, "-dash", "d\n")
      fs.symlinkSync("elsewhere", join(workTree, ".gitmodules"))
      const snapshot = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(paths(snapshot.files), [
        "-dash",
        ":(glob)*.txt",
        "a.txt",
        '"bad-\\377\\376"',
        'quote" and\nnewline\tand \\ back',
        "ünïcødé/ファイル"
      ])
      const said = snapshot.diagnostics.join("\n")
      assert.match(said, /"a.txt" is not a regular file/)
      assert.match(said, /"big.bin" is larger than 2000 bytes/)
      assert.match(said, /"dir\/b.txt" is larger than 2000 bytes/)
      assert.match(said, /"GIT~1\/config" has a name that stands for a git directory/)
      assert.match(said, /"nested\/.GIT\/config" has a name that stands for a git directory/)
      assert.match(said, /".gitmodules" has a name that git refuses/)
      const blob = yield* git.readBlob({ gitDir, tree: snapshot.tree, path: "dir/b.txt", maxBytes: 100 })
      assert.strictEqual(blob.size, 2)
    }).pipe(Effect.provide(gitLayerWith({ maxFileBytes: 2000 })))
  )

  it.scopedLive("more changed files than the limit are left out and counted", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* clonedOnce(start)
      for (let number = 0; number < 12; number += 1) put(workTree, `n${number}`, "x")
      const snapshot = yield* git.snapshot({ gitDir, workTree, base })
      assert.strictEqual(snapshot.fileCount, 10)
      assert.match(snapshot.diagnostics.join(), /2 changed files were left out/)
    }).pipe(Effect.provide(gitLayerWith({ maxChangedFiles: 10 })))
  )

  it.scopedLive("content is stored as git add stores it, and checked out as the attributes say", () =>
    Effect.gen(function* () {
      const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, "utf16le")
      const { base, git, gitDir, url, workTree } = yield* cloned({
        ...start,
        ".gitattributes":
          "*.bat text eol=crlf\n*.id ident\n*.u16 working-tree-encoding=UTF-16\n*.odd working-tree-encoding=none-such\n*.auto text=auto\n",
        "run.bat": "echo\n",
        "same.bat": "same\n"
      })
      assert.strictEqual(fs.readFileSync(join(workTree, "run.bat"), "utf8"), "echo\r\n")
      assert.strictEqual(plainGit(workTree, "status", "--porcelain"), "")
      put(workTree, "run.bat", "echo\r\nmore\r\n")
      put(workTree, "same.bat", "same\n")
      put(workTree, "x.id", "$Id: kept $\n")
      put(workTree, "x.u16", utf16("plain\n"))
      put(workTree, "x.auto", "one\r\ntwo\r\n")
      put(workTree, "dir/binary.auto", "one\r\n\0")
      put(workTree, "dir/.gitattributes", "*.auto -text\n")
      put(workTree, "dir/kept.auto", "one\r\ntwo\r\n")
      put(workTree, "x.odd", "x\n")
      for (const round of [1, 2]) {
        const { diagnostics, files, tree } = yield* git.snapshot({ gitDir, workTree, base })
        const text = (path: string) => plainGit("/", `--git-dir=${gitDir}`, "cat-file", "blob", `${tree}:${path}`)
        const added = ["dir/.gitattributes", "dir/binary.auto", "dir/kept.auto", "run.bat", "x.auto", "x.id", "x.u16"]
        assert.deepStrictEqual(paths(files), added, `round ${round}`)
        assert.strictEqual(files.find(({ path }) => path === "run.bat")?.additions, 1)
        assert.deepStrictEqual(["x.id", "x.u16", "x.auto", "run.bat"].map(text), [
          "$Id$",
          "plain",
          "one\ntwo",
          "echo\nmore"
        ])
        assert.strictEqual(text("dir/kept.auto"), "one\r\ntwo")
        assert.match(diagnostics.join(), /"x\.odd" was left out: git cannot store it/)
        fs.rmSync(join(workTree, "x.odd"))
        plainGit(workTree, "add", "--all")
        assert.strictEqual(plainGit(workTree, "write-tree"), tree)
        put(workTree, "x.odd", "x\n")
        const target = { gitDir: join(gitDir, `../trusted-${round}`), workTree: join(gitDir, `../work-${round}`), base }
        yield* git.clone({ url, ref: null, ...target })
        const request = { source: { gitDir, base, tree }, target, strategy: "exact", dryRun: false } as const
        assert.strictEqual((yield* git.applyTree(request)).state, "applied")
        assert.strictEqual(fs.readFileSync(join(target.workTree, "run.bat"), "utf8"), "echo\r\nmore\r\n")
        assert.deepStrictEqual(fs.readFileSync(join(target.workTree, "x.u16")).subarray(-2), Buffer.from("\n\0"))
        assert.strictEqual((yield* git.snapshot(target)).tree, tree)
      }
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("line ends that the base has, attributes that lead elsewhere, and filters change nothing", () =>
    Effect.gen(function* () {
      const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
      const { base, git, gitDir, root, workTree } = yield* cloned({
        "crlf.txt": "one\r\ntwo\r\n",
        "dir/a.txt": "a\n",
        "x.bin": pointer
      })
      put(workTree, "crlf.txt", "one\r\nthree\r\n")
      put(workTree, ".gitattributes", "*.txt text=auto\n*.bin filter=lfs -text\n")
      put(workTree, "dir/a.txt", "a\r\n")
      put(workTree, "x.bin", "the content")
      put(workTree, "y.bin", pointer)
      put(root, "outside", "*.txt -text\n")
      fs.symlinkSync(join(root, "outside"), join(workTree, "dir/.gitattributes"))
      const { diagnostics, files, tree } = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(paths(files), [".gitattributes", "crlf.txt", "dir/.gitattributes", "x.bin", "y.bin"])
      assert.isEmpty(diagnostics)
      const blob = yield* git.readBlob({ gitDir, tree, path: "crlf.txt", maxBytes: 100 })
      assert.strictEqual(Buffer.from(blob.bytes).toString(), "one\r\nthree\r\n")
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("submodules are left as the base has them, and files put into one are reported", () =>
    Effect.gen(function* () {
      const git = yield* Git
      const root = yield* temporary
      const work = join(root, "work-remote")
      plainGit(root, "init", "--quiet", "--initial-branch=main", work)
      put(work, "a.txt", "a\n")
      plainGit(work, "add", "a.txt")
      plainGit(work, "update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},sub`)
      plainGit(work, "commit", "--quiet", "--message=first")
      const gitDir = join(root, "trusted")
      const workTree = join(root, "work")
      const { commit } = yield* git.clone({ url: work, ref: "main", gitDir, workTree })
      const clean = yield* git.snapshot({ gitDir, workTree, base: commit })
      assert.deepStrictEqual([clean.files, clean.diagnostics], [[], []])
      put(workTree, "sub/inside.txt", "x")
      const filled = yield* git.snapshot({ gitDir, workTree, base: commit })
      assert.deepStrictEqual(filled.files, [])
      assert.match(filled.diagnostics.join(), /"sub" is a submodule/)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a damaged cached index, or one that names pruned objects, only costs time", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* clonedOnce(start)
      put(workTree, "new.txt", "n\n")
      const { tree } = yield* git.snapshot({ gitDir, workTree, base })
      plainGit("/", `--git-dir=${gitDir}`, "prune", "--expire=now")
      assert.strictEqual((yield* git.snapshot({ gitDir, workTree, base })).tree, tree)
      fs.writeFileSync(join(gitDir, "reins-index"), "damaged")
      assert.strictEqual((yield* git.snapshot({ gitDir, workTree, base })).tree, tree)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a workspace that started empty is captured against nothing", () =>
    Effect.gen(function* () {
      const git = yield* Git
      const root = yield* temporary
      const gitDir = join(root, "trusted")
      const workTree = join(root, "work")
      yield* git.init({ gitDir, workTree })
      const empty = yield* git.snapshot({ gitDir, workTree, base: null })
      assert.deepStrictEqual(empty.files, [])
      execFileSync("mkfifo", [join(workTree, "fifo")])
      const unread = yield* git.snapshot({ gitDir, workTree, base: null })
      assert.deepStrictEqual([unread.tree, unread.files], [empty.tree, []])
      fs.rmSync(join(workTree, "fifo"))
      put(workTree, "a/b.txt", "b\n")
      plainGit(workTree, "add", "--all")
      plainGit(workTree, "commit", "--quiet", "--message=agent")
      const filled = yield* git.snapshot({ gitDir, workTree, base: null })
      assert.deepStrictEqual(paths(filled.files), ["a/b.txt"])
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("simultaneous snapshots agree and do not disturb each other", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* clonedOnce(start)
      put(workTree, "a.txt", "x\n")
      const all = yield* Effect.all(
        Array.from({ length: 6 }, () => git.snapshot({ gitDir, workTree, base })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(all.map((snapshot) => snapshot.tree)).size, 1)
      assert.deepStrictEqual(fs.readdirSync(join(gitDir, "reins-tmp")), [])
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("without a work tree or trusted directory it fails with not_found", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, root, workTree } = yield* clonedOnce(start)
      const noTree = yield* Effect.flip(git.snapshot({ gitDir, workTree: join(root, "none"), base }))
      const noDir = yield* Effect.flip(git.snapshot({ gitDir: join(root, "none"), workTree, base }))
      assert.deepStrictEqual([noTree.kind, noDir.kind], ["not_found", "not_found"])
    }).pipe(Effect.provide(gitLayer))
  )
})
