import type { MergeRequest } from "./generated/Resources.js"

type Standing = NonNullable<MergeRequest["standing"]>
type Waiting = Standing["waiting_for"][number]

/** One thing that is waited for, of a kind that a look may know. */
interface Thing {
  readonly kind: string
  readonly message: string
  readonly names: ReadonlyArray<string>
}

/** Words as a list in a sentence. */
export const listed = (words: ReadonlyArray<string>): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`

const checks = (which: string, names: ReadonlyArray<string>): string =>
  names.length === 0 ? `a ${which} check` : `the ${which} ${names.length === 1 ? "check" : "checks"} ${listed(names)}`

/** Each kind as the end of the sentence that begins with "It waits for". */
const things: Readonly<Record<Waiting["kind"], (names: ReadonlyArray<string>, standing: Standing | null) => string>> = {
  forge_unreadable: () => "the forge, which cannot be read",
  draft: () => "somebody who marks it as ready",
  conflicts: () => "somebody who resolves its conflict with the base branch",
  conflicts_unknown: () => "the forge, which looks for conflicts",
  checks_unreadable: () => "checks that cannot be read",
  checks_failing: (names) => checks("failed", names),
  checks_red_on_base: (names) =>
    `somebody who mends ${names.length === 1 ? "the check" : "the checks"} ${listed(names)} on the base branch`,
  base_checks_unreadable: () => "the checks of the base branch, which cannot be read",
  checks_pending: (names) => checks("running", names),
  checks_incomplete: () => "checks beyond those that are read",
  no_check_reports: () => "a first check of this commit",
  reviews_unreadable: () => "reviews that cannot be read",
  reviews_incomplete: () => "reviews beyond those that are read",
  changes_requested: (_, standing) =>
    (standing?.reviews.changes_requested ?? 1) > 1
      ? "reviewers who ask for changes"
      : "a reviewer who asks for changes",
  threads_unreadable: () => "comments that cannot be read",
  threads_incomplete: () => "comments beyond those that are read",
  open_threads: (_, standing) =>
    (standing?.threads.open ?? 1) === 1 ? "an open thread" : `${standing?.threads.open} open threads`,
  forge_blocks: (names) => `the forge, which would not merge it${names.length === 0 ? "" : ` (${listed(names)})`}`
}

// A newer server may know a kind that this client does not.
const isKnown = (kind: string): kind is Waiting["kind"] => Object.hasOwn(things, kind)

/** The end of a sentence that tells what is waited for. A kind that is not known here has the words of the server. */
export const phraseOf = (standing: Standing | null, { kind, message, names }: Thing): string =>
  isKnown(kind) ? things[kind](names, standing) : message.replace(/\.$/, "")

/**
 * One sentence for people: where a merge request stands, and all that an open one waits for. Names of checks are the words of others, so escape
 * the sentence where you show it.
 */
export const waitingSentence = ({
  reason_message,
  standing,
  state
}: Pick<MergeRequest, "reason_message" | "standing" | "state">): string => {
  switch (state) {
    case "pending":
      return "It is being opened on the forge."
    case "failed":
      return `It could not be opened. ${reason_message ?? ""}`.trimEnd()
    case "merged":
      return "It is merged."
    case "closed":
      return "It was closed without a merge."
    case "open":
      if (standing === null) return "The forge has not been read yet."
      if (standing.waiting_for.length > 0)
        return `It waits for ${listed(standing.waiting_for.map((each) => phraseOf(standing, each)))}.`
      return standing.checks.state === "none"
        ? "Nothing is in the way of a merge. No check has reported."
        : "Nothing is in the way of a merge."
  }
}
