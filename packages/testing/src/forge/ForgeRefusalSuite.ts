import { assert, describe, it } from "@effect/vitest"
import type { ForgeErrorKind } from "@reins/machine/forge/ForgeCalls"
import { Effect } from "effect"
import type { Canned } from "./ForgeServer.js"
import { allowed, type ForgeSubject, forgeOf, request } from "./ForgeSuite.js"

const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Canned => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body)
})

const message = (status: number, words: string, headers?: Readonly<Record<string, string>>) =>
  json(status, { message: words }, headers)

type Row = readonly [refusal: Canned, kind: ForgeErrorKind, says: RegExp]

/** The refusals of a merge, in the words of each forge. */
const ofMerge: Readonly<Record<string, ReadonlyArray<Row>>> = {
  github: [
    [message(405, "Merge commits are not allowed on this repository."), "not_mergeable", /another method/],
    [message(405, "Changes must be made through the merge queue"), "not_mergeable", /merge queue alone/],
    [message(405, 'Required status check "build" is expected.'), "not_mergeable", /rule of the branch.*"build"/],
    [message(405, "Base branch was modified. Review and try the merge again."), "unavailable", /tried again/],
    [message(409, "Head branch was modified."), "remote_head_changed", /another head/],
    [message(403, "Resource not accessible by integration"), "forbidden", /permission/],
    [message(422, "Something that nobody has seen"), "not_mergeable", /nobody has seen/]
  ],
  gitlab: [
    [message(405, "405 Method Not Allowed"), "not_mergeable", /does not merge it/],
    [message(422, "Branch cannot be merged"), "not_mergeable", /does not merge it/],
    [message(409, "SHA does not match HEAD of source branch: x"), "remote_head_changed", /another head/],
    [message(401, "401 Unauthorized"), "forbidden", /does not let the account of the token merge/]
  ],
  gitea: [
    [message(405, "squash is not an allowed merge style for this repository"), "not_mergeable", /another method/],
    [
      message(405, "not allowed to merge [reason: Does not have enough approvals]"),
      "not_mergeable",
      /enough approvals/
    ],
    [message(405, "User not allowed to merge PR"), "forbidden", /does not let the account/],
    [message(409, "merge push out of date"), "unavailable", /tried again/],
    [message(409, "head out of date"), "remote_head_changed", /another head/],
    [message(409, "Merge conflict in a.txt"), "not_mergeable", /conflict in a\.txt/]
  ]
}

/** The promises about refusals of one kind of forge: what they are, what they say, and that no limit is taken for a lack of rights. */
export const forgeRefusalSuite = (subject: ForgeSubject): void => {
  const { kind } = subject.forge
  describe(`refusals of ${kind}`, () => {
    it.scopedLive("of a merge are read by their words", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        const { headSha, number } = yield* forge.create(request)
        for (const [canned, expected, says] of ofMerge[kind] ?? []) {
          server.canned.push(canned)
          const error = yield* Effect.flip(forge.merge(number, { expectedHead: headSha, method: "merge" }))
          assert.strictEqual(error.kind, expected, canned.body)
          assert.match(error.message, says)
          assert.strictEqual((yield* forge.get(number)).state, "open")
        }
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("for a number of calls name the pause that the forge wants, and no lack of rights", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        const limits: ReadonlyArray<readonly [Canned, number | undefined]> = [
          [message(403, "You have exceeded a secondary rate limit.", { "x-ratelimit-remaining": "42" }), undefined],
          [message(403, "You have exceeded a secondary rate limit.", { "retry-after": "61" }), 61_000],
          [message(429, "Too many requests", { "retry-after": "5" }), 5_000],
          [message(429, "", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "30" }), 30_000],
          [json(429, "Retry later"), undefined]
        ]
        for (const [canned, pauseMs] of limits) {
          server.canned.push(canned)
          const error = yield* Effect.flip(forge.create(request))
          assert.deepStrictEqual([error.kind, error.retryAfterMs], ["rate_limited", pauseMs])
          assert.notMatch(error.message, /permission|base URL|credential/)
        }
        assert.deepStrictEqual(server.pulls, [])
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("guess no cause: the base URL is named for a page of people alone", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        yield* forge.create(request)
        const answers: ReadonlyArray<readonly [Canned, RegExp]> = [
          [{ status: 200, body: "<!doctype html><title>Sign in</title>" }, /check the base URL/],
          [{ status: 200, body: '{"number": 1' }, /no JSON, so nothing is taken/],
          [json(200, { number: "one", iid: "one" }), /form that is not known \(field "(number|iid)"\)/],
          [json(200, null), /form that is not known/],
          [json(200, []), /form that is not known/]
        ]
        for (const [canned, says] of answers) {
          server.canned.push(canned)
          const error = yield* Effect.flip(forge.get(1))
          assert.strictEqual(error.kind, "unavailable")
          assert.match(error.message, says)
          if (!String(says).includes("base URL")) assert.notInclude(error.message, "base URL")
        }
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("of a path without its slash are followed, with the query", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        yield* forge.find(request)
        const [path = "", query = ""] = (server.seen.at(-1)?.path ?? "").split("?")
        for (const status of [301, 302, 307, 308]) {
          server.canned.push({ status, headers: { location: `${path}/` } }, json(200, []))
          assert.isUndefined(yield* forge.find(request))
          assert.strictEqual(server.seen.at(-1)?.path, `${path}/?${query}`)
        }
      }).pipe(Effect.provide(allowed))
    )
    if (kind === "github") ofGitHub(subject)
    if (kind === "gitlab") ofGitLab(subject)
  })
}

