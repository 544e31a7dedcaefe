import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { clonedOnce, gitLayer, plainGit, put, remoteCommit } from "@reins/testing/git/Fixture"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import { DateTime, Effect, Redacted } from "effect"

const commitOf = (content: string) =>
  Effect.gen(function* () {
    const fixture = yield* clonedOnce({ "a.txt": "one\n" })
    const { base, git, gitDir, workTree } = fixture
    put(workTree, "a.txt", content)
    const { tree } = yield* git.snapshot({ gitDir, workTree, base })
    const commit = yield* git.commitTree({
      gitDir,
      tree,
      parents: base === null ? [] : [base],
      message: "change",
      date: DateTime.unsafeMake(1_700_000_000_000)
    })
    return { ...fixture, commit, tree }
  })

/** The objects that are in packs, which are flushed to disk. */
const packedIn = (gitDir: string): string =>
  fs
    .readdirSync(join(gitDir, "objects", "pack"))
    .filter((name) => name.endsWith(".idx"))
    .map((name) => plainGit("/", `--git-dir=${gitDir}`, "verify-pack", "-v", join(gitDir, "objects", "pack", name)))
    .join("\n")

const password = "s3cr3t+pass/w%rd"
const basic = `Basic ${Buffer.from(`ann:${password}`).toString("base64")}`

describe("Git.commitTree", () => {
  it.scopedLive("the same request gives the same commit, which is that of a snapshot with its message", () =>
    Effect.gen(function* () {
      const { base, commit, git, gitDir, tree, workTree } = yield* commitOf("two\n")
      const again = yield* git.commitTree({
        gitDir,
        tree,
        parents: base === null ? [] : [base],
        message: "change",
        date: DateTime.unsafeMake(1_700_000_000_999)
      })
      assert.strictEqual(again, commit)
      const message = "Capture of ünïcødé\n\nin two paragraphs\n\n"
      const snapshot = yield* git.snapshot({ gitDir, workTree, base, message })
      const parents = base === null ? [] : [base]
      const beginning = DateTime.unsafeMake(0)
      assert.strictEqual(snapshot.commit, yield* git.commitTree({ gitDir, tree, parents, message, date: beginning }))
    }).pipe(Effect.provide(gitLayer))
  )
})

describe("Git.keep", () => {
  it.scopedLive("holds the commit of a snapshot, all of which is in packs, through a prune", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* clonedOnce({ "a.txt": "one\n" })
      put(workTree, "a.txt", "looked at\n")
      yield* git.snapshot({ gitDir, workTree, base, passing: true })
      const { commit } = yield* git.snapshot({ gitDir, workTree, base })
      const missing = plainGit("/", `--git-dir=${gitDir}`, "rev-list", "--objects", commit)
        .split("\n")
        .filter((line) => !packedIn(gitDir).includes(line.slice(0, 40)))
      assert.deepStrictEqual(missing, [])
      yield* git.keep({ gitDir, ref: "changesets/cs_1", commit })
      yield* git.keep({ gitDir, ref: "changesets/cs_1", commit })
      assert.match(plainGit("/", `--git-dir=${gitDir}`, "count-objects"), /^0 objects/)
      plainGit("/", `--git-dir=${gitDir}`, "gc", "--quiet", "--prune=now")
      assert.strictEqual(plainGit("/", `--git-dir=${gitDir}`, "rev-parse", "refs/reins/changesets/cs_1"), commit)
      for (const ref of ["../heads/x", "a b", "-x", "", "x.lock"]) {
        assert.strictEqual((yield* Effect.flip(git.keep({ gitDir, ref, commit }))).kind, "internal")
      }
    }).pipe(Effect.provide(gitLayer))
  )
})

