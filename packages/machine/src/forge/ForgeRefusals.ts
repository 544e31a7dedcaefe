import { cutText } from "@reins/base/base/CutText"
import { headerOf, type RefusalRow, type Refused, refusalOf } from "@reins/base/base/RefusalTable"
import type { ForgeRefusalKind } from "./ForgeRefusalKinds.js"

// The refusals of forges, as their documentation and their answers have them.

/** A table of refusals of one kind of forge. */
export type ForgeRefusals = ReadonlyArray<RefusalRow<ForgeRefusalKind>>

/** The refusals that are about the token, a limit or the health of a forge, so no client of a forge decides on them. */
const ofToken: ReadonlySet<ForgeRefusalKind> = new Set<ForgeRefusalKind>([
  "credential",
  "limit",
  "organisation",
  "permission",
  "forbidden",
  "network",
  "away"
])

export const isOfToken = (kind: ForgeRefusalKind): boolean => ofToken.has(kind)

const tooOften = "was asked too often: it is asked again after a pause."
const noPermission = "does not let the token do this: give the token the permission, or use another one."

/** Rows for every forge, before its own. */
const firstRows: ForgeRefusals = [
  { status: [429], is: "limit", mender: "time", say: tooOften },
  {
    status: [403],
    words: ["rate limit", "abuse detection", "too many requests"],
    is: "limit",
    mender: "time",
    say: tooOften
  }
]

/** Rows for every forge, after its own. The words of a refusal say more than the budget that came with it. */
const lastRows: ForgeRefusals = [
  { status: [403], header: ["retry-after"], is: "limit", mender: "time", say: tooOften },
  { status: [403], header: ["x-ratelimit-remaining", "0"], is: "limit", mender: "time", say: tooOften },
  {
    status: [401],
    is: "credential",
    mender: "person",
    say: "does not accept the token: put a valid one in the connection."
  },
  { status: [403], is: "forbidden", mender: "person", say: "does not let the token do this." },
  { status: [404, 410], is: "gone", mender: "person", say: "does not show this to the token, or has it no more." },
  {
    status: [408, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529],
    is: "away",
    mender: "time",
    say: "fails to answer: it is asked again later."
  }
]

/** The address at which a person lets a token into an organisation, where GitHub names it and it is one of the web. */
const ssoOf = (refused: Refused): string => {
  const [, url = ""] = /(?:^|[;\s])url=(https:\/\/[^\s;,]{1,500})/.exec(headerOf(refused, "x-github-sso") ?? "") ?? []
  return url === "" ? "" : ` at ${url}`
}

const permissionsOf = (refused: Refused): string => {
  const wanted = cutText(headerOf(refused, "x-accepted-github-permissions") ?? "", 200)
  return /^[\w=;, -]+$/.test(wanted) ? ` It wants ${wanted}.` : ""
}

/** The refusals of GitHub. */
export const gitHubRefusals: ForgeRefusals = [
  ...firstRows,
  {
    status: [403],
    header: ["x-github-sso"],
    is: "organisation",
    mender: "person",
    say: (refused) => `wants the token to be authorized for the organisation${ssoOf(refused)}.`
  },
  {
    status: [403],
    words: ["saml enforcement", "saml sso", "grant your oauth token access", "organization saml"],
    is: "organisation",
    mender: "person",
    say: "wants the token to be authorized for the organisation: a person does that in the settings of the token."
  },
  {
    status: [403],
    words: ["ip allow list", "ip address is not permitted"],
    is: "network",
    mender: "operator",
    say: "does not answer to the address of this service: put the address on the list of the organisation."
  },
  {
    status: [403],
    words: ["not accessible by integration", "not accessible by personal access token", "must have push access"],
    is: "permission",
    mender: "person",
    say: (refused) => `${noPermission}${permissionsOf(refused)}`
  },
  {
    status: [403],
    words: ["insufficient_scopes", "required scopes"],
    is: "permission",
    mender: "person",
    say: noPermission
  },
  {
    status: [405],
    words: ["through the merge queue", "merge queue is required"],
    is: "queue",
    mender: "person",
    say: "merges into this branch through its merge queue alone: add the request to the queue on its page."
  },
  {
    status: [405],
    words: [
      "merge commits are not allowed",
      "squash merges are not allowed",
      "rebase merges are not allowed",
      "must not contain merge commits",
      "merge method"
    ],
    is: "method",
    mender: "person",
    say: "does not take this way to merge: name another method."
  },
  {
    status: [405],
    words: ["base branch was modified"],
    is: "moving",
    mender: "time",
    waitMs: 5_000,
    say: "was changing the base branch: the merge is tried again."
  },
  {
    status: [405],
    words: [
      "is expected",
      "are expected",
      "approving review",
      "rule violation",
      "protected branch",
      "is in progress",
      "is failing"
    ],
    is: "rule",
    mender: "person",
    say: "does not merge it, because a rule of the branch is not met."
  },
  { status: [405], is: "rule", mender: "person", say: "does not merge it." },
  {
    status: [409],
    words: ["head branch was modified", "expected head sha"],
    is: "head_moved",
    mender: "person",
    say: "has another head by now."
  },
  { status: [422], words: ["already exists"], is: "exists", mender: "person", say: "has such a request already." },
  {
    status: [422],
    words: ["no commits between"],
    is: "empty",
    mender: "person",
    say: "finds no commit on the branch that the base does not have: deliver a change first."
  },
  {
    status: [422],
    words: ["draft pull requests are not supported"],
    is: "no_drafts",
    mender: "person",
    say: 'has no drafts in this repository: ask for the request with "draft": false.'
  },
  {
    status: [422],
    words: [".base: invalid", ".head: invalid", "base: invalid", "head: invalid", "base ref must be a branch"],
    is: "branch",
    mender: "person",
    say: "does not know one of the branches: name branches of this repository."
  },
  ...lastRows
]

