import { assert, it, layer } from "@effect/vitest"
import { Cares } from "@reins/core/care/Cares"
import { Connections } from "@reins/core/connections/Connections"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { RequestActs } from "@reins/core/requests/RequestActs"
import { ReplyInput } from "@reins/core/requests/RequestInputs"
import { canSetReadiness } from "@reins/core/requests/rows/MergeRequestRules"
import { codeOf, eventOf, installation, operationEnd, token } from "@reins/testing/changes/Fixture"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { forgesOn } from "@reins/testing/Volume"
import { Effect, Schema } from "effect"
import { until, watched } from "./Watched.js"

/** An open merge request, and the acts on it. */
const acted = (kind: KnownForge) =>
  Effect.gen(function* () {
    const given = yield* watched(kind)
    const acts = yield* RequestActs
    const { forge } = given.origin
    const pull = forge.pulls[0] ?? (yield* Effect.dieMessage("no merge request"))
    const writes = () => forge.seen.filter(({ method }) => method !== "GET").length
    /** Has an act done, and gives how its job has ended. */
    const end = <E, R>(act: Effect.Effect<{ readonly operation: { readonly id: string } }, E, R>) =>
      Effect.flatMap(act, ({ operation }) => operationEnd(operation.id))
    const setReadiness = (draft: boolean) => acts.setReadiness(given.principal, given.id, { draft })
    const reply = (text: string, thread_id?: string) =>
      acts.reply(given.principal, given.id, {
        text,
        // Boundary: some of these are no ids of threads.
        ...(thread_id !== undefined && { thread_id: thread_id as never })
      })
    const threads = Effect.map(given.looks.threads(given.principal, given.id, {}), ({ items }) => items)
    return { ...given, acts, end, forge, pull, reply, setReadiness, threads, writes }
  })

it("a comment has a word, at most 4,000 characters and no NUL", () => {
  const isTaken = (text: string) => Schema.is(ReplyInput)({ text })
  for (const text of ["a", " a\n", "x".repeat(4_000), "\u00e9", "<!-- reins:a -->"]) assert.isTrue(isTaken(text), text)
  for (const text of ["", " ", "\n\t \u00a0", "\0", "a\0b", "x".repeat(4_001)]) assert.isFalse(isTaken(text), text)
})

