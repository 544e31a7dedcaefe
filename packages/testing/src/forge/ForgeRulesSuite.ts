import { assert, describe, it } from "@effect/vitest"
import { fitsCheck } from "@reins/core/forge/BranchRules"
import { Effect } from "effect"
import { allowed, type ForgeSubject, forgeOf, request } from "./ForgeSuite.js"

/** The promises of `Forge.rules`, `Forge.access` and `Forge.removeBranch`, for one kind of forge. */
export const forgeRulesSuite = (subject: ForgeSubject): void => {
  const { kind } = subject.forge
  describe(`rules of ${kind}`, () => {
    it.scopedLive("name the checks that the forge demands, and none where it names none", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        assert.deepStrictEqual(yield* forge.rules("main"), { requiredChecks: [] })
        server.required.push("build (a/b)", "test")
        const { requiredChecks } = yield* forge.rules("main")
        assert.deepStrictEqual(requiredChecks, kind === "gitlab" ? [] : ["build (a/b)", "test"])
        assert.isTrue((requiredChecks ?? []).every((name) => fitsCheck(name, name)))
        server.odd.forbidden = "branches/"
        const hidden = yield* forge.rules("main")
        assert.deepStrictEqual(hidden.requiredChecks, kind === "gitlab" ? [] : null)
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("tell who may write, and nobody of whom the forge says nothing", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        server.readers.add("eve")
        assert.strictEqual(yield* forge.access("bob"), "write")
        assert.strictEqual(yield* forge.access("eve"), "read")
        server.odd.forbidden = kind === "gitlab" ? "/members/" : "/collaborators/"
        assert.strictEqual(yield* forge.access("bob"), "none")
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a branch is removed where it stands at the commit, and left alone elsewhere", () =>
      Effect.gen(function* () {
        const { forge, heads } = yield* forgeOf(subject)
        const { headSha } = yield* forge.create(request)
        yield* forge.removeBranch("work", "0".repeat(40))
        assert.strictEqual(heads.get("work"), headSha)
        yield* forge.removeBranch("work", headSha)
        assert.isUndefined(heads.get("work"))
        yield* forge.removeBranch("work", headSha)
      }).pipe(Effect.provide(allowed))
    )
  })
}
