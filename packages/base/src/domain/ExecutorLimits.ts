import { Schema } from "effect"
import { field } from "./Field.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true, nullable: true })

const mebibyte = 1024 ** 2

const atLeast = (least: number) => Schema.Int.pipe(Schema.between(least, Number.MAX_SAFE_INTEGER))

export const ExecutorLimits = Schema.Struct({
  memory_bytes: field(
    optional(atLeast(16 * mebibyte)),
    "The memory of its processes together, in bytes, at least 16 MiB. What takes more is ended."
  ),
  processors: field(
    optional(Schema.Number.pipe(Schema.between(0.05, 1024))),
    "The processors that they may use, also in parts, as in 0.5."
  ),
  processes: field(
    optional(Schema.Int.pipe(Schema.between(8, 1_000_000))),
    "The number of its processes and threads at one time, at least 8."
  ),
  disk_bytes: field(
    optional(atLeast(mebibyte)),
    "The files of its workspace and its home together, in bytes, at least 1 MiB. An agent that has more is ended."
  ),
  turn_seconds: field(
    optional(Schema.Int.pipe(Schema.between(1, 7 * 86_400))),
    "The time that a turn may take, in seconds. A turn that takes longer ends as `failed` with the reason `timeout`."
  )
}).annotations({
  identifier: "ExecutorLimits",
  description:
    "The most that an agent may take, with everything that it starts; so may each setup step. They lower the limits of the server and never raise " +
    "them. A session is refused where its executor does not enforce one of them; `GET /api/executor-backends` lists those that it does."
})
export type ExecutorLimits = typeof ExecutorLimits.Type

/** The limits that an executor has to enforce. Reins itself ends turns that take too long. */
export const resourceLimits = [
  "memory_bytes",
  "processors",
  "processes",
  "disk_bytes"
] as const satisfies ReadonlyArray<keyof ExecutorLimits>
export type ResourceLimit = (typeof resourceLimits)[number]
