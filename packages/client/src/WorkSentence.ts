import type { WorkItem } from "./generated/Resources.js"
import { listed } from "./WaitingSentence.js"

type Request = NonNullable<WorkItem["merge_request"]>

const some = (count: number | null | undefined, one: string): string =>
  count === null || count === undefined || count === 1 ? `a ${one}` : `${count} ${one}s`

const needs: Readonly<Record<Request["waits_for"][number], (request: Request) => string>> = {
  conflicts: () => "conflicts with its base branch",
  checks_failing: ({ checks }) => some(checks?.failing, "failed check"),
  checks_unreadable: () => "checks that cannot be read",
  changes_requested: () => "changes that a reviewer asks for",
  open_threads: ({ threads }) => some(threads, "open thread").replace("a open", "an open")
}

// A newer server may know more than this client does.
const known = <Words extends object>(words: Words, key: string): Words[keyof Words] | undefined =>
  Object.hasOwn(words, key) ? words[key as keyof Words] : undefined

const lefts: Readonly<Record<NonNullable<WorkItem["left"]>, string>> = {
  care_handed_over: "Its merge request was left to you",
  care_proposed: "A change for its merge request waits for you",
  conditions_given_up: "Its merge request is no longer merged by itself"
}

const named = (request: Request | null): string =>
  request === null || request.number === null ? "Its merge request" : `#${request.number} into ${request.base_branch}`

const reasonOf = (thing: { readonly reason_message: string | null } | null): string =>
  thing?.reason_message ? `: ${thing.reason_message.replace(/\.$/, "")}` : ""

const sentences: Readonly<Record<WorkItem["state"], (item: WorkItem) => string>> = {
  asks: ({ questions }) => `Asks you: ${questions[0]?.title ?? "a question"}${more(questions.length)}`,
  interrupted: ({ turn }) => `The end of a turn was not seen${reasonOf(turn)}`,
  running: ({ delivery }) =>
    delivery?.state === "pending" || delivery?.state === "executing" ? `Pushes to ${delivery.branch}` : "Works",
  queued: () => "Waits for its turn",
  blocked: ({ delivery }) => `The push to ${delivery?.branch ?? "its branch"} is blocked${reasonOf(delivery)}`,
  failed: ({ delivery, merge_request, turn }) => {
    if (delivery?.state === "failed") return `The push to ${delivery.branch} failed${reasonOf(delivery)}`
    if (merge_request?.state === "failed") return `The merge request could not be opened${reasonOf(merge_request)}`
    return `The turn failed${reasonOf(turn)}`
  },
  handed_over: ({ left }) => (left === null ? undefined : known(lefts, left)) ?? "It was left to you",
  needs_changes: ({ merge_request }) =>
    merge_request === null
      ? "Its merge request needs you"
      : `${named(merge_request)} has ${listed(merge_request.waits_for.map((need) => known(needs, need)?.(merge_request) ?? need.replaceAll("_", " ")))}`,
  in_review: ({ merge_request }) => `${named(merge_request)} is open`,
  merged: ({ merge_request }) => `${named(merge_request)} is merged`,
  delivered: ({ delivery }) => `Its change is on ${delivery?.branch ?? "its branch"}`,
  review: ({ changeset }) =>
    changeset === null
      ? "A change waits for your review"
      : `A change waits for your review: ${changeset.files} ${changeset.files === 1 ? "file" : "files"}, +${changeset.additions} -${changeset.deletions}`,
  idle: ({ turn }) => (turn === null ? "Nothing was said yet" : "Nothing waits")
}

const more = (count: number): string => (count > 1 ? `, and ${count - 1} more` : "")

/**
 * One line for people, without a point at its end: what a session of `workspaces.listWork` waits for. Titles of questions and reasons are the words of
 * others, so escape the line where you show it.
 */
export const workSentence = (item: WorkItem): string =>
  known(sentences, item.state)?.(item) ?? item.state.replaceAll("_", " ")
