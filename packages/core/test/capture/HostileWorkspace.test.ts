import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { existsSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
import { assert, describe, it } from "@effect/vitest"
import {
  cloned,
  clonedOnce,
  devices,
  gitLayer,
  plainGit,
  plainGitWith,
  plantDevices,
  put
} from "@reins/testing/git/Fixture"
import { raceSeconds, raceTimeout } from "@reins/testing/Volume"
import { DateTime, Effect } from "effect"

const files = { "a.txt": "one\n", "b.bin": "b\n", "dir/c.txt": "c\n" }

/** Every way in which a workspace can make git run a command. Each leaves a marker file of its own name. */
const plantTraps = (workTree: string, markers: string): void => {
  const trap = (name: string) => {
    const script = join(markers, "..", `trap-${name}`)
    writeFileSync(script, `#!/bin/sh\ntouch '${join(markers, name)}'\ncat\n`, { mode: 0o755 })
    return script
  }
  const configure = (cwd: string, prefix: string) => {
    plainGit(cwd, "config", "core.fsmonitor", trap(`${prefix}fsmonitor`))
    plainGit(cwd, "config", "core.hooksPath", join(cwd, "hooks"))
    plainGit(cwd, "config", "filter.evil.clean", trap(`${prefix}clean`))
    plainGit(cwd, "config", "filter.evil.smudge", trap(`${prefix}smudge`))
    plainGit(cwd, "config", "filter.process.process", trap(`${prefix}process`))
    plainGit(cwd, "config", "diff.evil.textconv", trap(`${prefix}textconv`))
    plainGit(cwd, "config", "diff.evil.command", trap(`${prefix}command`))
    plainGit(cwd, "config", "diff.external", trap(`${prefix}external`))
    plainGit(cwd, "config", "merge.evil.driver", trap(`${prefix}merge`))
    plainGit(cwd, "config", "core.sshCommand", trap(`${prefix}ssh`))
    plainGit(cwd, "config", "core.pager", trap(`${prefix}pager`))
    plainGit(cwd, "config", "credential.helper", `!${trap(`${prefix}credential`)}`)
    plainGit(cwd, "config", "core.alternateRefsCommand", trap(`${prefix}alternate`))
    plainGit(cwd, "config", "remote.origin.uploadpack", trap(`${prefix}uploadpack`))
    plainGit(cwd, "config", "remote.origin.receivepack", trap(`${prefix}receivepack`))
    for (const hook of ["pre-commit", "post-checkout", "post-index-change", "pre-push", "reference-transaction"]) {
      put(cwd, `hooks/${hook}`, `#!/bin/sh\ntouch '${join(markers, `${prefix}${hook}`)}'\n`, 0o755)
      put(cwd, `.git/hooks/${hook}`, `#!/bin/sh\ntouch '${join(markers, `${prefix}${hook}`)}'\n`, 0o755)
    }
  }
  put(workTree, ".gitattributes", "* filter=evil diff=evil merge=evil\n*.bin filter=process\n")
  put(workTree, ".gitmodules", '[submodule "nested"]\n\tpath = nested\n\turl = ext::sh -c "touch x"\n')
  const nested = join(workTree, "nested")
  fs.mkdirSync(nested)
  plainGit(nested, "init", "--quiet")
  put(nested, "n.txt", "n\n")
  plainGit(nested, "add", "n.txt")
  plainGit(nested, "commit", "--quiet", "--message=nested")
  configure(nested, "nested-")
  put(nested, "n.txt", "changed\n")
  // The nested repository is also committed as such in the agent's own repository.
  plainGit(workTree, "add", "nested")
  plainGit(workTree, "commit", "--quiet", "--message=agent")
  configure(workTree, "")
}

// The traps answer nonsense, so the commands fail. It only counts that they ran.
const fallFor = (workTree: string): void => {
  for (const args of [["status"], ["diff"], ["-c", "core.fsmonitor=false", "add", "--all"]]) {
    spawnSync("git", args, { cwd: workTree, env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent" } })
  }
}

const swapper = `
const fs = require("node:fs")
const { parentPort, workerData: { workTree, outside } } = require("node:worker_threads")
const dir = workTree + "/dir", away = workTree + "/.git/away"
parentPort.postMessage("started")
for (;;) {
  try { fs.renameSync(dir, away); fs.symlinkSync(outside, dir); fs.unlinkSync(dir); fs.renameSync(away, dir) } catch {}
}
`

/** The tree with one more file, as another session might have made it. */
const changedTree = (gitDir: string, tree: string): string => {
  const blob = plainGit("/", `--git-dir=${gitDir}`, "hash-object", "-w", "/etc/hostname")
  const index = { GIT_INDEX_FILE: join(gitDir, "test-index") }
  plainGitWith(index, `--git-dir=${gitDir}`, "read-tree", tree)
  plainGitWith(index, `--git-dir=${gitDir}`, "update-index", "--add", "--cacheinfo", `100644,${blob},more.txt`)
  return plainGitWith(index, `--git-dir=${gitDir}`, "write-tree")
}

describe("a hostile workspace", () => {
  it.scopedLive("no git operation runs anything that the workspace names", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, root, url, workTree } = yield* clonedOnce(files)
      const markers = join(root, "markers")
      fs.mkdirSync(markers)
      plantTraps(workTree, markers)
      put(workTree, "a.txt", "two\n")
      put(workTree, "b.bin", Buffer.from([0, 1, 2]))
      // The traps do work: plain git in the workspace falls for them.
      fallFor(workTree)
      assert.includeMembers(readdirSync(markers), ["fsmonitor", "clean", "process", "command", "nested-fsmonitor"])
      fs.rmSync(markers, { recursive: true })
      fs.mkdirSync(markers)

      const target = { gitDir, workTree, base }
      const { diagnostics, tree } = yield* git.snapshot(target)
      yield* git.snapshot(target)
      yield* git.subject({ gitDir, base, tree })
      const { diff } = yield* git.diff({ gitDir, base, tree })
      yield* git.patch({ gitDir, base, tree })
      yield* git.listTree({ gitDir, tree })
      yield* git.readBlob({ gitDir, tree, path: "a.txt", maxBytes: 100 })
      const commit = yield* git.commitTree({
        gitDir,
        tree,
        parents: base === null ? [] : [base],
        message: "m",
        date: DateTime.unsafeMake(0)
      })
      yield* git.keep({ gitDir, ref: "changesets/cs_1", commit })
      yield* git.push({ gitDir, url, commit, branch: "x", expectedHead: null, strategy: "fast_forward" })
      yield* git.applyTree({
        source: { gitDir, base, tree: changedTree(gitDir, tree) },
        target,
        strategy: "three_way",
        dryRun: false
      })
      const again = join(root, "again")
      yield* git.clone({ url, ref: "x", gitDir: join(root, "trusted-2"), workTree: again })

      assert.deepStrictEqual(readdirSync(markers), [])
      assert.isTrue(existsSync(join(again, ".gitattributes")))
      assert.match(diff, /-one\n\+two/)
      assert.match(diagnostics.join(), /"nested\/" is a nested git repository/)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a device in the place of a file is left alone, and the snapshot says so", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* cloned({ ...files, zero: "z\n", disk: "d\n" })
      for (const name of Object.keys(devices)) fs.rmSync(join(workTree, name))
      plantDevices(workTree)
      const { diagnostics, files: changed } = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(
        changed.map(({ path, status }) => [path, status]),
        [
          ["disk", "deleted"],
          ["zero", "deleted"]
        ]
      )
      assert.deepStrictEqual(
        diagnostics,
        ["disk", "zero"]
          .filter((name) => existsSync(join(workTree, name)))
          .map((name) => `"${name}" is not a regular file, directory or symbolic link`)
      )
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive(
    "a folder exchanged with a symbolic link during captures never brings outside content into a tree",
    () =>
      Effect.gen(function* () {
        const { base, git, gitDir, root, workTree } = yield* clonedOnce(files)
        put(root, "outside/c.txt", "SECRET\n")
        put(root, "outside/extra.txt", "SECRET\n")
        const worker = yield* Effect.acquireRelease(
          Effect.sync(
            () => new Worker(swapper, { eval: true, workerData: { workTree, outside: join(root, "outside") } })
          ),
          (running) => Effect.promise(() => running.terminate())
        )
        yield* Effect.async<void>((resume) => {
          worker.once("message", () => resume(Effect.void))
        })
        const until = Date.now() + raceSeconds * 1000
        let rounds = 0
        while (Date.now() < until || rounds < 4) {
          const { tree } = yield* git.snapshot({ gitDir, workTree, base })
          const { entries } = yield* git.subject({ gitDir, base, tree })
          for (const { digest, path } of entries) {
            if (digest === null) continue
            const blob = yield* git.readBlob({ gitDir, tree, path, maxBytes: 100 })
            assert.notInclude(Buffer.from(blob.bytes).toString(), "SECRET")
          }
          rounds += 1
        }
      }).pipe(Effect.provide(gitLayer)),
    raceTimeout
  )
})
