import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import type { Attention } from "@reins/core/care/Care"
import * as Embedded from "@reins/core/Embedded"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import type { CareInput } from "@reins/core/projects/CarePolicy"
import { Conditions } from "@reins/core/requests/conditions/Conditions"
import { Database } from "@reins/core/store/Database"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { forgesOn } from "@reins/testing/Volume"
import { Effect } from "effect"
import { temporaryDirectory } from "../execution/Agent.js"
import { flowsOn, opened, write } from "./Cared.js"
import { handsOver, lookFor, looksPass, type Opened, waitFor } from "./Told.js"

const fix = { checks: "fix", rerun_first: false } as const

const red = ({ forge, head }: Opened, name = "test") => forge.check({ head: head(), name, state: "failed", log: "red" })

/** Puts what was tried for a merge request so far back by so many minutes. */
const passMinutes = ({ id }: Opened, minutes: number) =>
  Effect.gen(function* () {
    const { all, run, sql } = yield* Database
    const rows = yield* all(
      sql<{ id: string; updated_at: string }>`select id, updated_at from attentions where merge_request_id = ${id}`
    )
    for (const row of rows) {
      const earlier = new Date(Date.parse(row.updated_at) - minutes * 60_000).toISOString()
      yield* run(sql`update attentions set updated_at = ${earlier} where id = ${row.id}`)
    }
  })

/** The forge tells of a conflict that git does not find: two proofs of that, without a turn, and then a person is asked. */
const waitsForConflict = (kind: KnownForge, conflicts: "fix" | "off") =>
  Effect.gen(function* () {
    const given = yield* opened(kind, { checks: "fix", conflicts, rerun_first: false })
    given.forge.odd.conflicts = true
    const before = given.head()
    for (const proofs of [1, 2]) {
      const isProven = (all: ReadonlyArray<Attention>) =>
        all.filter(({ state }) => state === "superseded").length === proofs
      yield* lookFor(given, given.attentions, isProven)
      yield* looksPass(given, 2)
      assert.deepInclude(yield* given.care, { state: "watching", turns: 0 })
      assert.lengthOf(yield* given.attentions, proofs)
      if (proofs === 1) yield* passMinutes(given, 11)
    }
    yield* passMinutes(given, 11)
    assert.deepInclude(yield* handsOver(given, "merge_conflict"), { turns: 0 })
    assert.isTrue((yield* given.attentions).every(({ turn_id }) => turn_id === null))
    assert.strictEqual(given.head(), before)
  })

/** Somebody replaces the branch while a turn writes a file, and changes `a.txt` on it. */
const forcedDuring = (path: "a.txt" | "mended.txt") =>
  Effect.gen(function* () {
    const given = yield* opened("gitea", fix)
    const { branch, head, model, origin } = given
    const gate = join(yield* temporaryDirectory, "gate")
    model.onCare = () => [
      { tool: "bash", cmd: `until test -e ${gate}; do sleep 0.05; done` },
      write(path, "yes\n"),
      { say: "Mended." }
    ]
    red(given)
    yield* lookFor(given, given.attentions, ([attention]) => attention?.state === "turning")
    origin.git("update-ref", `refs/heads/${branch}`, origin.git("rev-parse", "main"))
    const theirs = origin.commitOn(branch, "a.txt", "theirs\n")
    writeFileSync(gate, "")
    if (path === "a.txt") {
      assert.deepInclude(yield* handsOver(given, "merge_conflict"), { turns: 1 })
      assert.strictEqual(head(), theirs)
    } else {
      yield* lookFor(given, given.attentions, ([attention]) => attention?.state === "done")
      assert.strictEqual(origin.git("rev-parse", `${head()}^`), theirs)
      assert.strictEqual(origin.git("show", `${head()}:a.txt`), "theirs")
    }
  })