/** The refusals of GitLab. */
export const gitLabRefusals: ForgeRefusals = [
  ...firstRows,
  {
    status: [401, 403],
    words: ["insufficient_scope", "insufficient scope", "insufficient_granular_scope"],
    is: "permission",
    mender: "person",
    say: noPermission
  },
  {
    status: [403],
    words: ["saml", "sso session", "single sign-on"],
    is: "organisation",
    mender: "person",
    say: "wants a person to sign in to the group by its SSO first."
  },
  {
    status: [403],
    words: ["ip restriction", "ip address"],
    is: "network",
    mender: "operator",
    say: "does not answer to the address of this service: put the address on the list of the group."
  },
  {
    status: [403],
    words: ["account has been blocked", "account is blocked", "account has been deactivated", "password expired"],
    is: "credential",
    mender: "person",
    say: "has blocked the account of the token: use the token of another one."
  },
  {
    status: [405],
    words: ["non get methods are not allowed for moved projects"],
    is: "gone",
    mender: "person",
    say: "has moved the project: use its present URL."
  },
  { status: [409], words: ["already exists"], is: "exists", mender: "person", say: "has such a request already." },
  { status: [409], words: ["sha does not match"], is: "head_moved", mender: "person", say: "has another head by now." },
  {
    status: [409],
    words: ["lease", "is already being", "try again"],
    is: "moving",
    mender: "time",
    waitMs: 5_000,
    say: "was changing this: it is tried again."
  },
  {
    status: [400, 422],
    words: [
      "source or target branch does not exist",
      "target branch is invalid",
      "target_branch does not exist",
      "source_branch does not exist"
    ],
    is: "branch",
    mender: "person",
    say: "does not know one of the branches: name branches of this project."
  },
  {
    status: [405, 406, 422],
    words: ["cannot be merged", "method not allowed"],
    is: "rule",
    mender: "person",
    say: "does not merge it."
  },
  ...lastRows
]

/** The refusals of Gitea and Forgejo. */
export const giteaRefusals: ForgeRefusals = [
  ...firstRows,
  {
    status: [403],
    words: ["required scope", "token is only", "token scope"],
    is: "permission",
    mender: "person",
    say: noPermission
  },
  {
    status: [403],
    words: ["prohibited to sign in", "prohibit login", "account is not activated", "must change"],
    is: "credential",
    mender: "person",
    say: "has blocked the account of the token: use the token of another one."
  },
  {
    status: [405],
    words: ["try again later"],
    is: "moving",
    mender: "time",
    waitMs: 5_000,
    say: "has not found out yet if it merges: it is asked again."
  },
  {
    status: [409],
    words: ["push out of date"],
    is: "moving",
    mender: "time",
    waitMs: 5_000,
    say: "was changing the base branch: the merge is tried again."
  },
  {
    status: [409],
    words: ["head out of date", "head target does not match"],
    is: "head_moved",
    mender: "person",
    say: "has another head by now."
  },
  {
    status: [409],
    words: ["pull request already exists"],
    is: "exists",
    mender: "person",
    say: "has such a request already."
  },
  {
    status: [409, 422],
    words: ["no commits between", "there are no changes"],
    is: "empty",
    mender: "person",
    say: "finds no commit on the branch that the base does not have: deliver a change first."
  },
  {
    status: [405],
    words: ["allowed merge style", "merge style"],
    is: "method",
    mender: "person",
    say: "does not take this way to merge: name another method."
  },
  {
    status: [405],
    words: ["not allowed to merge pr"],
    is: "permission",
    mender: "person",
    say: "does not let the account of the token merge: give it the right, or use another token."
  },
  { status: [405], is: "rule", mender: "person", say: "does not merge it." },
  ...lastRows
]

/** The rows for a forge that has no table of its own. */
export const commonRefusals: ForgeRefusals = [...firstRows, ...lastRows]

/** Reads a refusal of a forge. A status from 500 on is a forge that fails; anything else that is in no row is `other`. */
export const readForgeRefusal = (table: ForgeRefusals) => {
  const read = refusalOf(table)
  return (refused: Refused, nowMs: number) =>
    read(refused, nowMs) ?? {
      kind: refused.status >= 500 ? ("away" as const) : ("other" as const),
      mender: refused.status >= 500 ? ("time" as const) : ("person" as const),
      waitMs: null,
      say: refused.status >= 500 ? "fails to answer: it is asked again later." : "declines the request."
    }
}
