import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Changesets } from "@reins/core/changes/Changesets"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { Accounts } from "@reins/core/identity/Accounts"
import type { CareInput } from "@reins/core/projects/CarePolicy"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { eventOf } from "@reins/testing/changes/Fixture"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { forgesOn } from "@reins/testing/Volume"
import { Effect } from "effect"
import { temporaryDirectory } from "../execution/Agent.js"
import { flowsOn, newMember, opened, write } from "./Cared.js"
import { waitFor } from "./Told.js"

const every = { deliver: "every_turn" } as const
const fix = { ...every, checks: "fix", rerun_first: false } as const

const isUnderWay = new Set(["preparing", "turning", "delivering"])

/** An open merge request. Each line `path=text` of a message has the agent write a file. */
const followed = (kind: KnownForge, care: CareInput = every) =>
  Effect.gen(function* () {
    const given = yield* opened(kind, care)
    const { branch, head, model, origin } = given
    model.onPerson = (prompt) => [
      ...[...prompt.matchAll(/(\S+)=(\w+)/g)].map(([, path = "", text]) => write(path, `${text}\n`)),
      { say: "Written." }
    ]
    const first = head()
    /** The commits since the merge request was opened. */
    const commits = () => Number(origin.git("rev-list", "--count", `${first}..${branch}`))
    const show = (path: string) => origin.git("show", `${branch}:${path}`)
    const handedOver = waitFor(given.care, ({ state }) => state === "handed_over")
    /** The attentions, once so many are there and none is under way. */
    const settled = (count: number) =>
      waitFor(given.attentions, (all) => all.length === count && all.every(({ state }) => !isUnderWay.has(state)))
    /** Puts the care anew and waits for what follows. */
    const putAnew = (input: CareInput = care) => Effect.orDie(given.cares.start(given.principal, given.id, input))
    return { ...given, commits, first, handedOver, putAnew, settled, show }
  })

