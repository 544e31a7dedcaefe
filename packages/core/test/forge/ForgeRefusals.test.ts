import { type Refused, refusalOf } from "@reins/base/base/RefusalTable"
import type { ForgeRefusalKind } from "@reins/machine/forge/ForgeRefusalKinds"
import {
  commonRefusals,
  type ForgeRefusals,
  giteaRefusals,
  gitHubRefusals,
  gitLabRefusals,
  readForgeRefusal
} from "@reins/machine/forge/ForgeRefusals"
import { assert, describe, it } from "vitest"

type Case = readonly [
  status: number,
  words: string,
  kind: ForgeRefusalKind,
  waitMs?: number | null,
  headers?: Refused["headers"]
]

const nowMs = Date.parse("2026-01-01T00:00:00Z")
const resetIn = (seconds: number, remaining: string) => ({
  "x-ratelimit-limit": "5000",
  "x-ratelimit-remaining": remaining,
  "x-ratelimit-reset": String(nowMs / 1000 + seconds)
})
const sso = "required; url=https://github.com/orgs/acme/sso?authorization_request=AB12"

/** The words are those that the documentation of each forge gives, or that its users have reported. */
const tables: Readonly<Record<string, { readonly table: ForgeRefusals; readonly cases: ReadonlyArray<Case> }>> = {
  github: {
    table: gitHubRefusals,
    cases: [
      [429, "You have exceeded a secondary rate limit.", "limit", 7_000, { "retry-after": "7" }],
      [429, "", "limit", null],
      [
        403,
        "You have exceeded a secondary rate limit. Please wait a few minutes.",
        "limit",
        null,
        resetIn(1800, "4290")
      ],
      [403, "You have exceeded a secondary rate limit.", "limit", 60_000, { "retry-after": "60" }],
      [403, "You have triggered an abuse detection mechanism.", "limit", 30_000, { "retry-after": "30" }],
      [403, "API rate limit exceeded for user ID 1.", "limit", 600_000, resetIn(600, "0")],
      [403, "API rate limit exceeded for installation ID 1.", "limit", 0, resetIn(-5, "0")],
      [403, "", "limit", 600_000, resetIn(600, "0")],
      [403, "", "limit", 9_000, { "retry-after": "9" }],
      [403, "", "limit", 3_600_000, { "retry-after": "Thu, 01 Jan 2026 01:00:00 GMT" }],
      [403, "", "limit", 24 * 3_600_000, { "retry-after": "999999999" }],
      [403, "Resource protected by organization SAML enforcement.", "organisation", null, { "x-github-sso": sso }],
      [
        403,
        "Resource protected by organization SAML enforcement. You must grant your OAuth token access.",
        "organisation"
      ],
      [
        403,
        "Although you appear to have the correct authorization credentials, the `acme` organization has an IP allow list enabled, and your IP address is not permitted to access this resource.",
        "network"
      ],
      [403, "Resource not accessible by integration", "permission", null, resetIn(600, "0")],
      [403, "Resource not accessible by personal access token", "permission"],
      [403, "Must have push access to view repository collaborators.", "permission"],
      [403, "Your token has not been granted the required scopes to execute this query.", "permission"],
      [403, "Must have admin rights to Repository.", "forbidden"],
      [401, "Bad credentials", "credential"],
      [404, "Not Found", "gone"],
      [410, "Issues are disabled for this repo", "gone"],
      [405, "Repository rule violations found Changes must be made through the merge queue", "queue"],
      [405, "Merge commits are not allowed on this repository.", "method"],
      [405, "Squash merges are not allowed on this repository.", "method"],
      [405, "Rebase merges are not allowed on this repository.", "method"],
      [405, "This branch must not contain merge commits.", "method"],
      [405, "Base branch was modified. Review and try the merge again.", "moving", 5_000],
      [405, 'Required status check "build" is expected.', "rule"],
      [405, "At least 1 approving review is required by reviewers with write access.", "rule"],
      [405, "Repository rule violations found", "rule"],
      [405, "3 of 3 required status checks are expected.", "rule"],
      [405, "Pull Request is not mergeable", "rule"],
      [409, "Head branch was modified. Review and try the merge again.", "head_moved"],
      [409, "Git Repository is empty.", "other"],
      [422, "Validation Failed; PullRequest: A pull request already exists for acme:work.", "exists"],
      [422, "Validation Failed; PullRequest: No commits between main and work", "empty"],
      [422, "Draft pull requests are not supported in this repository.", "no_drafts"],
      [422, "Validation Failed; PullRequest.base: invalid", "branch"],
      [422, "Validation Failed; PullRequest.head: invalid", "branch"],
      [422, "Validation Failed; PullRequest.title: too_long", "other"],
      [502, "Server Error", "away", null],
      [503, "", "away", 120_000, { "retry-after": "120" }],
      [599, "", "away", null],
      [451, "Repository access blocked", "other"]
    ]
  },
  gitlab: {
    table: gitLabRefusals,
    cases: [
      [
        429,
        "Retry later",
        "limit",
        60_000,
        { "retry-after": "60", "ratelimit-remaining": "0", "ratelimit-reset": "1" }
      ],
      [429, "Too many requests", "limit", 45_000, { "ratelimit-remaining": "0", "ratelimit-reset": "45" }],
      [403, "You are being rate limited; rate limit exceeded", "limit", null],
      [403, "", "limit", 5_000, { "retry-after": "5" }],
      [403, "", "limit", 45_000, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "45" }],
      [
        403,
        "insufficient_scope; The request requires higher privileges than provided by the access token.; scope api",
        "permission"
      ],
      [401, "insufficient_scope", "permission"],
      [401, "401 Unauthorized", "credential"],
      [401, "invalid_token; Token was revoked. You have to re-authorize from the user.", "credential"],
      [403, "403 Forbidden", "forbidden"],
      [403, "403 Forbidden - Your account has been blocked by your administrator.", "credential"],
      [403, "Find your group's SAML session", "organisation"],
      [403, "The group has an IP restriction", "network"],
      [404, "404 Project Not Found", "gone"],
      [405, "Non GET methods are not allowed for moved projects", "gone"],
      [409, "Another open merge request already exists for this source branch: !4", "exists"],
      [409, "SHA does not match HEAD of source branch: abc", "head_moved"],
      [409, "Failed to obtain a lease, try again", "moving", 5_000],
      [400, "base The source or target branch does not exist", "branch"],
      [405, "405 Method Not Allowed", "rule"],
      [406, "Branch cannot be merged", "rule"],
      [422, "Branch cannot be merged", "rule"],
      [422, "title is too long", "other"],
      [500, "500 Internal Server Error", "away"]
    ]
  },
  gitea: {
    table: giteaRefusals,
    cases: [
      [429, "", "limit", null],
      [403, "too many requests", "limit", null],
      [403, "", "limit", 5_000, { "retry-after": "5" }],
      [403, "", "limit", 60_000, resetIn(60, "0")],
      [403, "token does not have at least one of required scope(s): [read:user]", "permission"],
      [403, "token is only limited to public repos", "permission"],
      [403, "This account is prohibited to sign in, please contact your site administrator.", "credential"],
      [401, "invalid username, password or token", "credential"],
      [403, "Only signed in user is allowed to call APIs.", "forbidden"],
      [404, "The target couldn't be found.", "gone"],
      [405, "Please try again later", "moving", 5_000],
      [405, "Work in progress PRs cannot be merged", "rule"],
      [405, "not allowed to merge [reason: Does not have enough approvals]", "rule"],
      [405, "not allowed to merge [reason: Not all required status checks successful]", "rule"],
      [405, "not allowed to merge [reason: The head branch is behind the base branch]", "rule"],
      [405, "squash is not an allowed merge style for this repository", "method"],
      [405, "User not allowed to merge PR", "permission"],
      [409, "head out of date", "head_moved"],
      [409, "head target does not match", "head_moved"],
      [409, "merge push out of date", "moving", 5_000],
      [409, "pull request already exists for these targets [id: 4, issue_id: 4]", "exists"],
      [409, "Merge of 1 failed: conflict", "other"],
      [422, "there are no changes between the head and the base", "empty"],
      [423, "repository is archived", "other"],
      [502, "", "away"]
    ]
  },
  "a forge of one's own": {
    table: commonRefusals,
    cases: [
      [429, "", "limit", null],
      [403, "rate limit", "limit", null],
      [403, "", "limit", 5_000, { "retry-after": "5" }],
      [403, "", "limit", 60_000, resetIn(60, "0")],
      [401, "", "credential"],
      [403, "no", "forbidden"],
      [404, "", "gone"],
      [500, "", "away"],
      [405, "Merge commits are not allowed", "other"]
    ]
  }
}

