import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import * as Embedded from "@reins/core/Embedded"
import { Conditions } from "@reins/core/requests/conditions/Conditions"
import type { Bell } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import type { Journal } from "@reins/core/store/Journal"
import { eventsUntil } from "@reins/testing/changes/Fixture"
import type { ForgeCi } from "@reins/testing/forge/ForgeCi"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { within } from "@reins/testing/MachineTime"
import { databases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { rows } from "@reins/testing/Volume"
import { Effect, Schedule } from "effect"
import { temporaryDirectory } from "../execution/Agent.js"
import { called, passTime, stopTime } from "../requests/Rings.js"
import { installation, opened, write } from "./Cared.js"
import { onceInAWhile } from "./Told.js"

type Way = "hooks" | "polling" | "both"

/** The tests of the repository. The agent begins with a file that says ONE. The first run ends once the gate is there. */
const command = (gate: string) =>
  `until test -e ${gate}; do sleep 0.05; done; grep -q TWO a.txt || { echo "a.txt says $(cat a.txt), not TWO"; exit 3; }`

const everything = (["github", "gitlab", "gitea"] as const).flatMap((kind) =>
  (["hooks", "polling", "both"] as const).map((by): readonly [KnownForge, Way] => [kind, by])
)

type Life = readonly [KnownForge, Way]

/** The lives on SQLite, and those on PostgreSQL. */
const lives: Readonly<Record<typeof rows, readonly [ReadonlyArray<Life>, ReadonlyArray<Life>]>> = {
  first: [[], [["github", "hooks"]]],
  others: [
    [
      ["gitlab", "hooks"],
      ["gitea", "hooks"]
    ],
    [
      ["github", "polling"],
      ["gitlab", "both"],
      ["gitea", "hooks"]
    ]
  ],
  all: [everything, everything]
}

/** Repeats what is read until it is so. Looks come by hooks alone, by their time alone, or by either. */
const seeing = (by: Way) => {
  const time: Effect.Effect<void, never, Bell | Database | Journal> = by === "hooks" ? stopTime : passTime
  return <A, E, R>(get: Effect.Effect<A, E, R>, isSo: (value: A) => boolean) => {
    const looked = Effect.zipRight(onceInAWhile(time), get)
    return Effect.repeat(looked, { schedule: Schedule.spaced("100 millis"), until: isSo }).pipe(
      within(40),
      Effect.zipRight(get)
    )
  }
}

/** A cared-for merge request whose first commit runs in the CI, and does not end there before `begin`. */
const running = (kind: KnownForge, by: Way) =>
  Effect.gen(function* () {
    const gate = join(yield* temporaryDirectory, "gate")
    const { principal, workspaceId } = yield* Embedded.owner
    let ci: ForgeCi | undefined
    let outcomes: ReadonlyArray<string> = []
    const given = yield* opened(kind, { checks: "fix", reviews: "fix", rerun_first: false }, false, (origin) =>
      Effect.gen(function* () {
        ci = yield* origin.runCi(command(gate))
        outcomes = yield* called(kind, origin.forge, principal, workspaceId)
        origin.forge.odd.hooks = by === "polling" ? "never" : "twice"
      }).pipe(Effect.orDie)
    )
    const terms = { checks: "all", approvals: 1, threads_resolved: true } as const
    yield* (yield* Conditions).set(principal, given.id, terms)
    const begin = Effect.sync(() => writeFileSync(gate, ""))
    const idle = Effect.promise(async () => ci?.idle())
    return { ...given, begin, idle, outcomes }
  })

const isOurs = ({ body }: { readonly body: string }) => body.includes("<!-- reins:")

/** The life of a merge request with a red check, a reviewer and conditions. */
const liveToMerged = (kind: KnownForge, by: Way) =>
  Effect.gen(function* () {
    const given = yield* running(kind, by)
    const { attentions, forge, get, head, model, origin, outcomes, session } = given
    const until = seeing(by)
    const prompts = new Set<string>()
    model.onCare = (prompt) => {
      prompts.add(prompt)
      return prompt.includes("Say why")
        ? [write("why.txt", "Two is right.\n"), { say: "I said why." }]
        : [write("a.txt", "TWO\n"), { say: "It says TWO." }]
    }
    const first = head()
    yield* until(get, ({ standing }) => standing?.checks.state === "pending")
    yield* given.begin

    // The red check becomes one turn on this head, with the log in its message.
    const [mended] = yield* until(attentions, ([attention]) => attention?.state === "done")
    const second = head()
    assert.deepInclude(mended, { head_sha: first, commit: second, reason: null })
    assert.strictEqual(origin.git("rev-parse", `${second}^`), first)
    assert.include([...prompts].join(), "a.txt says ONE, not TWO")
    const green = yield* until(get, ({ standing }) => standing?.checks.state === "passing")
    assert.deepInclude(green.standing?.checks ?? {}, { head_sha: second })
    assert.strictEqual(green.state, "open")

    // The comment of a reviewer becomes one more.
    const thread = forge.comment({
      author: "bob",
      body: "Say why.",
      place: { path: "a.txt", line: 1, side: "new" }
    })
    const pull = forge.pulls[0] ?? (yield* Effect.dieMessage("no merge request"))
    forge.tellHooks({ what: "comment", pull, author: "bob" })
    yield* until(attentions, (all) => all.length === 2 && all.every(({ state }) => state === "done"))
    const third = head()
    assert.strictEqual(origin.git("rev-parse", `${third}^`), second)
    const waits = yield* until(get, ({ conditions, standing }) => {
      const kinds = conditions?.waiting_for.map(({ kind }) => kind) ?? []
      return standing?.checks.head_sha === third && standing.checks.state === "passing" && kinds.length === 2
    })
    assert.sameMembers(waits.conditions?.waiting_for.map(({ kind }) => kind) ?? [], ["approvals", "open_threads"])
    assert.strictEqual(origin.headOf("main"), origin.git("merge-base", "main", third))

    // Now everything holds.
    thread.resolved = true
    forge.review({ author: "bob", state: "approved" })
    forge.tellHooks({ what: "review", pull, author: "bob" })
    yield* until(get, ({ state }) => state === "merged")
    assert.strictEqual(origin.git("show", "main:a.txt"), "TWO")
    assert.strictEqual(origin.git("show", "main:why.txt"), "Two is right.")
    assert.strictEqual(origin.git("rev-list", "--count", `${first}..main`), "2")

    // One turn for each cause, one commit, one comment.
    assert.deepInclude(yield* given.care, { state: "ended", reason: "merged", turns: 2 })
    assert.lengthOf(yield* attentions, 2)
    assert.strictEqual(prompts.size, 2)
    yield* until(
      Effect.sync(() => forge.comments.filter(isOurs).length),
      (count) => count === 2
    )
    const events = yield* eventsUntil(session.id, 0, ({ type }) => type === "merge_request.care_ended")
    const count = (type: string) => events.filter((event) => event.type === type).length
    assert.strictEqual(count("turn.succeeded"), 3)
    assert.strictEqual(count("merge_request.care_delivered"), 2)
    assert.strictEqual(count("merge_request.merged"), 1)

    // Each call came twice, and counted once.
    yield* given.idle
    yield* Effect.promise(() => Promise.all(forge.calls))
    const fresh = outcomes.filter((outcome) => outcome === "accepted" || outcome === "ignored")
    const again = outcomes.filter((outcome) => outcome === "duplicate")
    if (by === "polling") assert.deepStrictEqual(outcomes, [])
    else assert.isAbove(outcomes.filter((outcome) => outcome === "accepted").length, 3)
    // The stand-in of Gitea tells two things in one body, which is a copy of the first under another id.
    assert.isAtLeast(again.length, fresh.length)
    assert.lengthOf(outcomes, fresh.length + again.length)
  })

const livesOn = (database: string) => lives[rows][database === "SQLite" ? 0 : 1]

for (const { layer: database, name } of databases.filter((each) => livesOn(each.name).length > 0)) {
  layer(installation(database), { excludeTestServices: true })(`red to merged on ${name}`, (it) => {
    const live = ([kind, by]: Life) =>
      it.scoped(`${kind}, by ${by}: a wrong fix becomes right, a reviewer is answered, and it is merged`, () =>
        liveToMerged(kind, by)
      )
    livesOn(name).forEach(live)
    if (name === "SQLite" && rows === "others")
      variants(() => {
        live(["github", "polling"])
        live(["github", "hooks"])
        live(["github", "both"])
      })
  })
}