describe("Git.push", () => {
  it.scopedLive("a new branch is created once; pushing the same commit again is success without a push", () =>
    Effect.gen(function* () {
      const { commit, git, gitDir, url } = yield* commitOf("two\n")
      const request = {
        gitDir,
        url,
        commit,
        branch: "reins/ses/cs",
        expectedHead: null,
        strategy: "fast_forward" as const
      }
      assert.isNull(yield* git.remoteHead(request))
      assert.deepStrictEqual(yield* git.push(request), { head: commit, pushed: true })
      assert.deepStrictEqual(yield* git.push(request), { head: commit, pushed: false })
      assert.strictEqual(yield* git.remoteHead(request), commit)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("another push that brings the same commit in between is success without a push", () =>
    Effect.gen(function* () {
      const { commit, git, gitDir, root } = yield* commitOf("two\n")
      const bare = join(root, "remote.git")
      const server = yield* gitHttpServer(root, basic, (request) => {
        if (request.method === "POST" && request.url?.endsWith("git-receive-pack") === true) {
          plainGit("/", `--git-dir=${gitDir}`, "push", "--quiet", bare, `${commit}:refs/heads/reins/ses/cs`)
        }
        return false
      })
      const url = `${server.url}/remote.git`
      const request = {
        gitDir,
        url,
        commit,
        branch: "reins/ses/cs",
        credential: { username: "ann", password: Redacted.make(password) }
      }
      for (const strategy of ["fast_forward", "force_with_lease"] as const) {
        const pushed = yield* git.push({ ...request, expectedHead: null, strategy })
        assert.deepStrictEqual(pushed, { head: commit, pushed: false })
        plainGit(bare, "update-ref", "-d", "refs/heads/reins/ses/cs")
      }
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a branch that exists although it was expected to be absent is remote_head_changed", () =>
    Effect.gen(function* () {
      const { commit, git, gitDir, root, url } = yield* commitOf("two\n")
      const theirs = remoteCommit(root, "taken", "b.txt", "b\n")
      for (const strategy of ["fast_forward", "force_with_lease"] as const) {
        const error = yield* Effect.flip(
          git.push({ gitDir, url, commit, branch: "taken", expectedHead: null, strategy })
        )
        assert.strictEqual(error.kind, "remote_head_changed")
      }
      assert.strictEqual(yield* git.remoteHead({ gitDir, url, branch: "taken" }), theirs)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("fast_forward moves a branch ahead and refuses a commit that does not contain its head", () =>
    Effect.gen(function* () {
      const { base, commit, git, gitDir, root, url } = yield* commitOf("two\n")
      const main = { gitDir, url, commit, branch: "main", strategy: "fast_forward" as const }
      assert.deepStrictEqual(yield* git.push({ ...main, expectedHead: base }), { head: commit, pushed: true })
      const theirs = remoteCommit(root, "main", "b.txt", "b\n")
      const moved = yield* Effect.flip(git.push({ ...main, expectedHead: base }))
      assert.strictEqual(moved.kind, "remote_head_changed")
      const behind = yield* Effect.flip(git.push({ ...main, expectedHead: theirs }))
      assert.strictEqual(behind.kind, "rejected_non_fast_forward")
      assert.strictEqual(yield* git.remoteHead(main), theirs)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("force_with_lease replaces exactly the expected head and no other", () =>
    Effect.gen(function* () {
      const { base, commit, git, gitDir, root, url } = yield* commitOf("two\n")
      const theirs = remoteCommit(root, "main", "b.txt", "b\n")
      const main = { gitDir, url, commit, branch: "main", strategy: "force_with_lease" as const }
      const stale = yield* Effect.flip(git.push({ ...main, expectedHead: base }))
      assert.strictEqual(stale.kind, "remote_head_changed")
      assert.deepStrictEqual(yield* git.push({ ...main, expectedHead: theirs }), { head: commit, pushed: true })
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a branch that moves between the look and the push is not overwritten", () =>
    Effect.gen(function* () {
      const { commit, git, gitDir, root, url } = yield* commitOf("two\n")
      // The remote's own hook stands for somebody who is faster: it creates the branch after our look.
      const faster = remoteCommit(root, "other", "b.txt", "b\n")
      const server = yield* gitHttpServer(root, null, (request) => {
        if (request.url?.includes("service=git-receive-pack") === true) {
          plainGit("/", `--git-dir=${url}`, "update-ref", "refs/heads/mine", faster)
        }
        return false
      })
      plainGit("/", `--git-dir=${url}`, "config", "http.receivepack", "true")
      const address = `${server.url}/remote.git`
      const error = yield* Effect.flip(
        git.push({ gitDir, url: address, commit, branch: "mine", expectedHead: null, strategy: "fast_forward" })
      )
      assert.strictEqual(error.kind, "remote_head_changed")
      assert.strictEqual(yield* git.remoteHead({ gitDir, url, branch: "mine" }), faster)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("an update that a rule of the remote declines is branch_protected, with what the rule said", () =>
    Effect.gen(function* () {
      const { base, commit, git, gitDir, url } = yield* commitOf("two\n")
      put(url, "hooks/pre-receive", "#!/bin/sh\necho 'main is protected' >&2\nexit 1\n", 0o755)
      const error = yield* Effect.flip(
        git.push({ gitDir, url, commit, branch: "main", expectedHead: base, strategy: "fast_forward" })
      )
      assert.strictEqual(error.kind, "branch_protected")
      assert.match(error.message, /main is protected/)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("names that git could take for an option are refused before git is started", () =>
    Effect.gen(function* () {
      const { commit, git, gitDir, root, url } = yield* commitOf("two\n")
      const marker = join(root, "marker")
      for (const branch of [
        `--receive-pack=touch ${marker}`,
        `--upload-pack=touch ${marker}`,
        "-f",
        "a..b",
        "x:y",
        ""
      ]) {
        const error = yield* Effect.flip(
          git.push({ gitDir, url, commit, branch, expectedHead: null, strategy: "fast_forward" })
        )
        assert.strictEqual(error.kind, "ref_not_found")
      }
      for (const address of [
        `--receive-pack=touch ${marker}`,
        `ext::touch ${marker}`,
        "fd::3",
        `ssh://-oProxyCommand=touch/x`
      ]) {
        const error = yield* Effect.flip(git.remoteHead({ gitDir, url: address, branch: "main" }))
        assert.strictEqual(error.kind, "remote_refused")
      }
      assert.isFalse(fs.existsSync(marker))
    }).pipe(Effect.provide(gitLayer))
  )
})

describe("credentials", () => {
  it.scopedLive("a password or token opens the remote, and is in no file, configuration or process argument", () =>
    Effect.gen(function* () {
      const { commit, git, gitDir, root, url, workTree } = yield* commitOf("two\n")
      plainGit("/", `--git-dir=${url}`, "config", "http.receivepack", "true")
      let processes = ""
      const server = yield* gitHttpServer(root, basic, () => {
        processes += execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })
        return false
      })
      const credential = { username: "ann", password: Redacted.make(password) }
      const remote = { url: `${server.url}/remote.git`, credential }
      const clone = { gitDir: join(root, "trusted-2"), workTree: join(root, "work-2") }
      yield* git.clone({ ...remote, ref: null, ...clone })
      yield* git.push({ ...remote, gitDir, commit, branch: "b", expectedHead: null, strategy: "fast_forward" })
      assert.include(server.seen, basic)
      assert.include(processes, "git")
      const encoded = basic.slice("Basic ".length)
      for (const secret of [password, encoded, encodeURIComponent(password)]) {
        assert.notInclude(processes, secret)
        for (const folder of [gitDir, workTree, clone.gitDir, clone.workTree]) {
          const found = execFileSync("sh", ["-c", 'grep -rlF -e "$1" "$2" || true', "sh", secret, folder], {
            encoding: "utf8"
          })
          assert.strictEqual(found, "")
        }
      }
      assert.strictEqual(plainGit(clone.workTree, "remote", "get-url", "origin"), remote.url)

      const token = Redacted.make("tok_123456")
      const forge = yield* gitHttpServer(root, `Basic ${Buffer.from("x-access-token:tok_123456").toString("base64")}`)
      assert.strictEqual(
        yield* git.remoteHead({ gitDir, url: `${forge.url}/remote.git`, branch: "b", credential: { token } }),
        commit
      )
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a wrong or missing password is auth_required, and no message holds the secret", () =>
    Effect.gen(function* () {
      const { git, gitDir, root } = yield* commitOf("two\n")
      const server = yield* gitHttpServer(root, "Basic other")
      const url = `${server.url}/remote.git`
      const wrong = { username: "ann", password: Redacted.make(password) }
      const refused = yield* Effect.flip(git.remoteHead({ gitDir, url, branch: "main", credential: wrong }))
      const missing = yield* Effect.flip(git.remoteHead({ gitDir, url, branch: "main" }))
      const embedded = yield* Effect.flip(
        git.remoteHead({ gitDir, url: url.replace("//", `//ann:${encodeURIComponent(password)}@`), branch: "main" })
      )
      const broken = yield* Effect.flip(
        git.remoteHead({ gitDir, url, branch: "main", credential: { token: Redacted.make("a\nhost=evil") } })
      )
      for (const error of [refused, missing, embedded, broken]) {
        assert.strictEqual(error.kind, "auth_required")
        assert.notInclude(error.message, password)
        assert.notInclude(error.message, encodeURIComponent(password))
      }
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a redirect to another host is not followed", () =>
    Effect.gen(function* () {
      const { git, gitDir, root } = yield* commitOf("two\n")
      const thief = yield* gitHttpServer(root, basic)
      const server = yield* gitHttpServer(root, null, (request, response) => {
        response.writeHead(302, { location: `${thief.url}${request.url ?? ""}` }).end()
        return true
      })
      const credential = { username: "ann", password: Redacted.make(password) }
      const error = yield* Effect.flip(
        git.remoteHead({ gitDir, url: `${server.url}/remote.git`, branch: "main", credential })
      )
      assert.strictEqual(error.kind, "redirected")
      assert.match(error.message, /leads to 127\.0\.0\.1:\d+, and git follows to no other host/)
      assert.lengthOf(server.seen, 1)
      assert.lengthOf(thief.seen, 0)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a repository that was renamed on its host is read and pushed to, with the credential", () =>
    Effect.gen(function* () {
      const { commit, git, gitDir, root, url } = yield* commitOf("two\n")
      put(url, "config", "[core]\n\tbare = true\n[http]\n\treceivepack = true\n")
      let redirects = 0
      const server = yield* gitHttpServer(root, basic, (request, response) => {
        if (request.url?.startsWith("/old/name.git") !== true) return false
        redirects += 1
        response.writeHead(301, { location: request.url.replace("/old/name.git", "/remote.git") }).end()
        return true
      })
      const credential = { username: "ann", password: Redacted.make(password) }
      const request = { gitDir, url: `${server.url}/old/name.git`, branch: "renamed", credential }
      assert.isNull(yield* git.remoteHead(request))
      const pushed = yield* git.push({ ...request, commit, expectedHead: null, strategy: "fast_forward" })
      assert.deepStrictEqual(pushed, { head: commit, pushed: true })
      assert.strictEqual(yield* git.remoteHead(request), commit)
      assert.isAbove(redirects, 2)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a secret that the remote sends back is not in the message", () =>
    Effect.gen(function* () {
      const { git, gitDir, root } = yield* commitOf("two\n")
      const server = yield* gitHttpServer(root, null, (request, response) => {
        if (request.headers.authorization === undefined) {
          response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end()
        } else {
          const said = `you sent ${request.headers.authorization} that is ${password}\n`
          response.writeHead(403, { "content-type": "text/plain" }).end(said)
        }
        return true
      })
      const error = yield* Effect.flip(
        git.remoteHead({
          gitDir,
          url: `${server.url}/remote.git`,
          branch: "main",
          credential: { username: "ann", password: Redacted.make(password) }
        })
      )
      assert.strictEqual(error.kind, "auth_required")
      assert.match(error.message, /you sent Basic \*\*\* that is \*\*\*/)
    }).pipe(Effect.provide(gitLayer))
  )
})
