import { assert } from "@effect/vitest"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { within } from "@reins/testing/MachineTime"
import { flowDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { careTurns } from "@reins/testing/Volume"
import { Effect, Schedule } from "effect"
import { flowsOn, opened, write } from "./Cared.js"

const until = <A, E, R>(get: Effect.Effect<A, E, R>, isSo: (value: A) => boolean) =>
  Effect.repeat(get, { schedule: Schedule.spaced("100 millis"), until: isSo }).pipe(within(120), Effect.zipRight(get))

/** The moments at which a person pushes, again and again in this order. */
const moments = ["while the agent works", "between the look at the branch and the push", "at both times"] as const

const fix = { checks: "fix", rerun_first: false, max_turns: 20 } as const
const losesNothing = (kind: KnownForge) =>
  Effect.gen(function* () {
    const given = yield* opened(kind, fix)
    const { branch, forge, head, model, origin } = given
    // The remote itself refuses every push that is no fast-forward.
    origin.git("config", "receive.denyNonFastForwards", "true")
    const first = head()
    /** Each file of a person with the commit that has brought it. */
    const theirs = new Map<string, string>()
    const push = (path: string) => theirs.set(path, origin.commitOn(branch, path, `${path}\n`))
    for (let turn = 1; turn <= careTurns; turn++) {
      const moment = moments[turn % moments.length]
      let isPushed = false
      model.onCare = () => {
        if (moment !== moments[1] && !isPushed) push(`during-${turn}.txt`)
        isPushed = true
        return [write("a.txt", `turn ${turn}\n`), { say: "Mended." }]
      }
      let isFaster = moment === moments[0]
      origin.gate.asked = (_method, url) => {
        if (isFaster || !url.includes("service=git-receive-pack")) return
        isFaster = true
        push(`faster-${turn}.txt`)
      }
      const red = head()
      forge.check({ head: red, name: `test ${turn}`, state: "failed", log: "red" })
      yield* given.ring
      const [done] = yield* until(
        given.attentions,
        (all) =>
          all.length === turn &&
          all[0]?.state !== "turning" &&
          all[0]?.state !== "delivering" &&
          all[0]?.state !== "preparing"
      )
      assert.deepInclude(done, { state: "done", commit: head(), reason: null }, JSON.stringify(done))
      assert.isTrue(isFaster && (isPushed || moment === moments[1]))
      assert.strictEqual(origin.git("show", `${branch}:a.txt`), `turn ${turn}`)
    }
    assert.strictEqual(origin.git("merge-base", first, branch), first)
    for (const [path, commit] of theirs) {
      assert.strictEqual(origin.git("merge-base", commit, branch), commit, path)
      assert.strictEqual(origin.git("show", `${branch}:${path}`), path)
    }
    // One commit for each turn, besides those of the person.
    const commits = Number(origin.git("rev-list", "--count", `${first}..${branch}`))
    assert.strictEqual(commits, careTurns + theirs.size)
    assert.isAtLeast(theirs.size, careTurns)
    assert.deepInclude(yield* given.care, { state: "watching", turns: careTurns })
  })

for (const database of flowDatabases) {
  const { name } = database
  flowsOn(database)(`pushes of people on ${name}`, (it) => {
    const loses = (kind: KnownForge) =>
      it.scoped(
        `no commit is lost that a person pushes during a turn of care on ${kind}, ${careTurns} of ${careTurns}`,
        () => losesNothing(kind),
        600_000
      )
    loses("github")
    variants(() => {
      loses("gitlab")
      loses("gitea")
    })
  })
}
