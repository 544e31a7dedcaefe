import { assert, describe, it } from "@effect/vitest"
import { allowed } from "@reins/testing/forge/ForgeSuite"
import { Effect } from "effect"
import { recordedForge } from "./RecordedForge.js"

const forges = ["github", "gitlab", "gitea"] as const

interface Facts {
  readonly login: string
  readonly branches: { readonly head: string; readonly base: string }
  readonly checks: ReadonlyArray<string>
  /** The states of the reviews. One that is still being written is none. */
  readonly reviews: ReadonlyArray<string>
  readonly threads: number
  readonly hook: { readonly url: string; readonly id: string }
  /** An account whose right the answer tells. Null where nobody has published one. */
  readonly writer: string | null
  readonly rules: ReadonlyArray<string>
}

/** Fields of the published answers. */
const facts: Readonly<Record<(typeof forges)[number], Facts>> = {
  github: {
    login: "octocat",
    branches: { head: "new-topic", base: "master" },
    checks: ["mighty_readme", "continuous-integration/jenkins", "security/brakeman"],
    reviews: ["approved"],
    threads: 2,
    hook: { url: "https://example.com/webhook", id: "12345678" },
    writer: "octocat",
    rules: ["commit_message_pattern", "commit_author_email_pattern"]
  },
  gitlab: {
    login: "john_smith",
    branches: { head: "use-structured-logging-for-db-load-balancer", base: "master" },
    checks: ["default", "test"],
    reviews: ["approved"],
    threads: 3,
    hook: { url: "http://example.com/hook", id: "1" },
    writer: "venkatesh_thalluri",
    rules: []
  },
  gitea: {
    login: "jcitizen",
    branches: { head: "feature", base: "master" },
    checks: ["continuous-integration/drone"],
    reviews: [],
    threads: 1,
    hook: { url: "http://gogs.io", id: "20" },
    writer: null,
    rules: []
  }
}

const namesOf = (name: string, list: unknown): ReadonlyArray<unknown> =>
  Array.isArray(list) ? list.map((each) => Object(each)[name]) : []

for (const forge of forges)
  describe(`the published answers of ${forge}`, () => {
    it.scopedLive("are read without an odd element, in each part of a merge request", () =>
      Effect.gen(function* () {
        const recorded = yield* recordedForge(forge)
        const view = yield* recorded.forge.view(1, {})
        const values = (["request", "checks", "reviews", "threads"] as const).map((part) => {
          const read = view[part]
          if (read.state !== "read") return assert.fail(`${part}: ${JSON.stringify(read)}`)
          assert.deepStrictEqual(read.odd, [], part)
          assert.isTrue(read.complete, part)
          return read.value
        })
        const told = facts[forge]
        const [, checks, reviews, threads] = values
        assert.deepStrictEqual(
          [namesOf("name", checks), namesOf("state", reviews), namesOf("forgeId", threads).length],
          [told.checks, told.reviews, told.threads]
        )
        assert.deepStrictEqual(view.memory.refused ?? {}, {})
        assert.deepStrictEqual(recorded.unknown, [])
        console.log(`recordings: a view of ${forge} reads ${new Set(recorded.asked).size} published answers`)
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("are read by what Reins does on the forge", () =>
      Effect.gen(function* () {
        const { forge: client, hooks, login, unknown } = yield* recordedForge(forge)
        const told = facts[forge]
        assert.strictEqual(yield* login, told.login)
        assert.isDefined(yield* client.find(told.branches))
        const created = yield* client.create({ ...told.branches, title: "t", description: "d", draft: false })
        assert.deepStrictEqual(yield* client.get(created.number), created)
        assert.match(created.webUrl ?? "", /^https?:/)
        yield* client.merge(1, { expectedHead: "c".repeat(40), method: "merge" })
        assert.isUndefined(yield* client.posted(1, "a mark that nobody wrote"))
        assert.isNotEmpty((yield* client.reply(1, "Hello.")).forgeId)
        const { demands } = yield* client.rules("main")
        assert.deepStrictEqual(
          demands.flatMap((demand) => (demand.kind === "rule" ? [demand.rule] : [])),
          [...told.rules]
        )
        if (told.writer !== null) assert.strictEqual(yield* client.access(told.writer), "write")
        assert.strictEqual(yield* hooks.find(told.hook.url), told.hook.id)
        assert.deepStrictEqual(unknown, [])
      }).pipe(Effect.provide(allowed))
    )
  })

describe("the published protection of a branch of github", () => {
  it.scopedLive("is read where the branch says that it has one", () =>
    Effect.gen(function* () {
      const isProtected = (text: string) =>
        text.replace('"protection":{"enabled":false', '"protection":{"enabled":true')
      const { asked, forge } = yield* recordedForge("github", isProtected)
      const { demands } = yield* forge.rules("main")
      assert.include(asked.join(), "/protection")
      assert.deepStrictEqual(
        demands.map((demand) => (demand.kind === "rule" ? demand.rule : demand.kind)),
        [
          "commit_message_pattern",
          "commit_author_email_pattern",
          "approvals",
          "last_push",
          "code_owner_review",
          "threads",
          "methods",
          "lock_branch"
        ]
      )
    }).pipe(Effect.provide(allowed))
  )
})
