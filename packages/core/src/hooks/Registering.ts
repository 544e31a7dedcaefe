import { Effect } from "effect"
import { JobStore } from "../jobs/JobStore.js"
import { forgetWordsOf } from "../jobs/WordsForgetting.js"
import { type HookRow, registrationOf, type StoredRegistration } from "./HookStore.js"

/** The kind of the job that makes a hook on its forge as its registration says. */
export const registerJobKind = "hook.register"
/** The kind of the job that removes the hook of a forge whose own hook is gone; its payload is `{workspaceId, connection_id, repository}`. */
export const forgetJobKind = "hook.forget"

/** A forge that limits requests may refuse several attempts before it takes one. */
const maxAttempts = 8

/** True while a job works on a registration. There is one such job at most, and its end looks whether there is more to do. */
const isUnderWay = ({ state }: StoredRegistration): boolean => state === "pending" || state === "removing"

/** The changes of registrations, inside a commit that holds the hook. */
export const makeRegistering = Effect.gen(function* () {
  const jobs = yield* JobStore

  const start = ({ id, workspace_id }: Pick<HookRow, "id" | "workspace_id">) =>
    jobs.enqueue({
      kind: registerJobKind,
      subject: { type: "hook", id },
      workspaceId: workspace_id,
      payload: {},
      maxAttempts
    })

  /** The columns of a hook whose registration is another one. */
  const change = Effect.fnUntraced(function* (
    row: HookRow,
    wanted: Omit<StoredRegistration, "reason" | "reason_message" | "version">
  ) {
    const before = registrationOf(row)
    if (before === null || !isUnderWay(before)) yield* start(row)
    const next: StoredRegistration = {
      ...wanted,
      reason: null,
      reason_message: null,
      version: (before?.version ?? 0) + 1
    }
    return { registration: JSON.stringify(next) }
  })

  return {
    change,
    start,
    /** The columns of a hook with a new secret, which its forge has to know. */
    again: Effect.fnUntraced(function* (row: HookRow) {
      const before = registrationOf(row)
      return before === null || before.state === "removing" ? {} : yield* change(row, { ...before, state: "pending" })
    }),
    /** Has the forge forget a hook that is about to be removed, and what is kept beside its rows. */
    forget: Effect.fnUntraced(function* (row: HookRow) {
      yield* jobs.enqueue(forgetWordsOf("hook", row.id, row.workspace_id))
      const before = registrationOf(row)
      if (before === null) return
      const { connection_id, repository } = before
      yield* jobs.enqueue({
        kind: forgetJobKind,
        subject: { type: "hook", id: row.id },
        workspaceId: row.workspace_id,
        payload: { workspaceId: row.workspace_id, connection_id, repository },
        maxAttempts
      })
    })
  }
})
