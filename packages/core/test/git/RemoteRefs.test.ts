import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Git } from "@reins/core/git/Git"
import { parseRemoteRefs } from "@reins/core/git/RemoteRefs"
import { gitLayer, plainGit, put, temporary } from "@reins/testing/git/Fixture"
import { Effect } from "effect"

const id = "1".repeat(40)

describe("the refs of a remote", () => {
  it.effect("are its names with their commits, and the branch of HEAD", () =>
    Effect.gen(function* () {
      const refs = yield* parseRemoteRefs(`ref: refs/heads/dev\tHEAD\n${id}\tHEAD\n${id}\trefs/heads/dev\n`)
      assert.strictEqual(refs.defaultBranch, "dev")
      assert.deepStrictEqual([...refs.names.keys()], ["HEAD", "refs/heads/dev"])
      assert.strictEqual((yield* parseRemoteRefs("")).names.size, 0)
    })
  )

  it.effect("are an error where a line is not understood", () =>
    Effect.gen(function* () {
      for (const line of ["<html>", "warning: slow", `${id} refs/heads/x`, `${id.slice(1)}\trefs/heads/x`, `${id}\t`]) {
        const error = yield* Effect.flip(parseRemoteRefs(`${id}\trefs/heads/main\n${line}\n`))
        assert.match(error.message, /could not be read/, line)
      }
      assert.match((yield* Effect.flip(parseRemoteRefs(`${"a".repeat(64)}\tHEAD\n`))).message, /SHA-256/)
    })
  )

  it.scopedLive("a remote of the object format SHA-256 is refused, with or without commits", () =>
    Effect.gen(function* () {
      const git = yield* Git
      const root = yield* temporary
      for (const filled of [true, false]) {
        const url = join(root, `remote-${filled}`)
        plainGit(root, "init", "--quiet", "--object-format=sha256", "--initial-branch=main", url)
        if (filled) {
          put(url, "a.txt", "a\n")
          plainGit(url, "add", "a.txt")
          plainGit(url, "commit", "--quiet", "--message=first")
        }
        const target = { gitDir: join(root, `g-${filled}`), workTree: join(root, `w-${filled}`) }
        const error = yield* Effect.flip(git.clone({ url, ref: null, ...target }))
        assert.strictEqual(error.kind, "conflict")
        assert.match(error.message, /SHA-256/)
        const asked = yield* Effect.flip(git.resolve({ url, ref: null, directory: root }))
        assert.match(asked.message, /SHA-256/)
      }
    }).pipe(Effect.provide(gitLayer))
  )
})