for (const database of forgeDatabases) {
  const { name } = database
  flowsOn(database)(`the delivery of every turn on ${name}`, (it) => {
    for (const kind of forgesOn(name))
      it.scoped(`each turn of a person that changes files becomes one commit of theirs on ${kind}`, () =>
        Effect.gen(function* () {
          const accounts = yield* Accounts
          const given = yield* followed(kind)
          const { commits, first, forge, head, origin, principal, say, settled, show } = given
          const { account } = yield* accounts.me(principal)
          yield* accounts.updateMe(principal, { git: { name: "Ann", email: account.email } })
          yield* say("a.txt=TWO")
          const [one] = yield* settled(1)
          assert.deepInclude(one, { state: "done", commit: head(), head_sha: first, proposes: false, reason: null })
          assert.deepStrictEqual(one?.causes, [{ kind: "turn", check_ids: [], comment_ids: [] }])
          assert.isNotNull(one?.turn_id)
          assert.isNotNull(one?.message_id)
          assert.deepStrictEqual([show("a.txt"), commits()], ["TWO", 1])
          assert.strictEqual(origin.git("log", "-1", "--format=%P %an", head()), `${first} Ann`)
          yield* say("a.txt=THREE b.txt=NEW")
          yield* settled(2)
          assert.deepStrictEqual([show("a.txt"), show("b.txt"), commits()], ["THREE", "NEW", 2])
          // A turn that changes nothing is no commit.
          yield* say("a.txt=THREE")
          yield* say("b.txt=NEWER")
          yield* settled(3)
          assert.strictEqual(commits(), 3)
          assert.deepInclude(yield* given.care, { state: "watching", turns: 0, deliver: "every_turn" })
          assert.lengthOf(forge.comments, 0)
          yield* accounts.updateMe(principal, { git: null })
        })
      )

    it.scoped("without the policy a turn of a person stays in the session", () =>
      Effect.gen(function* () {
        const { care, commits, forge, handedOver, head, ring, say } = yield* followed("github", {
          checks: "fix",
          rerun_first: false
        })
        assert.deepInclude(yield* care, { deliver: "own_turns" })
        yield* say("a.txt=TWO")
        forge.check({ head: head(), name: "test", state: "failed", log: "red" })
        yield* ring
        assert.deepInclude(yield* handedOver, { reason: "undelivered_changes" })
        assert.strictEqual(commits(), 0)
      })
    )

    it.scoped("a turn that fails delivers nothing, and the next good one delivers all", () =>
      Effect.gen(function* () {
        const { attentions, commits, model, say, settled, show } = yield* followed("gitlab")
        const { onPerson } = model
        model.onPerson = () => [write("half.txt", "HALF\n"), { error: 400, message: "No." }]
        assert.strictEqual((yield* say("Fail."))?.type, "turn.failed")
        assert.lengthOf(yield* attentions, 0)
        model.onPerson = onPerson
        yield* say("a.txt=WHOLE")
        yield* settled(1)
        assert.deepStrictEqual([show("half.txt"), show("a.txt"), commits()], ["HALF", "WHOLE", 1])
      })
    )

    variants(() => {
      it.scoped("turns that end while an earlier one is on its way are one commit each, in their order", () =>
        Effect.gen(function* () {
          const given = yield* followed("github")
          const { commits, model, origin, principal, session, settled, show } = given
          const messages = yield* Messages
          const gate = join(yield* temporaryDirectory, "gate")
          // The first push is held until the other turns have ended.
          origin.hook(`until test -e ${gate}; do sleep 0.02; done`)
          const { onPerson } = model
          model.onPerson = (prompt) => onPerson?.(prompt) ?? []
          yield* Effect.forEach(["ONCE", "TWICE", "THRICE"], (text) =>
            messages.send(principal, session.id, { content: `a.txt=${text} ${text}.txt=${text}` })
          )
          yield* waitFor(given.attentions, ({ length }) => length === 3)
          assert.strictEqual(commits(), 0)
          writeFileSync(gate, "")
          const all = yield* settled(3)
          assert.deepStrictEqual(
            all.map(({ state }) => state),
            ["done", "done", "done"]
          )
          assert.deepStrictEqual([commits(), show("a.txt")], [3, "THRICE"])
          const told = all.map(({ commit }) => origin.git("show", `${commit}:a.txt`))
          assert.deepStrictEqual(told, ["THRICE", "TWICE", "ONCE"])
        })
      )
    })

    it.scoped("protected files are proposed, and a person delivers them", () =>
      Effect.gen(function* () {
        const given = yield* followed("github")
        const { cares, commits, handedOver, principal, putAnew, say, settled, show } = given
        yield* say(".github/workflows/ci.yml=on")
        assert.deepInclude(yield* handedOver, { reason: "protected_path" })
        assert.strictEqual(commits(), 0)
        const [proposed] = yield* given.attentions
        assert.deepInclude(proposed, { state: "proposed", reason: "protected_path" })
        yield* cares.deliver(principal, proposed?.id ?? "")
        yield* settled(1)
        assert.deepStrictEqual([show(".github/workflows/ci.yml"), commits()], ["on", 1])
        yield* putAnew()
        yield* say("a.txt=TWO")
        yield* settled(2)
        assert.strictEqual(commits(), 2)
      })
    )

    it.scoped("commits that people push meanwhile stay below, and a branch that keeps moving is handed over", () =>
      Effect.gen(function* () {
        const { branch, commits, handedOver, head, origin, putAnew, say, settled, show } = yield* followed("gitlab")
        origin.commitOn(branch, "theirs.txt", "theirs\n")
        let count = 0
        origin.gate.asked = (_method, url) => {
          if (url.includes("service=git-receive-pack")) origin.commitOn(branch, `faster-${++count}.txt`, "faster\n")
        }
        yield* say("a.txt=TWO")
        assert.deepInclude(yield* handedOver, { reason: "head_keeps_moving" })
        assert.deepStrictEqual([show("a.txt"), count], ["ONE", 3])
        const theirs = head()
        origin.gate.asked = () => {}
        yield* putAnew()
        yield* waitFor(
          Effect.sync(() => head()),
          (now) => now !== theirs
        )
        yield* settled(2)
        assert.strictEqual(origin.git("rev-parse", `${head()}^`), theirs)
        assert.deepStrictEqual([show("a.txt"), show("theirs.txt"), commits()], ["TWO", "theirs", 5])
      })
    )

    for (const kind of forgesOn(name))
      it.scoped(`a push that ${kind} refuses with 401 is handed over, and delivered once after it is mended`, () =>
        Effect.gen(function* () {
          const { commits, handedOver, origin, putAnew, say, settled, show } = yield* followed(kind)
          origin.gate.closed = true
          yield* say("a.txt=TWO")
          assert.deepInclude(yield* handedOver, { reason: "auth_required" })
          origin.gate.closed = false
          // A later change waits meanwhile, and is in the same commit.
          yield* say("b.txt=NEW")
          assert.strictEqual(commits(), 0)
          yield* putAnew()
          yield* settled(2)
          assert.deepStrictEqual([show("a.txt"), show("b.txt"), commits()], ["TWO", "NEW", 1])
        })
      )

    variants(() => {
      it.scoped(
        "a red check after the commit of a person begins a turn of care; their turn after it is the next commit, without the protected files of others",
        () =>
          Effect.gen(function* () {
            const given = yield* followed("gitea", fix)
            const { branch, care, commits, forge, head, model, origin, principal, ring, say, session, settled, show } =
              given
            const messages = yield* Messages
            const gate = join(yield* temporaryDirectory, "gate")
            yield* say("a.txt=BROKEN")
            yield* settled(1)
            // The turn of care brings it into the files, and it is no change of the session.
            const theirs = origin.commitOn(branch, ".gitea/ci.yml", "on\n")
            model.onCare = () => [
              { tool: "bash", cmd: `until test -e ${gate}; do sleep 0.05; done` },
              write("a.txt", "MENDED\n"),
              { say: "Mended." }
            ]
            forge.check({ head: head(), name: "test", state: "failed", log: "red" })
            yield* ring
            yield* waitFor(given.attentions, ([one]) => one?.state === "turning")
            yield* messages.send(principal, session.id, { content: "b.txt=NEW" })
            writeFileSync(gate, "")
            const [newest, mended] = yield* settled(3)
            assert.deepInclude(newest, { state: "done", commit: head() })
            assert.deepInclude(mended, { state: "done", commit: origin.git("rev-parse", `${head()}^`) })
            assert.strictEqual(origin.git("rev-parse", `${mended?.commit}^`), theirs)
            assert.deepStrictEqual([show("a.txt"), show("b.txt"), commits()], ["MENDED", "NEW", 4])
            assert.deepInclude(yield* care, { state: "watching", turns: 1 })
          })
      )
    })

    it.scoped("an account that has lost its rights has nothing pushed", () =>
      Effect.gen(function* () {
        const { cares, commits, handedOver, id, say } = yield* followed("gitea")
        const { member, remove } = yield* newMember
        yield* cares.start(member, id, every)
        yield* remove
        yield* say("a.txt=TWO")
        assert.deepInclude(yield* handedOver, { reason: "owner_lost_access" })
        assert.strictEqual(commits(), 0)
      })
    )

    variants(() => {
      it.scoped("what is built on a proposal waits for a person too", () =>
        Effect.gen(function* () {
          const given = yield* followed("github", { ...fix, checks: "propose" })
          const { attentions, cares, commits, forge, head, model, principal, ring, say, settled, show } = given
          model.onCare = () => [write("a.txt", "PROPOSED\n"), { say: "Proposed." }]
          forge.check({ head: head(), name: "test", state: "failed", log: "red" })
          yield* ring
          yield* waitFor(attentions, ([one]) => one?.state === "proposed")
          yield* say("b.txt=NEW")
          const [both, before] = yield* settled(2)
          assert.deepInclude(both, { state: "proposed", reason: null, proposes: true })
          assert.deepInclude(before, { state: "superseded" })
          assert.strictEqual(commits(), 0)
          yield* cares.deliver(principal, both?.id ?? "")
          yield* waitFor(attentions, ([one]) => one?.state === "done")
          assert.deepStrictEqual([show("a.txt"), show("b.txt"), commits()], ["PROPOSED", "NEW", 1])
          yield* say("b.txt=NEWER")
          yield* settled(3)
          assert.deepStrictEqual([show("b.txt"), commits()], ["NEWER", 2])
        })
      )

      it.scoped("each open merge request of the session gets the commit on its branch", () =>
        Effect.gen(function* () {
          const given = yield* followed("github")
          const { cares, commits, connection, origin, principal, requests, say, session, settled, show } = given
          const deliveries = yield* Deliveries
          const [changeset] = (yield* (yield* Changesets).list(principal, session.id, {})).items
          const target = { target_ref: "second", connection_id: connection.id }
          const asked = yield* deliveries.request(principal, changeset?.id ?? "", target)
          yield* eventOf(session.id, asked.event_watermark, "delivery.succeeded")
          const before = origin.headOf("second")
          const answer = yield* requests.open(principal, asked.delivery.id, { draft: false, title: "Two", care: every })
          yield* eventOf(session.id, answer.event_watermark, "merge_request.opened")
          const second = cares.attentions(principal, answer.merge_request.id, {})
          yield* say("a.txt=TWO")
          yield* settled(1)
          yield* waitFor(second, ({ items }) => items[0]?.state === "done")
          assert.deepStrictEqual([show("a.txt"), commits()], ["TWO", 1])
          assert.strictEqual(origin.git("show", "second:a.txt"), "TWO")
          assert.strictEqual(origin.git("rev-parse", "second^"), before)
          assert.lengthOf((yield* second).items, 1)
        })
      )

      it.scoped(
        "a session that captures nothing by itself is captured, and a person's own delivery is not doubled",
        () =>
          Effect.gen(function* () {
            const { attentions, commits, connection, origin, principal, say, session, settled } =
              yield* followed("gitea")
            const changesets = yield* Changesets
            const deliveries = yield* Deliveries
            yield* (yield* Sessions).update(principal, session.id, { auto_capture: false })
            const gate = join(yield* temporaryDirectory, "gate")
            origin.hook(`until test -e ${gate}; do sleep 0.02; done`)
            yield* say("a.txt=TWO")
            const [made] = (yield* changesets.list(principal, session.id, {})).items
            const asked = yield* deliveries.request(principal, made?.id ?? "", {
              onto: "head",
              connection_id: connection.id
            })
            writeFileSync(gate, "")
            yield* eventOf(session.id, asked.event_watermark, "delivery.succeeded")
            const [one] = yield* settled(1)
            assert.deepInclude(one, { state: "done", delivery_id: asked.delivery.id })
            assert.strictEqual(commits(), 1)
            assert.lengthOf(yield* attentions, 1)
          })
      )
    })

    it.scoped("a conflict with the commits of a person is handed over, and nothing is pushed over them", () =>
      Effect.gen(function* () {
        const { branch, handedOver, head, origin, say } = yield* followed("github")
        const theirs = origin.commitOn(branch, "a.txt", "THEIRS\n")
        yield* say("a.txt=OURS")
        assert.deepInclude(yield* handedOver, { reason: "merge_conflict" })
        assert.strictEqual(head(), theirs)
      })
    )

    it.scoped("what was made while care was handed over is one commit once somebody has put it again", () =>
      Effect.gen(function* () {
        const given = yield* followed("gitlab", { ...fix, max_turns: 1 })
        const { commits, forge, handedOver, head, model, putAnew, say, settled, show } = given
        model.onCare = () => [{ say: "It is not mine." }]
        forge.check({ head: head(), name: "test", state: "failed", log: "red" })
        yield* given.ring
        assert.deepInclude(yield* handedOver, { reason: "no_change" })
        yield* say("a.txt=TWO")
        yield* say("b.txt=NEW")
        assert.strictEqual(commits(), 0)
        yield* putAnew(every)
        yield* settled(2)
        assert.deepStrictEqual([show("a.txt"), show("b.txt"), commits()], ["TWO", "NEW", 1])
        // Looks find nothing that waits.
        yield* given.look
        assert.lengthOf(yield* given.attentions, 2)
      })
    )

    it.scoped("a check that goes red after the commit of a person begins a turn of care", () =>
      Effect.gen(function* () {
        const { commits, forge, head, model, ring, say, settled, show, care } = yield* followed("github", fix)
        model.onCare = () => [write("a.txt", "MENDED\n"), { say: "Mended." }]
        yield* say("a.txt=BROKEN")
        yield* settled(1)
        forge.check({ head: head(), name: "test", state: "failed", log: "red" })
        yield* ring
        const [mended] = yield* settled(2)
        assert.deepInclude(mended, { state: "done", commit: head() })
        assert.deepStrictEqual([show("a.txt"), commits()], ["MENDED", 2])
        assert.deepInclude(yield* care, { state: "watching", turns: 1 })
      })
    )
  })
}
