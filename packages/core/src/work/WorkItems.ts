import { usageOf } from "../sessions/rows/Session.js"
import type { SessionHead } from "../sessions/SessionHeads.js"
import type { WorkItem } from "./Work.js"
import { needsOf, type WorkFacts } from "./WorkFacts.js"
import type { SeenRow } from "./WorkLists.js"
import { factsOf } from "./WorkStore.js"

/** Nobody answers more from a list. The session has all of them. */
const mostQuestions = 20

/** A session as a list shows it. */
export const toItem = (row: SeenRow, head: SessionHead): WorkItem => {
  const facts = factsOf(row)
  const { changeset, delivery, left, questions } = facts
  return {
    ...ofHead(head),
    state: row.state,
    view: row.view,
    since: row.since,
    unread: row.unread,
    turn: turnOf(facts),
    questions: questions.slice(0, mostQuestions),
    changeset,
    delivery,
    merge_request: requestOf(facts),
    left
  }
}

/** The same for one that has had no turn. */
export const untouchedItem = (head: SessionHead): WorkItem => ({
  ...ofHead(head),
  state: "idle",
  view: head.lifecycle === "open" ? "open" : "archived",
  since: head.created_at,
  unread: false,
  turn: null,
  questions: [],
  changeset: null,
  delivery: null,
  merge_request: null,
  left: null
})

const ofHead = (head: SessionHead) => ({
  session_id: head.id,
  short_id: head.id.slice(-4),
  title: head.title,
  labels: JSON.parse(head.labels),
  lifecycle: head.lifecycle,
  project_id: head.project?.id ?? null,
  parent_session_id: head.parent_session_id,
  repository: head.repository,
  provider_id: head.provider_id,
  event_watermark: head.event_watermark,
  cost_usd: usageOf(head.usage).cost_usd,
  created_at: head.created_at
})

const turnOf = ({ turn }: WorkFacts): WorkItem["turn"] =>
  turn === null ? null : { id: turn.id, state: turn.state, reason: turn.reason, reason_message: turn.reason_message }

const requestOf = (facts: WorkFacts): WorkItem["merge_request"] => {
  if (facts.mergeRequest === null) return null
  const { changesRequested: _r, checksUnreadable: _c, conflicts: _x, ...request } = facts.mergeRequest
  return { ...request, waits_for: needsOf(facts) }
}
