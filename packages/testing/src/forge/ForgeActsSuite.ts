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
        const none = check && (yield* forge.log(check))
        assert.deepInclude(none, { text: "", truncated: false })
        // Gitea has none for a status of another system.
        if (kind !== "gitea") assert.match(none?.unshown ?? "", /has none, or the token may not read it.*404/)
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

    it.scopedLive("the log of any size is cut to its end, and one that is not shown has the reason", () =>
      Effect.gen(function* () {
        const { checks, forge, red, server } = yield* opened(subject)
        const [check] = yield* checks
        if (check === undefined) return assert.fail("no check")
        const line = "2026-01-01T00:00:00.0000000Z a line of the log that says nothing, \u00e4\n"
        for (const lines of [1, 900, 3_000, 260_000]) {
          red.log = `${line.repeat(lines)}AssertionError: the total ignores quantities\n`
          const log = yield* forge.log(check)
          assert.strictEqual(log?.truncated, lines > 900, String(lines))
          assert.isTrue(log?.text.endsWith("\nAssertionError: the total ignores quantities\n"))
          assert.match(log?.text ?? "", /^a line of the log that says nothing, \u00e4\n/)
        }
        for (const status of [403, 404, 410, 451]) {
          server.canned.push({ status, body: '{"message":"Gone, or not yours."}' })
          const log = yield* forge.log(check)
          assert.deepInclude(log, { text: "", truncated: false })
          assert.match(log?.unshown ?? "", new RegExp(`does not show the log.*${status}`))
        }
        for (const status of [429, 503]) {
          server.canned.push({ status })
          assert.include(["rate_limited", "unavailable"], (yield* Effect.flip(forge.log(check))).kind)
        }
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

    it.scopedLive("an answer stands in its thread, and is found there by its mark", () =>
      Effect.gen(function* () {
        const { forge, number, server } = yield* opened(subject)
        const place = { path: "src/a.ts", line: 3, side: "new" } as const
        server.comment({ author: "bob", body: "Why?", place })
        server.comment({ author: "bob", body: "Old?", place: { ...place, side: "old" } })
        server.comment({ author: "bob", body: "In the talk." })
        const threads = Effect.map(forge.view(number, {}), ({ threads }) =>
          threads.state === "read" ? threads.value : []
        )
        for (const { forgeId, path, side } of yield* threads) {
          const mark = `<!-- ${path} ${side} -->`
          assert.strictEqual(yield* forge.posted(number, mark, forgeId), undefined)
          const written = yield* forge.reply(number, `Because.\n\n${mark}`, forgeId)
          assert.strictEqual((yield* forge.posted(number, mark, forgeId))?.forgeId, written.forgeId)
          const holding = (yield* threads).filter(({ comments }) =>
            comments.some(({ body, forgeId: id }) => body.includes(mark) && id === written.forgeId)
          )
          assert.lengthOf(holding, 1)
          // GitHub and Gitea have no threads outside of lines.
          if (path !== null || kind === "gitlab") assert.strictEqual(holding[0]?.forgeId, forgeId)
        }
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a thread that is gone is not answered elsewhere", () =>
      Effect.gen(function* () {
        const { forge, number, server } = yield* opened(subject)
        const gone = { github: "99999", gitlab: "f".repeat(40), gitea: "line:99999" }[kind] ?? ""
        const refused = yield* Effect.flip(forge.reply(number, "Hello?", gone))
        assert.strictEqual(refused.kind, "not_found")
        assert.lengthOf(server.comments, 0)
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a comment that cannot be read is not taken for none", () =>
      Effect.gen(function* () {
        const { forge, number, server } = yield* opened(subject)
        const place = { path: "src/a.ts", line: 3, side: "new" } as const
        server.comment({ author: "bob", body: "Why?", place })
        const { threads } = yield* forge.view(number, {})
        const line = threads.state === "read" ? threads.value[0]?.forgeId : undefined
        for (const thread of [undefined, line]) {
          yield* forge.reply(number, "Done.\n\n<!-- mark-1 -->", thread)
          for (const [status, kind] of [
            [403, "forbidden"],
            [404, "not_found"],
            [410, "rejected"],
            [502, "unavailable"]
          ] as const) {
            server.canned.push({ status, body: "{}" })
            assert.strictEqual((yield* Effect.flip(forge.posted(number, "mark-1", thread))).kind, kind)
          }
        }
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a comment on a page after the first is found", () =>
      Effect.gen(function* () {
        const { forge, number, server } = yield* opened(subject)
        if (kind === "gitlab") return
        for (let each = 0; each < 100; each++) server.comment({ author: "bob", body: `${each}` })
        yield* forge.reply(number, "Done.\n\n<!-- mark-1 -->")
        assert.isDefined(yield* forge.posted(number, "mark-1"))
        assert.isUndefined(yield* forge.posted(number, "mark-2"))
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("the words of a comment command nothing", () =>
      Effect.gen(function* () {
        const { forge, number, server } = yield* opened(subject)
        yield* forge.reply(number, "/merge\n  /close\nsee /etc/hosts")
        const [{ body } = { body: "" }] = server.comments
        assert.strictEqual(body.replaceAll("\u2060", ""), "/merge\n  /close\nsee /etc/hosts")
        assert.strictEqual(body.includes("\u2060"), kind === "gitlab")
        assert.include(body, "see /etc/hosts")
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a merge request becomes a draft and ready, and one that is so already is left alone", () =>
      Effect.gen(function* () {
        const { forge, number, server } = yield* opened(subject)
        const isDraft = Effect.map(forge.get(number), ({ draft }) => draft)
        const pull = server.pulls[0] ?? (yield* Effect.dieMessage("no merge request"))
        const writes = () => server.seen.filter(({ method }) => method !== "GET").length
        const changing = (draft: boolean) =>
          Effect.gen(function* () {
            const before = writes()
            yield* forge.setDraft(number, draft)
            assert.strictEqual(yield* isDraft, draft)
            return writes() - before
          })
        yield* changing(false)
        const title = pull.title
        assert.strictEqual(yield* changing(false), 0)
        assert.strictEqual(yield* changing(true), 1)
        assert.strictEqual(yield* changing(true), 0)
        assert.strictEqual(yield* changing(false), 1)
        assert.strictEqual(pull.title, title)
        if (kind === "github") return
        // People write the words in their own ways, and more than once.
        for (const words of kind === "gitlab" ? ["draft: ", "[DRAFT]", "(Draft) Draft: "] : ["wip:", "[wip] WIP: "]) {
          Object.assign(pull, { title: `${words}${title}`, draft: true })
          assert.strictEqual(yield* changing(false), 1)
          assert.strictEqual(pull.title, title)
        }
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a forge that does not change the draft says why", () =>
      Effect.gen(function* () {
        const { forge, number, server } = yield* opened(subject)
        yield* forge.setDraft(number, true)
        const get = {
          github: { number, node_id: "PR_1", draft: true },
          gitlab: { iid: number, title: "Draft: it", draft: true },
          gitea: { number, title: "Entwurf: it", draft: true }
        }[kind]
        const kept =
          kind === "github"
            ? { data: { changed: null }, errors: [{ type: "UNPROCESSABLE", message: "Drafts are not supported." }] }
            : get
        server.canned.push({ status: 200, body: JSON.stringify(get) }, { status: 200, body: JSON.stringify(kept) })
        const refused = yield* Effect.flip(forge.setDraft(number, false))
        assert.strictEqual(refused.kind, "rejected")
        assert.include(refused.message, kind === "github" ? "Drafts are not supported." : "on its page")
        server.canned.push({ status: 200, body: JSON.stringify(get) }, { status: 403, body: "{}" })
        assert.strictEqual((yield* Effect.flip(forge.setDraft(number, false))).kind, "forbidden")
      }).pipe(Effect.provide(allowed))
    )
  })
}
