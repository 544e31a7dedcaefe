import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Changesets } from "@reins/core/changes/Changesets"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { put } from "@reins/testing/git/Fixture"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { forgesOn } from "@reins/testing/Volume"
import { Effect } from "effect"
import { temporaryDirectory } from "../execution/Agent.js"
import { flowsOn, opened, write } from "./Cared.js"
import { handsOver, lookFor, looksPass, type Opened, waitFor } from "./Told.js"

const fix = { checks: "fix", rerun_first: false } as const

const red = ({ forge, head }: Opened, name = "test") => forge.check({ head: head(), name, state: "failed", log: "red" })

/** Has the turns of care wait for a file, and then write another one. Gives what lets them go on. */
const gated = ({ model }: Opened) =>
  Effect.map(temporaryDirectory, (directory) => {
    const gate = join(directory, "gate")
    model.onCare = () => [
      { tool: "bash", cmd: `until test -e ${gate}; do sleep 0.05; done` },
      write("a.txt", "MENDED\n"),
      { say: "Mended." }
    ]
    return Effect.sync(() => writeFileSync(gate, ""))
  })

const isTurning = ([attention]: ReadonlyArray<{ readonly state: string }>) => attention?.state === "turning"

const removeBranch = ({ branch, origin }: Opened) => origin.git("update-ref", "-d", `refs/heads/${branch}`)

/** A person closes or merges the request during a turn. */
const endsMeanwhile = (kind: KnownForge, state: "closed" | "merged") =>
  Effect.gen(function* () {
    const given = yield* opened(kind, fix)
    const goOn = yield* gated(given)
    const before = given.head()
    red(given)
    yield* lookFor(given, given.attentions, isTurning)
    for (const pull of given.forge.pulls) pull.state = state
    yield* lookFor({ ring: Effect.ignore(given.ring) }, given.get, (request) => request.state === state)
    yield* goOn
    const sealed = Effect.flatMap(Changesets, (changesets) => changesets.list(given.principal, given.session.id, {}))
    const { items } = yield* waitFor(sealed, ({ items }) => items.length === 2)
    const [attention] = yield* given.attentions
    assert.deepInclude(attention, { state: "superseded", delivery_id: null })
    assert.strictEqual(items[0]?.source_turn_id, attention?.turn_id)
    assert.deepInclude(yield* given.care, { state: "ended", reason: state })
    assert.strictEqual(given.head(), before)
  })

