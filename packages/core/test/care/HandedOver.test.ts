import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import * as Embedded from "@reins/core/Embedded"
import { Interactions } from "@reins/core/sessions/Interactions"
import { flowDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { Effect } from "effect"
import { temporaryDirectory } from "../execution/Agent.js"
import { flowsOn, newMember, opened, write } from "./Cared.js"
import { waitFor } from "./Told.js"

const fix = { checks: "fix", rerun_first: false } as const

const namesIn = (directory: string): ReadonlyArray<string> => {
  try {
    return readdirSync(directory).filter((name) => name.endsWith(".eml"))
  } catch {
    return []
  }
}

/** The mails about a merge request, with their long lines whole. */
const mailsAbout = (id: string) =>
  Effect.map(CoreConfig, ({ dataDir }) => {
    const outbox = join(dataDir, "outbox")
    const mails = namesIn(outbox).map((name) => readFileSync(join(outbox, name), "utf8").replaceAll(/=\r?\n/g, ""))
    return mails.filter((mail) => mail.includes(id))
  })

type Given = Effect.Effect.Success<ReturnType<typeof opened>>

/** Changes a line on `main` that the merge request changes too. */
const conflict = ({ origin }: Given, text: string) => {
  origin.forge.odd.conflicts = "by_git"
  origin.commitOn("main", "a.txt", text)
}

/** Asks for a look each time. */
const rung = <A, E, R>({ ring }: Given, get: Effect.Effect<A, E, R>) => Effect.zipRight(Effect.orDie(ring), get)

for (const database of flowDatabases) {
  const { name } = database
  flowsOn(database)(`handed over on ${name}`, (it) => {
    it.scoped("a member who is removed while the turn works has nothing pushed, and the owners get a mail", () =>
      Effect.gen(function* () {
        const given = yield* opened("gitea")
        const { cares, forge, head, id, model } = given
        const { member, remove } = yield* newMember
        const begun = yield* cares.start(member, id, fix)
        assert.deepInclude(begun, { state: "watching", acts_for: member.accountId })
        const gate = join(yield* temporaryDirectory, "gate")
        model.onCare = () => [
          { tool: "bash", cmd: `until test -e ${gate}; do sleep 0.05; done` },
          write("a.txt", "MENDED\n"),
          { say: "Mended." }
        ]
        const before = head()
        forge.check({ head: before, name: "test", state: "failed", log: "red" })
        yield* given.ring
        yield* waitFor(given.attentions, ([attention]) => attention?.state === "turning")
        yield* remove
        writeFileSync(gate, "")
        const care = yield* waitFor(given.care, ({ state }) => state === "handed_over")
        assert.deepInclude(care, { reason: "owner_lost_access", turns: 1 })
        assert.strictEqual(head(), before)
        const [mail] = yield* waitFor(mailsAbout(id), (mails) => mails.length > 0)
        assert.match(mail ?? "", /^To: .*owner@embedded\.localhost/m)
        assert.include(mail, "A merge request needs you")
      })
    )

    it.scoped("a budget that the turns have used up asks a person, with a mail and one comment", () =>
      Effect.gen(function* () {
        const given = yield* opened("gitlab", { ...fix, budget: { max_tokens: 2_000 } })
        const { forge, head, id, model } = given
        model.onCare = () => [write("a.txt", "MENDED\n"), { say: "Mended." }]
        const red = (check: string) => {
          forge.check({ head: head(), name: check, state: "failed", log: "red" })
          return given.ring
        }
        yield* red("test")
        yield* waitFor(given.attentions, ([attention]) => attention?.state === "done")
        yield* red("lint")
        const care = yield* waitFor(given.care, ({ state }) => state === "handed_over")
        assert.deepInclude(care, { reason: "budget_exhausted", turns: 1 })
        assert.lengthOf(yield* given.attentions, 1)
        const [mail, ...others] = yield* waitFor(mailsAbout(id), (mails) => mails.length > 0)
        assert.lengthOf(others, 0)
        assert.include(mail, "Fix the sum")
        const told = Effect.sync(() => forge.comments.filter(({ body }) => body.includes("leaves this to a person")))
        assert.lengthOf(yield* waitFor(told, ({ length }) => length > 0), 1)
      })
    )

    it.scoped("a turn that uses its budget up hands over at once with that reason, and asks nobody to raise it", () =>
      Effect.gen(function* () {
        const given = yield* opened("gitlab", { ...fix, budget: { max_tokens: 1_000 } })
        const { forge, head, model, principal, session } = given
        model.onCare = () => [write("a.txt", "MENDED\n"), { say: "Mended." }]
        forge.check({ head: head(), name: "test", state: "failed", log: "red" })
        yield* given.ring
        const care = yield* waitFor(given.care, ({ state }) => state === "handed_over")
        assert.deepInclude(care, { reason: "budget_exhausted", turns: 1 })
        assert.isEmpty((yield* (yield* Interactions).list(principal, session.id, {})).items)
      })
    )

    it.scoped("a conflict begins no turn for a member who has been removed", () =>
      Effect.gen(function* () {
        const given = yield* opened("gitlab")
        const { cares, head, id } = given
        const { member, remove } = yield* newMember
        yield* cares.start(member, id, { conflicts: "fix" })
        yield* remove
        const before = head()
        conflict(given, "uno\n")
        const care = yield* waitFor(rung(given, given.care), ({ state }) => state === "handed_over")
        assert.deepInclude(care, { reason: "owner_lost_access" })
        assert.strictEqual(head(), before)
        assert.isTrue((yield* given.attentions).every(({ turn_id }) => turn_id === null))
        assert.lengthOf(yield* given.told("merge_request.care_handed_over"), 1)
      })
    )

    variants(() => {
      it.scoped("a conflict after the budget is used up asks a person, with a mail, an event and one comment", () =>
        Effect.gen(function* () {
          const given = yield* opened("github", { conflicts: "fix", budget: { max_tokens: 2_000 } })
          const { forge, head, id, model } = given
          model.onCare = () => [write("a.txt", "ONE uno\n"), { say: "It has both." }]
          conflict(given, "uno\n")
          yield* waitFor(rung(given, given.attentions), ([attention]) => attention?.state === "done")
          const resolved = head()
          conflict(given, "due\n")
          const care = yield* waitFor(rung(given, given.care), ({ state }) => state === "handed_over")
          assert.deepInclude(care, { reason: "budget_exhausted", turns: 1 })
          assert.strictEqual(head(), resolved)
          assert.lengthOf(yield* given.told("merge_request.care_handed_over"), 1)
          const { workspaceId } = yield* Embedded.owner
          const { items } = yield* given.looks.list(given.principal, workspaceId, { care: "handed_over" })
          assert.include(
            items.map((request) => request.id),
            id
          )
          const [mail, ...others] = yield* waitFor(mailsAbout(id), (mails) => mails.length > 0)
          assert.lengthOf(others, 0)
          assert.include(mail, "Fix the sum")
          const told = Effect.sync(() => forge.comments.filter(({ body }) => body.includes("leaves this to a person")))
          assert.lengthOf(yield* waitFor(told, ({ length }) => length > 0), 1)
        })
      )

      it.scoped("a conflict that a turn resolves is not pushed for a member who is removed meanwhile", () =>
        Effect.gen(function* () {
          const given = yield* opened("gitea")
          const { cares, head, id, model } = given
          const { member, remove } = yield* newMember
          yield* cares.start(member, id, { conflicts: "fix" })
          const gate = join(yield* temporaryDirectory, "gate")
          model.onCare = () => [
            { tool: "bash", cmd: `until test -e ${gate}; do sleep 0.05; done` },
            write("a.txt", "ONE uno\n"),
            { say: "It has both." }
          ]
          const before = head()
          conflict(given, "uno\n")
          yield* waitFor(rung(given, given.attentions), ([attention]) => attention?.state === "turning")
          yield* remove
          writeFileSync(gate, "")
          const care = yield* waitFor(rung(given, given.care), ({ state }) => state === "handed_over")
          assert.deepInclude(care, { reason: "owner_lost_access", turns: 1 })
          assert.strictEqual(head(), before)
        })
      )
    })
  })
}
