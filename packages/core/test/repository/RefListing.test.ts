import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bareRemote, plainGit } from "@reins/testing/git/Fixture"
import { listRefs } from "@reins/testing/git/RefListing"
import { afterAll, assert, describe, it } from "vitest"

const root = mkdtempSync(join(tmpdir(), "reins-test-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const packet = (line: string) => `${(line.length + 5).toString(16).padStart(4, "0")}${line}\n`

const question = (...lines: ReadonlyArray<string>) =>
  Buffer.from(`${packet("command=ls-refs")}${packet("agent=git/2")}0001${lines.map(packet).join("")}0000`)

const answerOfGit = (bare: string, input: Buffer) =>
  execFileSync("git", ["upload-pack", "--stateless-rpc", bare], {
    input,
    env: { ...process.env, GIT_PROTOCOL: "version=2" }
  })

const remoteWith = (name: string, ...refs: ReadonlyArray<string>) => {
  const bare = bareRemote(join(root, name), { "a.txt": "one\n" })
  for (const ref of refs) plainGit(bare, "update-ref", ref, "HEAD")
  return bare
}

describe("the listing of refs by the server of the tests", () => {
  it("is that of git, for loose and packed refs and any prefixes", () => {
    const bare = remoteWith("usual", "refs/heads/fix/a", "refs/heads/fix-a", "refs/heads/Z", "refs/pull/1/head")
    plainGit(bare, "pack-refs", "--all")
    plainGit(bare, "update-ref", "refs/heads/fix/b", "HEAD")
    plainGit(bare, "update-ref", "-d", "refs/heads/Z")
    for (const lines of [
      [],
      ["peel", "symrefs", "unborn"],
      ["peel", "symrefs", "ref-prefix HEAD", "ref-prefix refs/heads/fix"],
      ["symrefs", "ref-prefix refs/pull/"],
      ["ref-prefix refs/none"]
    ])
      assert.strictEqual(
        listRefs(bare, question(...lines))?.toString(),
        answerOfGit(bare, question(...lines)).toString(),
        lines.join()
      )
  })

  it("is left to git where it may be another one", () => {
    const usual = remoteWith("other")
    assert.isDefined(listRefs(usual, question()))
    assert.isUndefined(listRefs(usual, Buffer.from(`${packet("command=fetch")}0000`)))
    assert.isUndefined(listRefs(join(root, "absent"), question()))
    const tagged = remoteWith("tagged", "refs/tags/v1")
    const foreign = remoteWith("foreign", "refs/heads/höher")
    const hiding = remoteWith("hiding")
    plainGit(hiding, "config", "transfer.hideRefs", "refs/pull")
    const detached = remoteWith("detached")
    plainGit(detached, "update-ref", "--no-deref", "HEAD", "HEAD")
    const unborn = remoteWith("unborn")
    plainGit(unborn, "symbolic-ref", "HEAD", "refs/heads/none")
    const symbolic = remoteWith("symbolic")
    plainGit(symbolic, "symbolic-ref", "refs/heads/same", "refs/heads/main")
    for (const bare of [tagged, foreign, hiding, detached, unborn, symbolic])
      assert.isUndefined(listRefs(bare, question()), bare)
  })
})
