import { assert, it } from "@effect/vitest"
import { classify, scrub } from "@reins/machine/repository/run/GitError"

it("a full disk is told in every way in which git says it, and not by a stranger", () => {
  const full = /^The disk of the service is full or read-only: the operator has to mend it/
  for (const said of [
    "fatal: sha1 file 'objects/pack/tmp_pack_1' write error. Out of diskspace",
    "error: unable to write file objects/1: No space left on device",
    "fatal: cannot create directory at 'a': Disk quota exceeded",
    "fatal: Unable to create 'index.lock': Read-only file system"
  ]) {
    assert.match(classify("fast-import", scrub(said)).message, full)
    assert.notMatch(classify("fetch", scrub(`remote: ${said}`)).message, full)
  }
})

it("a path that git writes to no disk is told when git says it here, and not by a stranger", () => {
  const said = "error: invalid path '.GIT/config'"
  assert.strictEqual(classify("read-tree", scrub(`warning: x\n${said}`)).kind, "conflict")
  assert.notStrictEqual(classify("push", scrub(`remote: ${said}`)).kind, "conflict")
})
