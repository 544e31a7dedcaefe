import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { chooseRepository } from "@reins/server/cli/client/Repository"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { git, makeProject, type Project } from "./Cli.js"

describe("the URL of --repo", () => {
  it.each(["https://example.com/a/b.git", "ssh://git@example.com/a/b.git", "git@example.com:a/b.git"])(
    "%s is taken as it is",
    (url) => {
      assert.deepStrictEqual(chooseRepository(url, undefined), { url, isLocal: false, notes: [] })
      assert.deepStrictEqual(chooseRepository(url, "v1"), { url, base_ref: "v1", isLocal: false, notes: [] })
    }
  )
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
    assert.deepStrictEqual(chooseRepository(folder, undefined), {
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
    assert.deepStrictEqual(chooseRepository(project.folder, undefined), {
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
    assert.deepStrictEqual(chooseRepository(join(folder, "."), undefined), {
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
