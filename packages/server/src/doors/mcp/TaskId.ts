import { z } from "zod"

// The id of a task names what the server keeps already. So it holds as long as that, after a restart and on every server of an installation.

/** A task that follows a turn. */
export interface TurnTask {
  readonly tool: "start_session" | "send_message" | "wait"
  readonly turn: string
  /** The event that the words of the result come after. */
  readonly after: number
  /** The newest event of the session when the task was made. Questions before it were seen. */
  readonly made: number
  /** True when the client can show forms, so that its person is asked within the task. */
  readonly forms: boolean
  /** The time at which the task was made, in milliseconds. */
  readonly at: number
  /** The time at which a wait is over, in milliseconds; null for one without a limit. */
  readonly until: number | null
}

/** A task that follows a delivery. */
export interface DeliveryTask {
  readonly tool: "deliver"
  readonly delivery: string
  /** The job that pushes. */
  readonly job: string
  /** True when the person has confirmed a merge request, too. */
  readonly request: boolean
  readonly at: number
}

export type NamedTask = TurnTask | DeliveryTask

const seq = z.number().int().min(0)
const time = z.number().int().min(0).max(8_640_000_000_000)
const turnId = z.string().regex(/^turn_[0-9A-Za-z]{1,40}$/)
const deliveryId = z.string().regex(/^dlv_[0-9A-Za-z]{1,40}$/)
const jobId = z.string().regex(/^job_[0-9A-Za-z]{1,40}$/)

const ofTurn = z
  .tuple([z.enum(["start_session", "send_message", "wait"]), turnId, seq, seq, z.boolean(), time, time.nullable()])
  .transform(
    ([tool, turn, after, made, forms, at, until]): NamedTask => ({ tool, turn, after, made, forms, at, until })
  )

const ofDelivery = z
  .tuple([z.literal("deliver"), deliveryId, jobId, z.boolean(), time])
  .transform(([tool, delivery, job, request, at]): NamedTask => ({ tool, delivery, job, request, at }))

const named = z.union([ofTurn, ofDelivery])

/** The longest id. */
export const mostOfTaskId = 400

export const taskIdOf = (task: NamedTask): string => {
  const parts =
    task.tool === "deliver"
      ? [task.tool, task.delivery, task.job, task.request, task.at]
      : [task.tool, task.turn, task.after, task.made, task.forms, task.at, task.until]
  return `task_${Buffer.from(JSON.stringify(parts)).toString("base64url")}`
}

/** The task that an id names; undefined for a text that is the id of none. */
export const taskOf = (id: string): NamedTask | undefined => {
  if (id.length > mostOfTaskId || !/^task_[0-9A-Za-z_-]+$/.test(id)) return undefined
  try {
    const { data } = named.safeParse(JSON.parse(Buffer.from(id.slice("task_".length), "base64url").toString("utf8")))
    // Only one text is the id of a task.
    return data !== undefined && taskIdOf(data) === id ? data : undefined
  } catch {
    return undefined
  }
}
