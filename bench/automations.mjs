// Automations that wait for their times: what they cost a server that does nothing else.
import { setTimeout } from "node:timers/promises"
import { AutomationId, JobId, newId, OperationId } from "@reins/core/internal/domain/Ids"
import * as Sqlite from "@reins/core/store/Sqlite"
import { Bell, Database } from "@reins/core/store/Storage"
import { Effect, Layer } from "effect"
import { install } from "./installation.mjs"
import { cpuSeconds, rssMb } from "./processes.mjs"

const count = 1_000

export const automations = async ({ report, settings }) => {
  report.subject(`${count} automations that wait, SQLite`)
  const installation = await install("automations")
  const empty = await idle(installation, settings)
  const server = await installation.start()
  const { id } = await server.reins.automations.create({
    workspace_id: server.workspaceId,
    name: "bench",
    trigger: { kind: "schedule", expression: "0 3 1 1 *", timezone: "UTC" },
    target: { kind: "new_session", message: "Nothing." }
  })
  await server.stop()
  await Effect.runPromise(Effect.provide(copies(id), Layer.merge(Sqlite.layer(installation.dataDir), Bell.layer)))
  const full = await idle(installation, settings)
  report.note(
    `without them ${empty.millis.toFixed(2)} ms of CPU a second and ${empty.mb.toFixed(0)} MB, with them ${full.mb.toFixed(0)} MB`
  )
  report.figure("CPU of a second, more than without them", full.millis - empty.millis, "ms", { atMost: 1 })
}

/** The CPU of a second of a server that nobody asks anything, in milliseconds. */
const idle = async (installation, { seconds }) => {
  const server = await installation.start()
  // What a start leaves to do is done by then.
  await setTimeout(5_000)
  const before = cpuSeconds(server.pid)
  const began = performance.now()
  await setTimeout(seconds * 10_000)
  const millis = (cpuSeconds(server.pid) - before) / ((performance.now() - began) / 1_000_000)
  const mb = rssMb(server.pid)
  await server.stop()
  return { millis, mb }
}

/** Makes the other automations, each with the job of its next time. A workspace may have fewer through the API. */
const copies = (id) =>
  Effect.gen(function* () {
    const { first, run, sql, transaction } = yield* Database
    const automation = yield* first(sql`select * from automations where id = ${id}`)
    const job = yield* first(sql`select * from jobs where id = ${automation.fire_job_id}`)
    const copy = Effect.gen(function* () {
      const own = { id: yield* newId(AutomationId), fire_job_id: yield* newId(JobId) }
      yield* run(sql`insert into automations ${sql.insert({ ...automation, ...own })}`)
      const ofIt = { id: own.fire_job_id, operation_id: yield* newId(OperationId), subject_id: own.id }
      yield* run(sql`insert into jobs ${sql.insert({ ...job, ...ofIt })}`)
    })
    yield* transaction(Effect.forEach(Array.from({ length: count - 1 }), () => copy, { discard: true }))
  })
