import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { chooseRepository } from "@reins/cli/client/Repository"
import { checkedRef } from "@reins/cli/client/RepositoryCheck"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import { Effect, Exit, Scope } from "effect"
import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { git, makeProject, type Project } from "./Cli.js"

/** The repository without what a link may say besides. */
const chosen = (given: string, ref?: string) => {
  const { overHttps: _, pullRequest: __, refs: ___, ...repository } = chooseRepository(given, ref)
  return repository
}

describe("the URL of --repo", () => {
  it.each(["https://example.com/a/b.git", "ssh://git@example.com/a/b.git", "git@example.com:a/b.git"])(
    "%s is taken as it is",
    (url) => {
      assert.deepStrictEqual(chosen(url), { url, isLocal: false, notes: [] })
      assert.deepStrictEqual(chosen(url, "v1"), { url, base_ref: "v1", isLocal: false, notes: [] })
    }
  )

  it("may be an owner and a name, or a link, which is told; one for SSH has another form", () => {
    const url = "https://github.com/acme/shop"
    assert.deepStrictEqual(chosen("acme/shop"), { url, isLocal: false, notes: [`The repository is ${url}.`] })
    const linked = chooseRepository(`${url}/tree/fix/login`, undefined)
    assert.deepInclude(linked, { url, refs: ["fix", "fix/login"], pullRequest: null })
    assert.strictEqual(chooseRepository(`${url}/pull/7`, undefined).pullRequest, "refs/pull/7/head")
    assert.strictEqual(chooseRepository("git@example.com:a/b.git", undefined).overHttps, "https://example.com/a/b.git")
  })
})

describe("the check of a remote", () => {
  const scope = Effect.runSync(Scope.make())
  let url = ""
  const commits: Record<string, string> = {}
  const none = { ref: undefined, refs: [], pullRequest: null }
  const check = (asked: Partial<Parameters<typeof checkedRef>[0]>, hasConnection = false) =>
    checkedRef({ url, ...none, ...asked }, async () => hasConnection)
  const refusal = (asked: Parameters<typeof check>[0]) =>
    check(asked).then(
      () => assert.fail("it was taken"),
      (error: Error) => error.message
    )

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "reins-check-"))
    const { folder, remote } = makeProject(directory)
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "For the branch")
    git(folder, "push", "--quiet", "origin", "HEAD:fix/login", "HEAD:refs/pull/7/head")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "From a fork")
    git(folder, "push", "--quiet", "origin", "HEAD:refs/pull/8/head")
    commits["fork"] = git(folder, "rev-parse", "HEAD")
    const served = await Effect.runPromise(Effect.provideService(gitHttpServer(directory, null), Scope.Scope, scope))
    url = `${served.url.replace(/\/[^/]*\.git$/, "").replace(/\/$/, "")}/${basename(remote)}`
  })
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(directory, { recursive: true, force: true })
  })

  it("finds the branch of a link and of a pull request, and the commit of one from a fork", async () => {
    assert.isUndefined(await check({}))
    assert.strictEqual(await check({ ref: "main" }), "main")
    assert.strictEqual(await check({ refs: ["fix", "fix/login", "fix/login/src"] }), "fix/login")
    assert.strictEqual(await check({ pullRequest: "refs/pull/7/head" }), "fix/login")
    assert.strictEqual(await check({ pullRequest: "refs/pull/8/head" }), commits["fork"])
  })

  it("says what is not there, with the option that mends it", async () => {
    assert.match(await refusal({ ref: "mian" }), /has no branch or tag "mian"\. Did you mean main\? .* --ref\.$/)
    assert.match(await refusal({ pullRequest: "refs/pull/9/head" }), /has no pull request 9\.$/)
    assert.match(
      await refusal({ url: url.replace("remote", "nope") }),
      /^There is no public repository at \S+nope\.git\. Check --repo\./
    )
  })

  it("leaves to the server what this machine cannot reach", async () => {
    assert.strictEqual(await check({ url: "http://127.0.0.1:9/a/b.git", ref: "main" }), "main")
  })
})

let directory = ""
let project: Project = { remote: "", folder: "" }

describe("the folder of --repo", () => {
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "reins-repository-"))
    project = makeProject(directory)
  })

  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  it("is the remote of the branch that is checked out, on its branch there", () => {
    const { folder, remote } = project
    assert.deepStrictEqual(chosen(folder), {
      url: remote,
      base_ref: "main",
      isLocal: true,
      notes: []
    })
    git(folder, "push", "--quiet", "origin", "main:theirs")
    git(folder, "fetch", "--quiet")
    git(folder, "switch", "--quiet", "--create", "mine", "--track", "origin/theirs")
    assert.strictEqual(chooseRepository(folder, undefined).base_ref, "theirs")
    assert.strictEqual(chooseRepository(folder, "v1").base_ref, "v1")
  })

  it("is the default branch of the remote where the one that is checked out was never pushed", () => {
    git(project.folder, "remote", "set-url", "origin", "https://example.com/a/b.git")
    git(project.folder, "switch", "--quiet", "--create", "local")
    assert.deepStrictEqual(chosen(project.folder), {
      url: "https://example.com/a/b.git",
      isLocal: false,
      notes: []
    })
  })

  it("tells what of the folder is not in the remote", () => {
    const { folder } = project
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "One more")
    writeFileSync(join(folder, "new.txt"), "")
    git(folder, "remote", "set-url", "origin", "https://someone:token@example.com/a/b.git")
    const { notes, url } = chooseRepository(folder, undefined)
    assert.strictEqual(url, "https://example.com/a/b.git")
    assert.lengthOf(notes, 3)
    assert.match(notes[0] ?? "", /credentials .* are left out/)
    assert.strictEqual(notes[1], "1 commit is not pushed and not part of it.")
    assert.strictEqual(notes[2], "Changes that are not committed are not part of it.")
    assert.notInclude(notes.join(), "token")
  })

  it("is the folder's own where it has no remote, also when it is bare", () => {
    const { folder, remote } = project
    git(folder, "remote", "remove", "origin")
    assert.deepStrictEqual(chosen(join(folder, ".")), {
      url: folder,
      base_ref: "main",
      isLocal: true,
      notes: []
    })
    assert.strictEqual(chooseRepository(remote, undefined).url, remote)
  })

  it("is none outside of a repository", () => {
    assert.throws(() => chooseRepository(directory, undefined), /is not in a git repository/)
    assert.throws(() => chooseRepository(join(directory, "nope"), undefined), /is not in a git repository/)
  })
})
