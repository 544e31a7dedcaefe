import { assert } from "@effect/vitest"
import type { Event } from "@reins/base/domain/Event"
import * as Embedded from "@reins/core/Embedded"
import type { Bell } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import type { Journal } from "@reins/core/store/Journal"
import { eventsUntil } from "@reins/testing/changes/Fixture"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { within } from "@reins/testing/MachineTime"
import { flowDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { hookStorms } from "@reins/testing/Volume"
import { Effect, Schedule } from "effect"
import { called, stopTime } from "../requests/Rings.js"
import { flowsOn, opened, write } from "./Cared.js"

const times = 25

/** No look comes by its time alone. */
const onlyRings: Effect.Effect<void, never, Bell | Database | Journal> = stopTime

/** Repeats what is read until it is so. */
const until = <A, E, R>(get: Effect.Effect<A, E, R>, isSo: (value: A) => boolean) => {
  const looked = Effect.zipRight(onlyRings, get)
  return Effect.repeat(looked, { schedule: Schedule.spaced("100 millis"), until: isSo }).pipe(
    within(120),
    Effect.zipRight(get)
  )
}

/** Each storm finds another check red. */
const storming = (kind: KnownForge, storms: number) =>
  Effect.gen(function* () {
    const { principal, workspaceId } = yield* Embedded.owner
    const given = yield* opened(kind, { checks: "fix", rerun_first: false, max_turns: 20 })
    const { attentions, branch, forge, head, model, origin, session } = given
    const outcomes = yield* called(kind, forge, principal, workspaceId)
    forge.odd.hooks = "25 times"
    let turns = 0
    model.onCare = () => [write("a.txt", `turn ${++turns}\n`), { say: "Mended." }]
    yield* until(given.get, ({ standing }) => standing !== null)
    const before = head()
    const ours = Effect.sync(() => forge.comments.filter(({ body }) => body.includes("<!-- reins:")).length)
    for (let storm = 1; storm <= storms; storm++) {
      const red = head()
      const check = forge.check({ head: red, name: `test ${storm}`, state: "failed", log: "red" })
      forge.tellHooks({ what: "check", check })
      const all = yield* until(attentions, ([newest]) => newest?.head_sha === red && newest.state === "done")
      assert.lengthOf(all, storm)
      assert.strictEqual(origin.git("rev-parse", `${head()}^`), red)
      assert.strictEqual(yield* until(ours, (count) => count >= storm), storm)
      // The same news once more, after the turn. The forge gives it another id.
      forge.tellHooks({ what: "check", check })
      const answers = yield* Effect.promise(() => Promise.all(forge.calls))
      assert.isTrue(answers.flat().every((status) => status === 202))
    }
    // A look after the last call finds nothing to do.
    yield* given.look
    assert.lengthOf(yield* attentions, storms)
    assert.deepInclude(yield* given.care, { state: "watching", turns: storms })
    assert.strictEqual(origin.git("rev-list", "--count", `${before}..${branch}`), String(storms))
    assert.strictEqual(yield* ours, storms)
    let ended = 0
    const isLast = ({ type }: Event) => type === "turn.succeeded" && ++ended === storms + 1
    const events = yield* eventsUntil(session.id, 0, isLast)
    assert.lengthOf(
      events.filter(({ type }) => type === "turn.queued"),
      storms + 1
    )
    const fresh = outcomes.filter((outcome) => outcome === "accepted" || outcome === "ignored")
    // The same news under another id has the same signed body, so it is a copy.
    assert.isAtLeast(fresh.length, storms)
    assert.isAtLeast(outcomes.length, 2 * storms * times)
    assert.lengthOf(
      outcomes.filter((outcome) => outcome === "duplicate"),
      outcomes.length - fresh.length
    )
  })

for (const database of flowDatabases) {
  const { name } = database
  flowsOn(database)(`storms of hooks on ${name}`, (it) => {
    const storm = (kind: KnownForge, storms: number) =>
      it.scoped(
        `a red check of ${kind} that is told 25 times at once is one turn, one commit and one comment, ${storms} of ${storms}`,
        () => storming(kind, storms),
        600_000
      )
    // The forges share the storms.
    const shareOf = (index: number) => Math.ceil((hookStorms - index) / 3)
    storm("github", shareOf(0))
    variants(() => {
      storm("gitlab", shareOf(1))
      storm("gitea", shareOf(2))
    })
  })
}
