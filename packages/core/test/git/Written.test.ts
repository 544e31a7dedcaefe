import { lstatSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { cloned, gitLayer, put } from "@reins/testing/git/Fixture"
import { Effect } from "effect"

it.scopedLive("the time of a file, which is up to a tick of the kernel early, counts for no writer before it", () =>
  Effect.gen(function* () {
    const { base, git, gitDir, workTree } = yield* cloned({ "a.txt": "one\n", "b.txt": "one\n" })
    const { tree: from } = yield* git.snapshot({ gitDir, workTree, base })
    put(workTree, "a.txt", "two\n")
    const { tree: to } = yield* git.snapshot({ gitDir, workTree, base })
    const { ctimeMs } = lstatSync(join(workTree, "a.txt"))
    const writtenBefore = (before: number) => git.writtenBefore({ gitDir, workTree, from, to, before })
    assert.deepStrictEqual(yield* writtenBefore(ctimeMs + 9), [])
    assert.deepStrictEqual(yield* writtenBefore(ctimeMs + 11), ["a.txt"])
  }).pipe(Effect.provide(gitLayer))
)
