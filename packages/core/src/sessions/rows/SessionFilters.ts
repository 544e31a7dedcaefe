import type { Fragment } from "@effect/sql/Statement"
import type { PageRequest } from "@reins/base/domain/Page"
import type { Database } from "../../store/Database.js"
import type { SessionActivity, SessionLifecycle } from "./Session.js"
import { activityCondition } from "./SessionActivity.js"
import { labelled } from "./SessionLabels.js"
import { isUnsettled } from "./TurnConditions.js"

/** The sessions of a list; what is left out does not matter. */
export interface SessionFilter extends PageRequest {
  readonly lifecycle?: SessionLifecycle
  readonly activity?: SessionActivity
  readonly project_id?: string
  /** The list has the sessions of the repository with exactly this address only. */
  readonly repository_url?: string
  /** The list has the child sessions of this session only. */
  readonly parent_session_id?: string
  /** `name=value`: the list has the sessions with this label only. The first `=` ends the name. */
  readonly label?: string
  /** The list has the sessions only whose title or one of whose messages has these words, the last of which may go on. */
  readonly q?: string
}

/** The tables and the condition, with order and limit, of one page of sessions. */
export interface SessionSelection {
  readonly from: Fragment
  readonly where: Fragment
}

/** A page of sessions below an id. `found` is the condition of a search. */
export interface SessionPage {
  readonly before: string
  readonly limit: number
  readonly found?: Fragment
}

/** The selection of a page without the words of its search. Each filter walks an index of its own, so a page costs what it shows. */
export const selectionOf = (
  db: Database["Type"],
  workspaceId: string,
  filter: SessionFilter,
  { before, found, limit }: SessionPage
): SessionSelection => {
  const { sql } = db
  const { activity, label, lifecycle, parent_session_id, project_id, repository_url } = filter
  const byLabel = label === undefined ? undefined : labelled(db, workspaceId, label, before)
  const conditions = sql.and([
    sql`sessions.workspace_id = ${workspaceId}`,
    sql`sessions.id < ${before}`,
    sql`sessions.deleting_at is null`,
    ...(byLabel === undefined ? [] : [byLabel.where]),
    ...(lifecycle === undefined ? [] : [sql`sessions.lifecycle = ${lifecycle}`]),
    ...(project_id === undefined ? [] : [sql`sessions.project_id = ${project_id}`]),
    ...(parent_session_id === undefined ? [] : [sql`sessions.parent_session_id = ${parent_session_id}`]),
    ...(repository_url === undefined
      ? []
      : [sql`sessions.id in (select session_id from working_trees where repository = ${repository_url})`]),
    ...(found === undefined ? [] : [found]),
    ...(activity === undefined ? [] : [sql.literal(activityCondition(activity))]),
    // Few sessions have a turn that waits, runs or holds the queue, so those are found from their turns.
    ...(activity === undefined || activity === "idle" ? [] : [sql.literal(hasUnsettledTurn)])
  ])
  const order = sql.literal(byLabel === undefined ? "sessions.id" : "wanted.session_id")
  return {
    from: byLabel?.from ?? sql.literal("sessions"),
    where: sql`${conditions} order by ${order} desc limit ${limit}`
  }
}

const hasUnsettledTurn = `sessions.id in (select unsettled.session_id from turns as unsettled where ${isUnsettled("unsettled")})`