for (const { layer: database, name } of forgeDatabases) {
  layer(installation(database), { excludeTestServices: true })(`acts on merge requests on ${name}`, (it) => {
    for (const kind of forgesOn(name)) {
      it.scoped(`${kind}: it becomes a draft and ready, and shows what was seen until then`, () =>
        Effect.gen(function* () {
          const { end, get, look, pull, session, setReadiness, writes } = yield* acted(kind)
          assert.include((yield* get).actions, "set_readiness")
          for (const draft of [true, false]) {
            const { event_watermark: after, merge_request, operation } = yield* setReadiness(draft)
            assert.deepInclude(merge_request, { draft: !draft, draft_wanted: draft })
            assert.strictEqual((yield* operationEnd(operation.id)).state, "succeeded")
            assert.strictEqual(pull.draft, draft)
            assert.deepInclude(yield* get, { draft, draft_wanted: null, reason: null })
            yield* eventOf(session.id, after - 1, "merge_request.readiness_requested")
            yield* eventOf(session.id, after, "merge_request.readiness_changed")
            const kinds = (yield* look).standing?.waiting_for.map(({ kind }) => kind) ?? []
            assert.strictEqual(kinds.includes("draft"), draft)
          }
          const before = writes()
          assert.strictEqual((yield* end(setReadiness(false))).state, "succeeded")
          assert.strictEqual(writes(), before)
          assert.deepInclude(yield* get, { draft: false, draft_wanted: null })
        })
      )

      it.scoped(`${kind}: the words of a person stand in the talk and in a thread, once`, () =>
        Effect.gen(function* () {
          const { end, forge, head, id, look, principal, reply, session, threads } = yield* acted(kind)
          const place = { path: "a.txt", line: 1, side: "new" } as const
          forge.comment({ author: "cleo", body: "Why?", place })
          yield* look
          const [line] = yield* threads
          const words = `@cleo **because**, see ${head}.`
          assert.strictEqual((yield* end(reply(words, line?.id))).state, "succeeded")
          assert.strictEqual((yield* end(reply(`The token is ${token}.`))).state, "succeeded")
          yield* eventOf(session.id, 0, "merge_request.replied")
          const bodies = forge.comments.map(({ body }) => body.replace(/\n\n<!-- reins:[0-9a-f]{32} -->$/, ""))
          assert.lengthOf(bodies, 3)
          assert.include(bodies, words)
          assert.isFalse(bodies.join().includes(token))
          yield* look
          const said = yield* threads
          const answered = said.find(({ path }) => path === "a.txt")
          assert.deepStrictEqual(
            answered?.comments.map(({ author: { kind } }) => kind),
            ["person", "self"]
          )
          assert.strictEqual(answered?.id, line?.id)
          assert.lengthOf(said, 2)
          assert.strictEqual(said.find(({ path }) => path === null)?.comments[0]?.author.kind, "self")
          // Nobody else has said anything.
          const cares = yield* Cares
          yield* cares.start(principal, id, { reviews: "fix" })
          assert.lengthOf((yield* cares.attentions(principal, id, {})).items, 0)
        })
      )

      it.scoped(`${kind}: on one from a fork both work, because they are about the request alone`, () =>
        Effect.gen(function* () {
          const { end, forge, look, pull, reply, setReadiness } = yield* acted(kind)
          Object.assign(pull, { fork: true })
          yield* look
          assert.strictEqual((yield* end(setReadiness(true))).state, "succeeded")
          assert.strictEqual((yield* end(reply("Thank you."))).state, "succeeded")
          assert.isTrue(pull.draft)
          assert.lengthOf(forge.comments, 1)
        })
      )
    }

    it.scoped("a comment that was written here begins no care, and one on the forge by the same account does", () =>
      Effect.gen(function* () {
        const { end, forge, id, look, principal, reply } = yield* acted("gitea")
        const cares = yield* Cares
        yield* cares.start(principal, id, { reviews: "fix" })
        const attentions = Effect.map(cares.attentions(principal, id, {}), ({ items }) => items)
        yield* end(reply("Please rename it."))
        yield* look
        assert.lengthOf(yield* attentions, 0)
        // Somebody copies the mark.
        forge.comment({ author: "ann", body: forge.comments[0]?.body ?? "" })
        yield* look
        assert.lengthOf(yield* attentions, 1)
      })
    )

    it.scoped("the last of many wishes counts", () =>
      Effect.gen(function* () {
        const { delivery, get, looks, id, principal, pull, setReadiness } = yield* acted("github")
        const deliveries = yield* Deliveries
        for (const wishes of [[true, false], [true], [false, true, false], [true, true], [false], [true]]) {
          // Others read the forge meanwhile.
          yield* looks.look(principal, id)
          const refresh = yield* deliveries.refresh(principal, delivery.id)
          yield* Effect.forEach(wishes, setReadiness)
          yield* until(get, ({ draft_wanted }) => draft_wanted === null)
          const last = wishes.at(-1)
          assert.strictEqual(pull.draft, last)
          assert.strictEqual((yield* get).draft, last)
          assert.strictEqual((yield* operationEnd(refresh.operation.id)).state, "succeeded")
          assert.strictEqual((yield* get).draft, last)
        }
      })
    )

    it.scoped("a forge that refuses leaves it as it is, and says why", () =>
      Effect.gen(function* () {
        const { end, forge, get, pull, reply, session, setReadiness } = yield* acted("gitlab")
        forge.odd.forbidden = "/notes"
        const unwritten = yield* end(reply("Hello?"))
        assert.deepInclude(unwritten, { state: "failed" })
        assert.strictEqual(unwritten.jobs[0]?.error?.code, "auth_required")
        yield* eventOf(session.id, 0, "merge_request.reply_failed")
        assert.strictEqual((yield* get).reason, null)
        assert.lengthOf(forge.comments, 0)
        forge.odd.forbidden = "/merge_requests/"
        const unset = yield* end(setReadiness(true))
        assert.strictEqual(unset.jobs[0]?.error?.code, "auth_required")
        assert.deepInclude(yield* get, { draft: false, draft_wanted: null, reason: "auth_required" })
        yield* eventOf(session.id, 0, "merge_request.readiness_failed")
        forge.odd.forbidden = undefined
        assert.strictEqual((yield* end(setReadiness(true))).state, "succeeded")
        assert.deepInclude(yield* get, { draft: true, reason: null, reason_message: null })
        assert.isTrue(pull.draft)
      })
    )

    variants(() => {
      it.scoped("somebody else who makes it a draft on the forge is told of", () =>
        Effect.gen(function* () {
          const { get, look, pull, session } = yield* acted("gitea")
          pull.draft = true
          yield* look
          assert.isTrue((yield* get).draft)
          yield* eventOf(session.id, 0, "merge_request.readiness_changed")
        })
      )
    })

    it.scoped("what cannot be done is refused", () =>
      Effect.gen(function* () {
        const given = yield* acted("github")
        const { acts, connection, end, forge, look, principal, pull, reply, setReadiness, threads } = given
        const other = yield* acted("github")
        other.forge.comment({ author: "cleo", body: "Why?" })
        yield* other.look
        const [theirs] = yield* other.threads
        assert.lengthOf(yield* threads, 0)
        for (const thread of [theirs?.id, "thr_00000000000000000000000000", "nope", ""])
          assert.strictEqual(yield* codeOf(reply("Hello?", thread)), "not_found")
        const nobody = "mr_00000000000000000000000000"
        assert.strictEqual(yield* codeOf(acts.setReadiness(principal, nobody, { draft: true })), "not_found")
        assert.strictEqual(yield* codeOf(acts.reply(principal, nobody, { text: "Hello?" })), "not_found")
        assert.isFalse(canSetReadiness({ find: () => undefined }, { forge: "other" }))

        const connections = yield* Connections
        yield* connections.update(principal, connection.id, { state: "disabled" })
        assert.strictEqual(yield* codeOf(setReadiness(true)), "connection_required")
        assert.strictEqual(yield* codeOf(reply("Hello?")), "connection_required")
        yield* connections.update(principal, connection.id, { state: "active" })

        // It was closed, and nobody has looked since.
        pull.state = "closed"
        const unset = yield* end(setReadiness(true))
        assert.deepInclude(unset, { state: "failed" })
        assert.deepInclude(yield* look.pipe(Effect.orElse(() => given.get)), { state: "closed", draft_wanted: null })
        assert.strictEqual(yield* codeOf(setReadiness(true)), "invalid_transition")
        assert.strictEqual(yield* codeOf(reply("Hello?")), "invalid_transition")
        assert.lengthOf(forge.comments, 0)
        assert.isFalse(pull.draft)
      })
    )
  })
}