/** Somebody's key is revoked before there is work for their care. */
const revoked = (policy: CareInput) =>
  Effect.gen(function* () {
    const { workspaceId } = yield* Embedded.owner
    const keys = yield* ApiKeys
    const given = yield* opened("github")
    const { principal } = given
    const key = yield* keys.create(principal, { name: "care", scopes: ["write"], workspace_id: workspaceId })
    const by = { ...principal, workspaceId, via: { kind: "api_key", keyId: key.id } } as const
    yield* given.cares.start(by, given.id, policy)
    yield* keys.revoke(principal, key.id)
    red(given)
    if (policy.reviews !== undefined) given.forge.comment({ author: "bob", body: "Rename it." })
    assert.deepInclude(yield* handsOver(given, "owner_lost_access"), { turns: 0 })
    assert.isTrue((yield* given.attentions).every(({ turn_id }) => turn_id === null))
    assert.isFalse(given.forge.seen.some(({ path }) => path.endsWith("/rerun")))
  })

for (const database of forgeDatabases) {
  const { name } = database
  flowsOn(database)(`doubts on ${name}`, (it) => {
    for (const kind of forgesOn(name)) {
      it.scoped(`the word of ${kind} on a conflict, which git does not find, waits with conflicts fix`, () =>
        waitsForConflict(kind, "fix")
      )
      variants(() => {
        it.scoped(`the word of ${kind} on a conflict, which git does not find, waits with conflicts off`, () =>
          waitsForConflict(kind, "off")
        )
      })

      it.scoped(`a conflict that git finds is told at once where nobody mends it on ${kind}, without a turn`, () =>
        Effect.gen(function* () {
          const given = yield* opened(kind, fix)
          given.forge.odd.conflicts = "by_git"
          given.origin.commitOn("main", "a.txt", "uno\n")
          assert.deepInclude(yield* handsOver(given, "merge_conflict"), { turns: 0 })
        })
      )

      variants(() => {
        it.scoped(`${kind} that still computes begins nothing, and a red check has its turn all the same`, () =>
          Effect.gen(function* () {
            const given = yield* opened(kind, { ...fix, conflicts: "fix" })
            given.forge.odd.computing = true
            given.model.onCare = () => [write("a.txt", "MENDED\n"), { say: "Mended." }]
            yield* lookFor(given, given.get, ({ standing }) => standing !== null)
            yield* looksPass(given, 2)
            assert.isTrue((yield* given.attentions).every(({ turn_id }) => turn_id === null))
            red(given)
            // The new head has its own proof of no conflict, which may be newer.
            const isDone = ({ state }: Attention) => state === "done"
            const done = (yield* lookFor(given, given.attentions, (all) => all.some(isDone))).find(isDone)
            assert.deepStrictEqual(
              done?.causes.map((cause) => cause.kind),
              ["checks"]
            )
            assert.deepInclude(yield* given.care, { turns: 1 })
          })
        )
      })

      it.scoped(`an old head on ${kind} after our push costs no turn, and in the end a person is asked`, () =>
        Effect.gen(function* () {
          const given = yield* opened(kind, fix)
          given.model.onCare = () => [write("a.txt", "MENDED\n"), { say: "Mended." }]
          const before = given.head()
          red(given)
          yield* lookFor(given, given.attentions, ([attention]) => attention?.state === "done")
          given.forge.odd.staleHead = before
          red({ ...given, head: () => before }, "lint")
          yield* looksPass(given, 3)
          assert.lengthOf(yield* given.attentions, 1)

          // The forge is behind for longer than it may be.
          const { run, sql } = yield* Database
          yield* run(sql`update deliveries set updated_at = '2026-01-01T00:00:00.000Z'`)
          yield* lookFor(given, given.attentions, ([newest]) => newest?.state === "superseded")
          yield* looksPass(given, 5)
          assert.isAtMost((yield* given.attentions).length, 4)
          yield* lookFor(
            given,
            Effect.zipRight(passMinutes(given, 20), given.care),
            ({ state }) => state === "handed_over"
          )
          assert.deepInclude(yield* handsOver(given, "head_keeps_moving"), { turns: 1 })
          const all = yield* given.attentions
          assert.lengthOf(all, 9)
          assert.deepStrictEqual(new Set(all.map(({ turn_id }) => turn_id !== null)), new Set([true, false]))
        })
      )
    }

    variants(() => {
      it.scoped("our commits that a person has taken away by force stay away, and the turn comes on top", () =>
        Effect.gen(function* () {
          const given = yield* opened("github", fix)
          const { branch, head, model, origin } = given
          model.onCare = () => [write("mended.txt", "yes\n"), { say: "Mended." }]
          origin.git("update-ref", `refs/heads/${branch}`, origin.git("rev-parse", "main"))
          const theirs = origin.commitOn(branch, "a.txt", "theirs\n")
          red(given)
          yield* lookFor(given, given.attentions, ([attention]) => attention?.state === "done")
          assert.strictEqual(origin.git("rev-parse", `${head()}^`), theirs)
          assert.strictEqual(origin.git("show", `${head()}:a.txt`), "theirs")
          assert.strictEqual(origin.git("show", `${head()}:mended.txt`), "yes")
        })
      )
    })

    variants(() => {
      it.scoped("a force push during a turn that changes the same file is left to a person", () =>
        forcedDuring("a.txt")
      )
    })
    variants(() => {
      it.scoped("a force push during a turn that writes another file stays below it", () => forcedDuring("mended.txt"))
    })

    it.scoped("a key that is revoked begins no check anew, no turn and no delivery", () => revoked({ checks: "fix" }))
    variants(() => {
      for (const [what, policy] of [
        ["a red check", fix],
        ["a comment", { reviews: "fix" }]
      ] as const)
        it.scoped(`a key that is revoked begins no turn for ${what}`, () => revoked(policy))
    })

    for (const kind of forgesOn(name).filter((each) => each !== "gitlab"))
      it.scoped(`a check that ${kind} demands and that never reports is told by its name, and then to a person`, () =>
        Effect.gen(function* () {
          const given = yield* opened(kind, fix)
          const { forge, get, head, id, principal } = given
          forge.required.push("build")
          forge.check({ head: head(), name: "test", state: "passed" })
          yield* (yield* Conditions).set(principal, id, { checks: "required" })
          const waits = yield* lookFor(given, get, ({ conditions }) =>
            Boolean(conditions?.waiting_for.some((each) => each.kind === "check"))
          )
          assert.deepStrictEqual(
            waits.conditions?.waiting_for.map(({ kind, names }) => [kind, ...names]),
            [["check", "build"]]
          )
          const { first, run, sql } = yield* Database
          const pass = (minutes: number) =>
            Effect.gen(function* () {
              const row = yield* first(
                sql<{ seen: string }>`select seen from merge_conditions where merge_request_id = ${id}`
              )
              const seen = JSON.parse(row?.seen ?? "{}")
              const missing = { ...seen.missing, since: seen.missing.since - minutes * 60_000 }
              yield* run(sql`update merge_conditions set seen = ${JSON.stringify({ ...seen, missing })}
                where merge_request_id = ${id}`)
            })
          yield* pass(29)
          yield* looksPass(given, 2)
          assert.deepInclude((yield* get).conditions, { state: "waiting" })
          assert.deepInclude(yield* given.care, { state: "watching" })
          yield* pass(1)
          const over = yield* lookFor(given, get, ({ conditions }) => conditions?.state === "given_up")
          assert.deepInclude(over.conditions, { reason: "checks_do_not_run" })
          assert.include(over.conditions?.reason_message, '"build"')
          assert.lengthOf(yield* given.told("merge_request.conditions_given_up"), 1)
          assert.deepInclude(yield* handsOver(given, "checks_do_not_run"), { turns: 0 })
          assert.strictEqual((yield* waitFor(get, ({ state }) => state === "open")).state, "open")
        })
      )
  })
}