const ofGitHub = (subject: ForgeSubject): void => {
  it.scopedLive("of a draft where there are none has the pull request opened ready for review, once", () =>
    Effect.gen(function* () {
      const { forge, server } = yield* forgeOf(subject)
      const noDrafts = message(422, "Draft pull requests are not supported in this repository.")
      server.canned.push(noDrafts)
      assert.isFalse((yield* forge.create({ ...request, draft: true })).draft)
      assert.lengthOf(server.pulls, 1)
      server.canned.push(noDrafts, noDrafts)
      const error = yield* Effect.flip(forge.create({ ...request, base: "develop", draft: true }))
      assert.match(error.message, /"draft": false/)
      const invalid = { resource: "PullRequest", field: "base", code: "invalid" }
      const empty = { resource: "PullRequest", code: "custom", message: "No commits between main and work" }
      for (const [problem, says] of [
        [invalid, /name branches of this repository.*PullRequest\.base: invalid/],
        [empty, /deliver a change first/]
      ] as const) {
        server.canned.push(json(422, { message: "Validation Failed", errors: [problem] }))
        const refused = yield* Effect.flip(forge.create({ ...request, base: "develop", draft: true }))
        assert.strictEqual(refused.kind, "rejected")
        assert.match(refused.message, says)
      }
      assert.lengthOf(server.pulls, 1)
    }).pipe(Effect.provide(allowed))
  )

  it.scopedLive("within an answer of 200 of GraphQL count as their type says, also beside data", () =>
    Effect.gen(function* () {
      const { forge, server } = yield* forgeOf(subject)
      const { number } = yield* forge.create(request)
      const changed = { pullRequest: { isDraft: true } }
      const rows: ReadonlyArray<readonly [type: string | undefined, data: unknown, kind: ForgeErrorKind]> = [
        ["RATE_LIMITED", null, "rate_limited"],
        ["FORBIDDEN", { changed: null }, "forbidden"],
        ["INSUFFICIENT_SCOPES", undefined, "forbidden"],
        ["NOT_FOUND", null, "not_found"],
        ["SERVICE_UNAVAILABLE", null, "unavailable"],
        ["UNPROCESSABLE", { changed }, "rejected"],
        [undefined, { changed }, "rejected"],
        ["A_TYPE_OF_TOMORROW", null, "rejected"]
      ]
      for (const [type, data, expected] of rows) {
        server.canned.push(json(200, { number, node_id: "PR_1", draft: false }))
        server.canned.push(json(200, { data, errors: [{ type, message: "Something is said." }] }))
        const error = yield* Effect.flip(forge.setDraft(number, true))
        assert.strictEqual(error.kind, expected, type)
        assert.include(error.message, "Something is said.")
      }
    }).pipe(Effect.provide(allowed))
  )
}

const ofGitLab = (subject: ForgeSubject): void => {
  it.scopedLive("in an answer of 200 to a merge are refusals", () =>
    Effect.gen(function* () {
      const { forge, server } = yield* forgeOf(subject)
      const { headSha, number } = yield* forge.create(request)
      const merge = forge.merge(number, { expectedHead: headSha, method: "merge" })
      server.canned.push(json(200, { iid: number, state: "opened", merge_error: "Merge failed: hook declined." }))
      const error = yield* Effect.flip(merge)
      assert.deepInclude(error, { kind: "not_mergeable" })
      assert.include(error.message, "hook declined.")
      for (const merge_error of [null, "", undefined]) {
        server.canned.push(json(200, { iid: number, state: "opened", merge_error }))
        yield* merge
      }
      server.canned.push(json(200, { iid: number, state: "merged", merge_error: "an old one" }))
      yield* merge
    }).pipe(Effect.provide(allowed))
  )

  it.scopedLive("of a merge have the reason that the merge request tells, and one that passes is asked again", () =>
    Effect.gen(function* () {
      const { forge, server } = yield* forgeOf(subject)
      const { headSha, number } = yield* forge.create(request)
      const rows: ReadonlyArray<readonly [word: string, kind: ForgeErrorKind, says: RegExp]> = [
        ["not_approved", "not_mergeable", /lacks an approval/],
        ["discussions_not_resolved", "not_mergeable", /thread is not resolved/],
        ["need_rebase", "not_mergeable", /rebased/],
        ["ci_still_running", "unavailable", /pipeline has not ended/],
        ["checking", "unavailable", /computing/],
        ["constructor", "not_mergeable", /"constructor"/],
        ["a_word_of_tomorrow", "not_mergeable", /"a_word_of_tomorrow"/]
      ]
      for (const [detailed_merge_status, expected, says] of rows) {
        server.canned.push(message(405, "405 Method Not Allowed"), json(200, { detailed_merge_status }))
        const error = yield* Effect.flip(forge.merge(number, { expectedHead: headSha, method: "merge" }))
        assert.strictEqual(error.kind, expected)
        assert.match(error.message, says)
      }
    }).pipe(Effect.provide(allowed))
  )
}
