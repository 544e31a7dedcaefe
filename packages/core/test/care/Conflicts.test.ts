import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import type { CareInput } from "@reins/core/projects/CarePolicy"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { forgesOn } from "@reins/testing/Volume"
import { Effect } from "effect"
import { temporaryDirectory } from "../execution/Agent.js"
import { flowsOn, opened, write } from "./Cared.js"
import { lookFor } from "./Told.js"

/** A cared-for merge request that changes a line which somebody has changed on `main` too. */
const conflicted = (kind: KnownForge, care: CareInput = { conflicts: "fix" }) =>
  Effect.gen(function* () {
    const given = yield* opened(kind, care)
    const { forge, head, model, origin, ring } = given
    const before = head()
    const prompts = new Set<string>()
    const resolve = (text: string) => {
      model.onCare = (prompt) => {
        prompts.add(prompt)
        return [write("a.txt", text), { say: "It has both." }]
      }
    }
    resolve("ONE uno\n")
    forge.odd.conflicts = "by_git"
    origin.commitOn("main", "other.txt", "other\n")
    const base = origin.commitOn("main", "a.txt", "uno\n")
    /** Looks until it is so. */
    const until = <A, E, R>(get: Effect.Effect<A, E, R>, isSo: (value: A) => boolean) => lookFor({ ring }, get, isSo)
    const parents = () => origin.git("log", "-1", "--format=%P", head()).split(" ")
    const show = (path: string) => origin.git("show", `${head()}:${path}`)
    const done = until(given.attentions, ([attention]) => attention?.state === "done")
    const handedOver = until(given.care, ({ state }) => state === "handed_over")
    return { ...given, base, before, done, handedOver, parents, prompts, resolve, show, until }
  })

