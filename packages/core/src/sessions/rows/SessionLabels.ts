import { createHash } from "node:crypto"
import type { Fragment } from "@effect/sql/Statement"
import type { SessionId, WorkspaceId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"

/** Stands for a label in the index, because names and values have no longest length. */
const labelDigest = (name: string, value: string): string =>
  createHash("sha256")
    .update(JSON.stringify([name, value]))
    .digest("hex")

interface Labelled {
  readonly id: SessionId
  readonly workspace_id: WorkspaceId
  /** The labels as JSON. */
  readonly labels: string
}

/** The labels of sessions as an index of them, kept beside the column that clients read. */
export const sessionLabels = Effect.map(Database, ({ run, sql }) => {
  const add = ({ id, labels, workspace_id }: Labelled): Effect.Effect<void, never, Commit> => {
    const rows = Object.entries<string>(JSON.parse(labels)).map(([name, value]) => ({
      workspace_id,
      label_digest: labelDigest(name, value),
      session_id: id
    }))
    return rows.length === 0 ? Effect.void : run(sql`insert into session_labels ${sql.insert(rows)}`)
  }
  return {
    /** Indexes the labels of a new session. */
    add,
    /** Indexes other labels of a session in the place of those before. */
    replace: (session: Labelled): Effect.Effect<void, never, Commit> =>
      Effect.zipRight(run(sql`delete from session_labels where session_id = ${session.id}`), add(session))
  }
})

/**
 * The sessions of a workspace with a label, in the order of the index: a table to select from, and the condition that chooses its rows. The
 * text of a label is `name=value`.
 */
export const labelled = ({ sql }: Database["Type"], workspaceId: string, label: string, before: string) => {
  const end = label.indexOf("=")
  const digest = labelDigest(label.slice(0, end), label.slice(end + 1))
  // The order of a cross join is kept by SQLite, which walks the label before it looks at a session.
  const from: Fragment = sql.literal("session_labels as wanted cross join sessions")
  const where: Fragment = sql`wanted.workspace_id = ${workspaceId} and wanted.label_digest = ${digest}
    and wanted.session_id < ${before} and sessions.id = wanted.session_id`
  return { from, where }
}
