import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { atPointer } from "@reins/core/automations/Filters"
import { payloadText } from "@reins/core/automations/PayloadText"
import { HookReceiving } from "@reins/core/hooks/HookReceiving"
import { Hooks } from "@reins/core/hooks/Hooks"
import { requestsIn } from "@reins/core/requests/looks/HookBodies"
import { type ForgeNews, hookDialects } from "@reins/testing/forge/ForgeHookCalls"
import type { Pull } from "@reins/testing/forge/ForgeServer"
import type { HeldCheck } from "@reins/testing/forge/ForgeStanding"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import type { Change } from "@reins/testing/world/Answer"
import { tenthOf, tryBorder } from "@reins/testing/world/Border"
import { changesOfElement, changesOfField, pathsIn } from "@reins/testing/world/Changes"
import { inJson } from "@reins/testing/world/Speaker"
import { Effect, Either } from "effect"
import { given } from "../automations/Automated.js"

const sha = "a".repeat(40)
const branch = "reins/work"
const pull: Pull = {
  number: 7,
  head: branch,
  base: "main",
  fork: false,
  title: "",
  body: "",
  draft: false,
  state: "open"
}
const check: HeldCheck = {
  id: 3,
  head: sha,
  name: "build",
  system: "run",
  state: "failed",
  optional: false,
  startedAt: "2026-01-01T00:00:00Z",
  log: "",
  app: { id: 1, slug: "ci" },
  workflow: 1,
  event: "push",
  suite: 1
}

const news: ReadonlyArray<ForgeNews> = [
  { what: "push", branch, sha, before: "b".repeat(40) },
  { what: "check", check },
  { what: "check", check: { ...check, system: "status" } },
  { what: "merge_request", pull, sha },
  { what: "comment", pull, author: "bob" },
  { what: "review", pull, author: "bob" }
]

const kinds = ["github", "gitlab", "gitea"] as const

/** The bodies of a forge, each with the event that it tells of. */
const bodiesOf = (kind: (typeof kinds)[number]) => {
  const told = news.map((each) => hookDialects[kind].bodyOf("acme/shop", each))
  if (kind !== "github") return told
  const pull_requests = [7, 8, 9].map((number) => ({ number, head: { sha } }))
  const run = { id: 3, name: "build", head_sha: sha, status: "completed", conclusion: "failure", pull_requests }
  return [...told, { event: "check_suite", body: { check_suite: run, repository: { full_name: "acme/shop" } } }]
}

const ofList = changesOfElement(["check_suite", "pull_requests"], 1, ["number", "head"])

const changesOf = (body: object): ReadonlyArray<Change> => [
  ...pathsIn(body).flatMap((path) => changesOfField(path)),
  ...("check_suite" in body ? ofList : [])
]

const changedBy = ({ apply }: Change, body: object): unknown =>
  JSON.parse(apply({ ...inJson, text: JSON.stringify(body) }).text)

/** The faults of the merge requests that are looked at because of a body. */
const ofNames = (kind: (typeof kinds)[number], change: Change, body: unknown): ReadonlyArray<string> => {
  const found = requestsIn(kind, body)
  const problems: Array<string> = []
  const said = JSON.stringify(body)
  for (const { headBranch, headSha, number } of found?.named ?? []) {
    if (number !== undefined && ![7, 8, 9].includes(number)) problems.push(`it looks at ${number}`)
    if (headSha !== undefined && headSha !== sha && !said.includes(`"${headSha}"`))
      problems.push("it looks at a commit")
    if (headBranch !== undefined && !said.includes(JSON.stringify(`refs/heads/${headBranch}`)))
      problems.push(`it looks at the branch ${headBranch.slice(0, 50)}`)
  }
  const numbers = found?.named.map(({ number }) => number) ?? []
  if (ofList.includes(change) && !(numbers.includes(7) && numbers.includes(9))) problems.push("one costs all")
  return problems
}

const ref = `refs/heads/${branch}`

describe("the world of hooks", () => {
  it.effect("what bodies name, and what agents are told of them", () =>
    Effect.gen(function* () {
      for (const kind of kinds) {
        const all = bodiesOf(kind).flatMap(({ body }) => changesOf(body).map((change) => ({ body, change })))
        const { tried, wrong } = yield* tryBorder({
          name: `${kind}: the bodies of hooks`,
          changes: tenthOf(
            all.map(
              ({ body, change }): Change => ({
                ...change,
                apply: () => ({ ...inJson, text: JSON.stringify(changedBy(change, body)) })
              })
            )
          ),
          ask: (change) =>
            Effect.sync(() => {
              const body = changedBy(change, {})
              const problems = [...ofNames(kind, change, body)]
              const texts = [payloadText(body, undefined, 5000), payloadText(body, ["", "/ref", "/x/*/y"], 5000)]
              for (const text of texts)
                if (text !== undefined && text.length > 6100) problems.push("a text without end")
              return problems
            })
        })
        assert.deepStrictEqual(wrong, [])
        assert.isAbove(tried, 200)
      }
    })
  )

  for (const { layer, name } of flowDatabases)
    for (const kind of kinds)
      it.scopedLive(`the receipts of ${kind} on ${name}`, () =>
        Effect.gen(function* () {
          const { add, principal, workspaceId } = yield* given
          const receiving = yield* HookReceiving
          const hook = yield* (yield* Hooks).create(principal, workspaceId, { kind, label: "forge" })
          yield* add({
            trigger: {
              kind: "hook",
              hook_id: hook.id,
              filter: [{ pointer: "/ref", is: ref }],
              pick: ["/ref", "/repository", "/project"]
            }
          })
          const dialect = hookDialects[kind]
          const sent = new Set<string>()
          const all = bodiesOf(kind).flatMap(({ body, event, type = event }) =>
            changesOf(body).map((change) => ({ body, event, type, change }))
          )
          const { tried, wrong } = yield* tryBorder({
            name: `${kind}: the receipts of hooks on ${name}`,
            // A recorded body has hundreds of fields.
            changes: tenthOf(all.map(({ change }) => change)).filter((_, at) => at % 10 === 0),
            ask: (change) =>
              Effect.gen(function* () {
                const { body, event, type } =
                  all.find((each) => each.change === change) ?? assert.fail("no such change")
                const changed = changedBy(change, body)
                const text = JSON.stringify(changed)
                const headers = dialect.headers(
                  { event, type },
                  { id: randomUUID(), hook: 1, secret: hook.secret, body: text }
                )
                const found = yield* Effect.either(
                  receiving.receive(hook.id, { header: (name) => headers[name], body: Buffer.from(text) })
                )
                if (Either.isLeft(found)) return [`refused: ${found.left.message}`]
                const { outcome, runs = 0 } = found.right
                // A list fits by one of its elements.
                const isWanted = [atPointer(changed, "/ref")].flat().includes(ref)
                // A body that no change has changed was there before.
                const isThere = sent.has(text)
                sent.add(text)
                if (outcome === "duplicate") return isThere ? [] : ["it counts as one that was there"]
                if (isWanted !== (outcome !== "ignored")) return [`it is ${outcome}`]
                return runs > 0 && !isWanted ? ["a run begins of what was not said"] : []
              })
          })
          assert.deepStrictEqual(wrong, [])
          assert.isAbove(tried, 10)
        }).pipe(Effect.provide(services(layer)))
      )
})
