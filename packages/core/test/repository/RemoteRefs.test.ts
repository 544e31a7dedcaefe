import { appendFileSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Git } from "@reins/machine/git/Git"
import { choose } from "@reins/machine/repository/remote/RemoteFetch"
import { parseRemoteRefs } from "@reins/machine/repository/remote/RemoteRefs"
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

  it.effect("have names of bytes, and those that are no text are said by nobody", () =>
    Effect.gen(function* () {
      const [one, two] = ["2".repeat(40), "3".repeat(40)]
      const odd = `ref: refs/heads/caf\xe9\tHEAD\n${one}\tHEAD\n${one}\trefs/heads/caf\xe9\n${two}\trefs/heads/caf\xe8\n`
      const refs = yield* parseRemoteRefs(`${odd}${id}\trefs/heads/main\n`)
      assert.deepStrictEqual([...refs.names.keys()], ["HEAD", "refs/heads/main"])
      assert.lengthOf([...refs.refs.keys()], 4)
      assert.deepStrictEqual(choose(refs, null), { ref: one, branch: null, local: one })
      assert.strictEqual(choose(refs, "main")?.branch, "main")
      for (const said of ["caf\ufffd", "caf\xe9"]) assert.isNull(choose(refs, said))
    })
  )

  it.effect("give the branch that an old remote does not name, and no branch to a commit of none", () =>
    Effect.gen(function* () {
      const other = "2".repeat(40)
      const chosen = (lines: string) => Effect.map(parseRemoteRefs(lines), (refs) => choose(refs, null)?.ref)
      assert.strictEqual(yield* chosen(`${id}\tHEAD\n${other}\trefs/heads/main\n${id}\trefs/heads/master\n`), "master")
      assert.strictEqual(yield* chosen(`${id}\tHEAD\n${other}\trefs/heads/main\n`), id)
      assert.strictEqual(yield* chosen(`${id}\tHEAD\n${id}\trefs/heads/main\n`), "main")
      assert.strictEqual(yield* chosen(`${id}\trefs/heads/main\n`), "main")
      assert.isUndefined(yield* chosen(`${id}\trefs/heads/dev\n`))
    })
  )

  it.scopedLive("a remote whose default branch has a name that is no text is cloned whole", () =>
    Effect.gen(function* () {
      const git = yield* Git
      const root = yield* temporary
      const url = join(root, "remote")
      plainGit(root, "init", "--quiet", "--initial-branch=main", url)
      put(url, "a.txt", "a\n")
      plainGit(url, "add", "a.txt")
      plainGit(url, "commit", "--quiet", "--message=first")
      const first = plainGit(url, "rev-parse", "HEAD").trim()
      put(url, "a.txt", "b\n")
      plainGit(url, "commit", "--quiet", "--all", "--message=second")
      const second = plainGit(url, "rev-parse", "HEAD").trim()
      plainGit(url, "reset", "--quiet", "--hard", first)
      // Programs get their words as UTF-8, so the name is written into the file.
      appendFileSync(join(url, ".git/packed-refs"), Buffer.from(`${second} refs/heads/caf\xe9\n`, "latin1"))
      writeFileSync(join(url, ".git/HEAD"), Buffer.from("ref: refs/heads/caf\xe9\n", "latin1"))
      const target = { gitDir: join(root, "git"), workTree: join(root, "work") }
      const cloned = yield* git.clone({ url, ref: null, ...target })
      assert.deepStrictEqual([cloned.commit, readFileSync(join(target.workTree, "a.txt"), "utf8")], [second, "b\n"])
      assert.match(readFileSync(join(target.gitDir, "packed-refs"), "latin1"), /refs\/remotes\/origin\/caf\xe9$/m)
    }).pipe(Effect.provide(gitLayer))
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