for (const database of forgeDatabases) {
  const { name } = database
  flowsOn(database)(`conflicts on ${name}`, (it) => {
    for (const kind of forgesOn(name))
      it.scoped(`a conflict with the base becomes one turn and one merge commit on ${kind}`, () =>
        Effect.gen(function* () {
          const given = yield* conflicted(kind)
          const { base, before, done, forge, head, model, parents, prompts, show, until } = given
          const copy = join(yield* temporaryDirectory, "seen.txt")
          const { onCare } = model
          model.onCare = (prompt) => [{ tool: "bash", cmd: `cp a.txt ${copy}; cat other.txt` }, ...onCare(prompt)]
          const [attention, ...others] = yield* done
          assert.lengthOf(others, 0)
          assert.deepInclude(attention, { head_sha: before, base_sha: base, commit: head(), reason: null })
          assert.deepStrictEqual(attention?.causes, [{ kind: "conflict", check_ids: [], comment_ids: [] }])
          assert.deepStrictEqual(parents(), [before, base])
          assert.deepStrictEqual([show("a.txt"), show("other.txt")], ["ONE uno", "other"])
          // The agent had both sides between marks.
          const seen = readFileSync(copy, "utf8")
          assert.deepStrictEqual(
            seen.split("\n").filter((line) => line !== ""),
            [`<<<<<<< ${before}`, "ONE", "=======", "uno", `>>>>>>> ${base}`]
          )
          assert.include([...prompts].join(), 'Conflict in: "a.txt"')
          const clean = yield* until(given.get, ({ standing }) => standing?.conflicts === "none")
          assert.deepInclude(clean, { state: "open", head_sha: head(), care_state: "watching" })
          const ours = () => forge.comments.filter(({ body }) => body.includes("<!-- reins:"))
          yield* until(Effect.sync(ours), ({ length }) => length === 1)
          assert.include(ours()[0]?.body, `It conflicted with ${base}`)
          assert.strictEqual((yield* given.care).turns, 1)
        })
      )

    variants(() => {
      it.scoped("commits that people push meanwhile stay below the merge", () =>
        Effect.gen(function* () {
          const { base, branch, done, model, origin, parents, show } = yield* conflicted("github")
          const { onCare } = model
          let theirs = ""
          model.onCare = (prompt) => {
            theirs ||= origin.commitOn(branch, "theirs.txt", "theirs\n")
            return onCare(prompt)
          }
          yield* done
          assert.deepStrictEqual(parents(), [theirs, base])
          assert.deepStrictEqual(["a.txt", "other.txt", "theirs.txt"].map(show), ["ONE uno", "other", "theirs"])
        })
      )
    })

    it.scoped(
      "marks that are left are never pushed, by a later turn for a check neither, and a person has to go on",
      () =>
        Effect.gen(function* () {
          const given = yield* conflicted("github")
          const { before, cares, forge, get, handedOver, head, id, model, principal, until } = given
          model.onCare = () => [write("notes.txt", "Hard.\n"), { say: "I wrote it down." }]
          assert.deepInclude(yield* handedOver, { reason: "merge_conflict", turns: 1 })
          assert.strictEqual(head(), before)
          forge.odd.conflicts = false
          forge.check({ head: before, name: "test", state: "failed", log: "red" })
          yield* until(get, ({ standing }) => standing?.conflicts === "none" && standing.checks.state === "failing")
          model.onCare = () => [write("b.txt", "TWO\n"), { say: "Mended." }]
          yield* cares.start(principal, id, { checks: "fix", rerun_first: false })
          assert.deepInclude(yield* handedOver, { reason: "merge_conflict", turns: 1 })
          assert.strictEqual(head(), before)
        })
    )

    variants(() => {
      it.scoped("a proposal is delivered by a person, as the same merge", () =>
        Effect.gen(function* () {
          const given = yield* conflicted("github", { conflicts: "propose", checks: "fix" })
          const { base, before, cares, head, parents, principal, until } = given
          const [proposed] = yield* until(given.attentions, ([attention]) => attention?.state === "proposed")
          assert.strictEqual(head(), before)
          yield* cares.deliver(principal, proposed?.id ?? "")
          yield* given.done
          assert.deepStrictEqual(parents(), [before, base])
        })
      )
    })

    variants(() => {
      it.scoped("the merge of a branch that is the base no more is not pushed", () =>
        Effect.gen(function* () {
          const given = yield* conflicted("gitea")
          const { before, forge, get, handedOver, head, model, origin, until } = given
          origin.git("branch", "next", "main")
          const gate = join(yield* temporaryDirectory, "gate")
          const { onCare } = model
          model.onCare = (prompt) => [
            { tool: "bash", cmd: `until test -e ${gate}; do sleep 0.05; done` },
            ...onCare(prompt)
          ]
          yield* until(given.attentions, ([attention]) => attention?.state === "turning")
          const [pull] = forge.pulls
          if (pull !== undefined) pull.base = "next"
          yield* until(get, ({ base_branch }) => base_branch === "next")
          writeFileSync(gate, "")
          assert.deepInclude(yield* handedOver, { reason: "merge_conflict" })
          assert.strictEqual(head(), before)
        })
      )
    })

    variants(() => {
      it.scoped("lines that a person has pushed before are resolved too", () =>
        Effect.gen(function* () {
          const given = yield* conflicted("gitlab")
          const { base, branch, done, model, origin, parents, prompts, show } = given
          const theirs = origin.commitOn(branch, "other.txt", "OTHER\n")
          const { onCare } = model
          model.onCare = (prompt) => [write("other.txt", "other OTHER\n"), ...onCare(prompt)]
          yield* done
          assert.deepStrictEqual(parents(), [theirs, base])
          assert.deepStrictEqual(["a.txt", "other.txt"].map(show), ["ONE uno", "other OTHER"])
          assert.include([...prompts].join(), 'Conflict in: "other.txt"')
        })
      )

      it.scoped("marks that are left are never pushed, and a person has to go on", () =>
        Effect.gen(function* () {
          const { before, handedOver, head, model } = yield* conflicted("gitea")
          model.onCare = () => [write("notes.txt", "Hard.\n"), { say: "I wrote it down." }]
          assert.deepInclude(yield* handedOver, { reason: "merge_conflict", turns: 1 })
          assert.strictEqual(head(), before)
        })
      )

      it.scoped("a resolved file that only a person delivers is proposed", () =>
        Effect.gen(function* () {
          const { before, handedOver, head } = yield* conflicted("gitlab", {
            conflicts: "fix",
            protected_paths: ["a.txt"]
          })
          assert.deepInclude(yield* handedOver, { reason: "protected_path", turns: 1 })
          assert.strictEqual(head(), before)
        })
      )

      it.scoped("a base that conflicts again after two turns asks a person", () =>
        Effect.gen(function* () {
          const { attentions, done, handedOver, head, origin, resolve, until } = yield* conflicted("github")
          yield* done
          resolve("ONE uno due\n")
          origin.commitOn("main", "a.txt", "due\n")
          yield* until(attentions, (all) => all.length === 2 && all.every(({ state }) => state === "done"))
          const second = head()
          origin.commitOn("main", "a.txt", "tre\n")
          assert.deepInclude(yield* handedOver, { reason: "same_failure", turns: 2 })
          assert.strictEqual(head(), second)
        })
      )
    })
  })
}
