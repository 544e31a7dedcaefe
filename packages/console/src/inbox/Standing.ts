import type { Interaction, WorkItem } from "@reins/client"
import { count } from "../words/Words.js"

/** A session as the server lists it, with what its agent asks. */
export interface Standing {
  readonly item: WorkItem
  /** The questions that wait for an answer, as far as they were read. */
  readonly interactions: ReadonlyArray<Interaction>
}

/** The types of events that move a session in the list. */
export const standingTypes = ["turn.*", "changeset.*", "delivery.*", "merge_request.*", "session.*"] as const

const leftWords: Readonly<Record<NonNullable<WorkItem["left"]>, string>> = {
  care_handed_over: "left to a person",
  care_proposed: "a change is proposed",
  conditions_given_up: "no longer merged by itself"
}

type Request = NonNullable<WorkItem["merge_request"]>

const needWords: Readonly<Record<Request["waits_for"][number], (request: Request) => string>> = {
  conflicts: () => "conflicts",
  checks_failing: ({ checks }) => count(checks?.failing ?? 0, "failed check"),
  checks_unreadable: () => "checks not read",
  changes_requested: () => "changes requested",
  open_threads: ({ threads }) => count(threads ?? 0, "open thread")
}

/** The words for what a person has to do about a merge request; empty for nothing. */
export const requestNeeds = ({ left, merge_request }: WorkItem): ReadonlyArray<string> => {
  // A page that was loaded before an upgrade of the server does not know all of its words.
  if (left !== null) return [leftWords[left] ?? left.replaceAll("_", " ")]
  if (merge_request === null) return []
  return merge_request.waits_for.map((need) => needWords[need]?.(merge_request) ?? need.replaceAll("_", " "))
}

/** The parts of the inbox, in their order. */
export const sections = ["needs_you", "running", "ready_to_review", "failed", "delivered", "quiet"] as const
export type Section = (typeof sections)[number]

const sectionsOfStates: Readonly<Record<WorkItem["state"], Section>> = {
  asks: "needs_you",
  interrupted: "needs_you",
  blocked: "needs_you",
  handed_over: "needs_you",
  needs_changes: "needs_you",
  running: "running",
  queued: "running",
  review: "ready_to_review",
  failed: "failed",
  in_review: "delivered",
  delivered: "delivered",
  merged: "delivered",
  idle: "quiet"
}

/** The part of the inbox that a session belongs to. A session that works for another one leaves its changes to that one. */
export const sectionOf = ({ item: { state, view } }: Standing): Section => {
  const section = sectionsOfStates[state] ?? (view === "waiting" ? "needs_you" : "quiet")
  return view === "open" && (section === "ready_to_review" || section === "failed") ? "quiet" : section
}