describe("the refusals of forges", () => {
  for (const [name, { cases, table }] of Object.entries(tables)) {
    const read = readForgeRefusal(table)

    it(`${name}: the words, the status and the headers say what it is, and how long to wait`, () => {
      for (const [status, words, kind, waitMs = null, headers = {}] of cases) {
        const known = read({ status, headers, words }, nowMs)
        assert.deepInclude(known, { kind, waitMs: waitMs ?? known.waitMs }, `${status} ${words}`)
        if (known.kind === "limit") assert.strictEqual(known.waitMs, waitMs, `${status} ${words}`)
        assert.notMatch(known.say, /base URL|undefined/)
        assert.match(known.say, /\.$/, `${status} ${words}`)
      }
    })

    it(`${name}: words in any case, between others and after a line are the same`, () => {
      for (const [status, words, kind, , headers = {}] of cases)
        for (const said of [words.toUpperCase(), `Sorry. ${words} See the documentation.`, `x\n${words}`])
          assert.strictEqual(read({ status, headers, words: said }, nowMs).kind, kind, `${status} ${said}`)
    })

    it(`${name}: every row of the table has a case that reaches it`, () => {
      const reached = new Set(
        cases.map(([status, words, , , headers = {}]) =>
          table.find((row) => refusalOf([row])({ status, headers, words }, nowMs) !== undefined)
        )
      )
      const missing = table.filter((row) => !reached.has(row))
      assert.deepStrictEqual(
        missing.map(({ is, words }) => [is, words]),
        []
      )
    })
  }

  it("an organisation is told with the address at which a person lets the token in, and with no other", () => {
    const read = readForgeRefusal(gitHubRefusals)
    const say = (header: string) => read({ status: 403, headers: { "x-github-sso": header }, words: "" }, nowMs).say
    assert.include(say(sso), " at https://github.com/orgs/acme/sso?authorization_request=AB12.")
    for (const other of [
      "partial-results; organizations=1",
      "required",
      "required; url=javascript:alert(1)",
      "url=http://x"
    ])
      assert.notInclude(say(other), " at ")
    const wants = { "x-accepted-github-permissions": "pull_requests=write; contents=write" }
    const words = "Resource not accessible by integration"
    assert.include(
      read({ status: 403, headers: wants, words }, nowMs).say,
      "It wants pull_requests=write; contents=write."
    )
  })
})
