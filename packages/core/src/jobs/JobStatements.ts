import type { Timestamp } from "../domain/Timestamp.js"
import type { Database } from "../store/Database.js"
import type { JobRow } from "./JobRow.js"

/** The statements that every attempt runs, with their texts made once. */
export const make = ({ prepare, prepareRow, skipLocked, sql }: Database["Type"]) => {
  const waits = sql.literal("state in ('queued', 'retry_wait') and held = 0")
  const firstOf = (kind: string) =>
    sql`select ${kind} as kind, (select min(run_at) from jobs where ${waits} and kind = ${kind}) as run_at`
  return {
    insert: prepareRow((row) => sql`insert into jobs ${sql.insert(row)}`),
    insertAttempt: prepareRow((row) => sql`insert into attempts ${sql.insert(row)}`),
    claim: prepare(
      (workerId: string, bootId: string, expiresAt: string, at: string, kind: string, limit: number) =>
        // Materialized, since PostgreSQL may run a plain subquery once for each row, and then takes more than the limit.
        sql<JobRow>`with due as materialized (select id from jobs where ${waits} and run_at <= ${at}
          and kind = ${kind} order by run_at, id limit ${limit}${skipLocked})
        update jobs set state = 'running', attempt_count = attempt_count + 1,
          worker_id = ${workerId}, boot_id = ${bootId}, lease_expires_at = ${expiresAt}
        where id in (select id from due) returning *`
    ),
    /** Changes nothing, so that the row is held until the commit is through. */
    hold: prepare(
      (id: string, attempt: number, bootId: string, endsAfter: string) =>
        sql<{ id: string }>`update jobs set attempt_count = attempt_count where id = ${id} and state = 'running'
        and attempt_count = ${attempt} and boot_id = ${bootId} and lease_expires_at > ${endsAfter} returning id`
    ),
    finish: prepare(
      (state: string, runAt: string, error: string | null, maxAttempts: number, at: string | null, id: string) =>
        sql`update jobs set state = ${state}, run_at = ${runAt}, error = ${error}, max_attempts = ${maxAttempts},
          finished_at = ${at}, lease_expires_at = null where id = ${id}`
    ),
    finishAttempt: prepare(
      (state: string, at: string, error: string | null, id: string) =>
        sql`update attempts set state = ${state}, finished_at = ${at}, error = ${error} where id = ${id}`
    ),
    look: prepare(
      (id: string, attempt: number, bootId: string) =>
        sql<{
          lease_expires_at: Timestamp
          cancel_requested: number
        }>`select lease_expires_at, cancel_requested from jobs
        where id = ${id} and state = 'running' and attempt_count = ${attempt} and boot_id = ${bootId}`
    ),
    /** One look into the index for each kind, however many jobs wait. */
    waiting: (kinds: ReadonlyArray<string>) =>
      sql<{ kind: string; run_at: Timestamp | null }>`${sql.join(" union all ", false)(kinds.map(firstOf))}`
  }
}