for (const database of forgeDatabases) {
  const { name } = database
  flowsOn(database)(`traps on ${name}`, (it) => {
    for (const kind of forgesOn(name)) {
      it.scoped(`the branch of a fork on ${kind} is told, and gets no turn`, () =>
        Effect.gen(function* () {
          const given = yield* opened(kind, fix)
          for (const pull of given.forge.pulls) pull.fork = true
          red(given)
          assert.deepInclude(yield* handsOver(given, "fork"), { turns: 0 })
          assert.deepStrictEqual(yield* given.attentions, [])
        })
      )

      it.scoped(`a check of ${kind} that waits for an approval is told`, () =>
        Effect.gen(function* () {
          const given = yield* opened(kind, fix)
          given.forge.check({ head: given.head(), name: "deploy", state: "waiting" })
          assert.deepInclude(yield* handsOver(given, "checks_need_approval"), { turns: 0 })
        })
      )

      it.scoped(`a request that a person closes on ${kind} during a turn is left as it is`, () =>
        endsMeanwhile(kind, "closed")
      )
      variants(() => {
        it.scoped(`a request that a person merges on ${kind} during a turn is left as it is`, () =>
          endsMeanwhile(kind, "merged")
        )
      })
    }

    it.scoped("a branch that goes while the agent works is told, and nothing is pushed", () =>
      Effect.gen(function* () {
        const given = yield* opened("gitlab", fix)
        const goOn = yield* gated(given)
        // GitLab goes on to show the last commit.
        given.forge.odd.staleHead = given.head()
        red(given)
        yield* lookFor(given, given.attentions, isTurning)
        removeBranch(given)
        yield* goOn
        assert.deepInclude(yield* handsOver(given, "branch_gone"), { turns: 1 })
        assert.isUndefined(given.origin.headOf(given.branch))
      })
    )

    variants(() => {
      it.scoped("a repository that takes the credential no more is told before a turn", () =>
        Effect.gen(function* () {
          const given = yield* opened("gitea", fix)
          red(given)
          given.origin.gate.closed = true
          assert.deepInclude(yield* handsOver(given, "auth_required"), { turns: 0 })
        })
      )
    })

    variants(() => {
      it.scoped("a push that the repository refuses is told", () =>
        Effect.gen(function* () {
          const given = yield* opened("gitea", fix)
          given.model.onCare = () => [write("a.txt", "MENDED\n"), { say: "Mended." }]
          given.origin.hook("echo 'not today' >&2; exit 1")
          const before = given.head()
          red(given)
          assert.deepInclude(yield* handsOver(given, "push_refused"), { turns: 1 })
          assert.strictEqual(given.head(), before)
        })
      )
    })

    it.scoped("a turn that fails is told", () =>
      Effect.gen(function* () {
        const given = yield* opened("gitlab", fix)
        given.model.onCare = () => [{ error: 400, message: "no" }]
        red(given)
        assert.deepInclude(yield* handsOver(given, "turn_failed"), { turns: 1 })
      })
    )

    variants(() => {
      it.scoped("a turn that changes nothing is told", () =>
        Effect.gen(function* () {
          const given = yield* opened("github", fix)
          given.model.onCare = () => [{ say: "It is not mine." }]
          red(given)
          assert.deepInclude(yield* handsOver(given, "no_change"), { turns: 1 })
        })
      )
    })

    variants(() => {
      it.scoped("a file that only a person delivers is told", () =>
        Effect.gen(function* () {
          const given = yield* opened("gitea", fix)
          given.model.onCare = () => [write(".gitea/workflows/ci.yml", "on: push\n"), { say: "No CI." }]
          const before = given.head()
          red(given)
          assert.deepInclude(yield* handsOver(given, "protected_path"), { turns: 1 })
          assert.strictEqual(given.head(), before)
        })
      )
    })

    variants(() => {
      it.scoped("the same checks, red after two turns, are told", () =>
        Effect.gen(function* () {
          const given = yield* opened("gitlab", fix)
          let tries = 0
          given.model.onCare = () => [write("a.txt", `try ${++tries}\n`), { say: "Tried." }]
          for (const turns of [1, 2]) {
            red(given)
            yield* lookFor(
              given,
              given.attentions,
              (all) => all.filter(({ state }) => state === "done").length === turns
            )
          }
          red(given)
          assert.deepInclude(yield* handsOver(given, "same_failure"), { turns: 2 })
        })
      )
    })

    variants(() => {
      it.scoped("turns that are used up are told", () =>
        Effect.gen(function* () {
          const given = yield* opened("github", { ...fix, max_turns: 1 })
          given.model.onCare = () => [write("a.txt", "MENDED\n"), { say: "Mended." }]
          red(given)
          yield* lookFor(given, given.attentions, ([attention]) => attention?.state === "done")
          red(given, "lint")
          assert.deepInclude(yield* handsOver(given, "turns_exhausted"), { turns: 1 })
        })
      )
    })

    it.scoped("changes of a person that were not delivered are told", () =>
      Effect.gen(function* () {
        const given = yield* opened("gitea", fix)
        const { workTree } = yield* pathsOf(given.session.id)
        put(workTree, "mine.txt", "mine\n")
        yield* (yield* Changesets).capture(given.principal, given.session.id, {})
        yield* given.told("changeset.ready")
        const before = given.head()
        const list = Effect.flatMap(Changesets, (changesets) => changesets.list(given.principal, given.session.id, {}))
        yield* waitFor(list, ({ items }) => items.length === 2 && items[0]?.state === "ready")
        red(given)
        assert.deepInclude(yield* handsOver(given, "undelivered_changes"), { turns: 0 })
        assert.strictEqual(given.head(), before)
      })
    )

    it.scoped("a check that is cancelled again after it was begun anew is told", () =>
      Effect.gen(function* () {
        const given = yield* opened("gitlab", fix)
        const { forge, head } = given
        const isCancelled = { head: head(), name: "test", state: "cancelled" } as const
        forge.check(isCancelled)
        const isAnew = Effect.sync(() => forge.seen.some(({ path }) => path.endsWith("/retry")))
        yield* lookFor(given, isAnew, (so) => so)
        forge.check(isCancelled)
        assert.deepInclude(yield* handsOver(given, "checks_do_not_run"), { turns: 0 })
      })
    )

    for (const kind of forgesOn(name))
      it.scoped(`a writer stops the care on ${kind} for checks alone too, and nobody else does`, () =>
        Effect.gen(function* () {
          const given = yield* opened(kind, fix)
          const { forge, id, looks, model, principal } = given
          yield* lookFor(given, given.get, ({ standing }) => standing !== null)
          forge.readers.add("eve")
          forge.comment({ author: "eve", body: "/reins stop" })
          forge.comment({ author: "bob", body: "Never write /reins stop, nor > /reins stop.\n> /reins stop" })
          if (kind !== "gitea") forge.comment({ author: "helper[bot]", isBot: true, body: "/reins stop" })
          const read = looks.threads(principal, id, { limit: 200 })
          yield* lookFor(given, read, ({ items }) => items.length === (kind === "gitea" ? 2 : 3))
          yield* looksPass(given, 2)
          assert.deepInclude(yield* given.care, { state: "watching", turns: 0 })
          forge.comment({ author: "bob", body: "Enough.\n/reins stop" })
          model.onCare = () => [{ say: "Nothing." }]
          assert.deepInclude(yield* handsOver(given, "stopped_by_comment"), { turns: 0 })
        })
      )

    variants(() => {
      it.scoped("a branch that is gone before the turn is told", () =>
        Effect.gen(function* () {
          const given = yield* opened("github", fix)
          given.forge.odd.staleHead = given.head()
          red(given)
          removeBranch(given)
          assert.deepInclude(yield* handsOver(given, "branch_gone"), { turns: 0 })
        })
      )

      it.scoped("a branch that moves during each try is told, and every commit of the person stays", () =>
        Effect.gen(function* () {
          const given = yield* opened("github", fix)
          const { branch, model, origin } = given
          model.onCare = () => [write("a.txt", "MENDED\n"), { say: "Mended." }]
          let pushes = 0
          origin.gate.asked = (_method, url) => {
            if (url.includes("service=git-receive-pack")) origin.commitOn(branch, `faster-${++pushes}.txt`, "faster\n")
          }
          red(given)
          assert.deepInclude(yield* handsOver(given, "head_keeps_moving"), { turns: 1 })
          assert.isAtLeast(pushes, 3)
          assert.strictEqual(origin.git("show", `${branch}:a.txt`), "ONE")
        })
      )
    })
  })
}
