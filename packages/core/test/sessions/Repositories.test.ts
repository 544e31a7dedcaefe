import { assert, describe, layer as suiteOver } from "@effect/vitest"
import { Repositories } from "@reins/core/worktrees/Repositories"
import { remote } from "@reins/testing/changes/Fixture"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { stranger } from "../identity/Principals.js"

describe("a repository before a session starts from it", () => {
  suiteOver(services((databases[0] ?? assert.fail("no database")).layer, { allowPrivateHosts: ["127.0.0.1"] }), {
    excludeTestServices: true
  })((it) => {
    it.scoped("is asked as a clone would ask it, and what it says is an answer", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const repositories = yield* Repositories
        const { git, url } = yield* remote("gitea")
        const check = (given: string, ref?: string) =>
          repositories.check(principal, workspaceId, { url: given, ...(ref !== undefined && { ref }) })
        const found = yield* check(url)
        assert.deepStrictEqual(found, {
          url,
          state: "found",
          ref: "main",
          commit: git("rev-parse", "main").trim(),
          message: null,
          connection_id: null,
          host: null,
          forge: null,
          ways: []
        })
        assert.deepInclude(yield* check(url, "main"), { state: "found", ref: "main" })
        assert.deepInclude(yield* check(url, "nope"), { state: "ref_not_found", ref: null, commit: null })
        const gone = yield* check(url.replace(/[^/]+$/, "nope.git"))
        assert.include(["not_found", "auth_required"], gone.state)
        assert.isString(gone.message)
        assert.strictEqual((yield* check("http://127.0.0.1:9/a/b.git")).state, "unavailable")
        for (const refused of ["https://10.0.0.1/a/b.git", "file:///etc", "ssh://git@host/a/b.git"])
          assert.strictEqual((yield* check(refused)).state, "refused", refused)
      })
    )

    it.effect("is asked for members alone", () =>
      Effect.gen(function* () {
        const { workspaceId } = yield* ownerWithConnection
        const repositories = yield* Repositories
        const foreign = yield* Effect.flip(
          repositories.check(yield* stranger, workspaceId, { url: "https://example.com/a/b.git" })
        )
        assert.strictEqual(foreign.code, "not_found")
      })
    )
  })
})
