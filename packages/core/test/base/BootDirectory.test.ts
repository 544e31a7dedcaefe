import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { newBootId } from "@reins/base/base/Boot"
import { bootDirectoryRemoval, makeBootDirectory, removeBootDirectories } from "@reins/base/base/BootDirectory"
import { Effect } from "effect"

/** A temporary directory that is the one of this process until the scope closes. */
const temporary = Effect.acquireRelease(
  Effect.sync(() => {
    const before = process.env["TMPDIR"]
    const path = mkdtempSync(join(tmpdir(), "reins-test-"))
    process.env["TMPDIR"] = path
    return { before, path }
  }),
  ({ before, path }) =>
    Effect.sync(() => {
      if (before === undefined) delete process.env["TMPDIR"]
      else process.env["TMPDIR"] = before
      rmSync(path, { recursive: true })
    })
)

/** The directories of two boots, each with a file, and what has a similar name. */
const filled = Effect.gen(function* () {
  const { path } = yield* temporary
  const [ended, living] = [newBootId(), newBootId()]
  const make = (kind: "ssh" | "way", bootId: string) =>
    Effect.promise(async () => {
      const made = await makeBootDirectory(kind, bootId)
      writeFileSync(join(made, "key"), "canary")
      assert.strictEqual(statSync(made).mode & 0o777, 0o700)
    })
  for (const kind of ["ssh", "way"] as const) {
    yield* make(kind, ended)
    yield* make(kind, living)
  }
  const short = ended.slice(-12)
  const others = [
    `other-ssh-${short}-abcdef`,
    `reins-${short}-abcdef`,
    `reins-ssh-${short}`,
    `reins-ssh-${short}-abcde`,
    `reins-ssh-${short}-abcdefg`,
    `reins-ssh-${short}0-abcdef`,
    `reins-caf\xe9-${short}-abcdef`,
    `reins-sshx-${short}-abcdef`,
    `reins-ssh-way-${short}-abcdef`,
    `reins-ssh-${short}-abc.ef`,
    `reins-ssh-${short}-abcde\xe9`
  ].sort()
  for (const name of others) mkdirSync(Buffer.from(join(path, name), "latin1"))
  return { path, ended, living, others, short }
})

describe("the directories of a boot", () => {
  const sweeps = {
    "the next start": removeBootDirectories,
    "the command for a process beside": ([bootId = ""]: ReadonlyArray<string>) =>
      Effect.sync(() => {
        const [command = "", ...args] = bootDirectoryRemoval(bootId).words
        execFileSync(command, args, { env: {} })
      })
  }
  for (const [name, sweep] of Object.entries(sweeps))
    it.scopedLive(`${name} removes those of an ended boot, and nothing else`, () =>
      Effect.gen(function* () {
        const { ended, living, others, path, short } = yield* filled
        yield* sweep([ended])
        const left = readdirSync(path, { encoding: "latin1" })
        assert.lengthOf(
          left.filter((each) => each.includes(living.slice(-12))),
          2
        )
        assert.deepStrictEqual(left.filter((each) => each.includes(short)).sort(), others)
        yield* sweep([ended])
      })
    )
})
