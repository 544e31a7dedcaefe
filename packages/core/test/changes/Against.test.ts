import { assert, describe, layer as suiteOver } from "@effect/vitest"
import { Changesets } from "@reins/core/changes/Changesets"
import { codeOf, installation, remote, workspace } from "@reins/testing/changes/Fixture"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

for (const { layer, name } of flowDatabases) {
  describe(`a changeset against another one, on ${name}`, () => {
    suiteOver(installation(layer), { excludeTestServices: true })((it) => {
      it.scoped("is what has changed since, as a diff and as a list of files", () =>
        Effect.gen(function* () {
          const { change, principal, session } = yield* workspace((yield* remote()).url)
          const changesets = yield* Changesets
          const first = yield* change({ "a.txt": "first\n" })
          const second = yield* change({ "a.txt": "second\n", "c.txt": "new\n" })
          const { diff, files, subject_digest } = yield* changesets.diff(principal, second.id, { against: first.id })
          assert.match(diff, /-first\n\+second\n/)
          assert.notInclude(diff, "-one")
          assert.strictEqual(subject_digest, second.subject_digest)
          const paths = files.map(({ path, status }) => [path, status])
          assert.deepStrictEqual(paths, [
            ["a.txt", "modified"],
            ["c.txt", "added"]
          ])
          const listed = yield* changesets.files(principal, second.id, { against: first.id })
          assert.deepStrictEqual(
            listed.items?.map(({ path, status }) => [path, status]),
            paths
          )
          const one = yield* changesets.diff(principal, second.id, { against: first.id, path: "c.txt", context: 0 })
          assert.deepStrictEqual(
            one.files.map(({ path }) => path),
            ["c.txt"]
          )
          const content = yield* changesets.files(principal, second.id, { against: first.id, path: "a.txt" })
          assert.strictEqual(content.content, "second\n")
          assert.strictEqual((yield* changesets.diff(principal, second.id, { against: second.id })).diff, "")
          const back = yield* changesets.diff(principal, first.id, { against: second.id })
          assert.match(back.diff, /-second\n\+first\n/)
          assert.strictEqual((yield* changesets.list(principal, session.id, {})).items.length, 2)
        })
      )

      it.scoped("is one of the same session", () =>
        Effect.gen(function* () {
          const { url } = yield* remote()
          const { change, principal } = yield* workspace(url)
          const other = yield* workspace(url)
          const changesets = yield* Changesets
          const own = yield* change({ "a.txt": "own\n" })
          const foreign = yield* other.change({ "a.txt": "foreign\n" })
          for (const against of [foreign.id, "cs_none"]) {
            assert.strictEqual(yield* codeOf(changesets.diff(principal, own.id, { against })), "not_found")
            assert.strictEqual(yield* codeOf(changesets.files(principal, own.id, { against })), "not_found")
          }
        })
      )
    })
  })
}
