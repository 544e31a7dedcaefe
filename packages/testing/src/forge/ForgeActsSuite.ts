import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { allowed, type ForgeSubject, forgeOf, request } from "./ForgeSuite.js"

const opened = (subject: ForgeSubject) =>
  Effect.gen(function* () {
    const given = yield* forgeOf(subject)
    const { headSha, number } = yield* given.forge.create(request)
    const red = given.server.check({ head: headSha, name: "test", state: "failed", log: "" })
    const checks = Effect.map(given.forge.view(number, {}), ({ checks }) =>
      checks.state === "read" ? checks.value : []
    )
    return { ...given, checks, headSha, number, red }
  })

/** The promises of `ForgeActs`, for one kind of forge. */
export const forgeActsSuite = (subject: ForgeSubject): void => {
  const { kind } = subject.forge
  describe(`acts on ${kind}`, () => {
    it.scopedLive("the log of a run is its end as plain text, and its token stays at the forge", () =>
      Effect.gen(function* () {
        const { checks, forge, red, server } = yield* opened(subject)
        const [check] = yield* checks
        assert.strictEqual(check && (yield* forge.log(check)), undefined)
        red.log = `${`${"x".repeat(99)}\n`.repeat(1000)}2026-01-01T00:00:00.1234567Z \u001b[31mred\u001b[0m\n50 %\r100 %\nlast`
        const log = check && (yield* forge.log(check))
        assert.isTrue(log?.truncated)
        assert.isAtMost(log?.text.length ?? 0, 65_536)
        assert.isTrue(log?.text.endsWith("\nred\n100 %\nlast"))
        for (const { headers } of server.seen.filter(({ path }) => path.startsWith("/log-store/")))
          for (const name of ["authorization", "private-token", "cookie"]) assert.strictEqual(headers[name], undefined)
        if (kind === "github") assert.isTrue(server.seen.some(({ path }) => path.startsWith("/log-store/")))
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a run begins anew where the forge can", () =>
      Effect.gen(function* () {
        const { checks, forge } = yield* opened(subject)
        const [check] = yield* checks
        assert.strictEqual(check && (yield* forge.rerun(check)), kind !== "gitea")
        assert.deepStrictEqual(
          (yield* checks).map(({ state }) => state),
          [kind === "gitea" ? "failing" : "pending"]
        )
        assert.isFalse(yield* forge.rerun({ key: "status:other", run: "999999", url: null }))
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a comment is found by its mark, and no other is", () =>
      Effect.gen(function* () {
        const { forge, number, server } = yield* opened(subject)
        server.comment({ author: "bob", body: "Hello." })
        assert.strictEqual(yield* forge.posted(number, "mark-1"), undefined)
        const written = yield* forge.reply(number, "Done.\n\n<!-- mark-1 -->")
        assert.strictEqual((yield* forge.posted(number, "mark-1"))?.forgeId, written.forgeId)
        const { threads } = yield* forge.view(number, {})
        const ids = threads.state === "read" ? threads.value.flatMap(({ comments }) => comments) : []
        assert.include(
          ids.map(({ forgeId }) => forgeId),
          written.forgeId
        )
      }).pipe(Effect.provide(allowed))
    )
  })
}
