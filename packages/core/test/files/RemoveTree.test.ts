import { existsSync } from "node:fs"
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { removeTree } from "@reins/machine/files/RemoveTree"
import { assert, it } from "vitest"

const nobody = 65_534

/** Runs as a user who is not root, because permissions do not bind root. */
const asNobody = async (run: () => Promise<void>): Promise<void> => {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(nobody)
  try {
    await run()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

it("a tree is removed with the directories that nobody may write or read, and nothing beyond its links is touched", () =>
  asNobody(async () => {
    const root = await mkdtemp(join(tmpdir(), "reins-remove-"))
    const outside = join(root, "outside")
    const tree = join(root, "tree")
    const locked = join(tree, "pkg", "mod")
    await mkdir(outside, { mode: 0o500 })
    await mkdir(locked, { recursive: true })
    await writeFile(join(locked, "go.mod"), "module m")
    await symlink(outside, join(locked, "link"))
    await chmod(locked, 0o000)
    await chmod(join(tree, "pkg"), 0o555)
    const refused = await rm(tree, { recursive: true, force: true }).then(
      () => false,
      () => true
    )
    assert.isTrue(refused)
    await removeTree(tree)
    assert.isFalse(existsSync(tree))
    assert.isTrue(existsSync(outside))
    await removeTree(tree)
    await removeTree(root)
  }))
