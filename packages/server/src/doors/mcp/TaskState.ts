import type { CallToolResult } from "@modelcontextprotocol/server"
import { type NamedTask, taskIdOf } from "./TaskId.js"

/** The time between two looks at a task, in milliseconds. */
const pollIntervalMs = 2000

/** Where a task stands, with what its state brings along. */
export type TaskState =
  | { readonly status: "working" | "cancelled"; readonly statusMessage: string; readonly since: string | null }
  | {
      readonly status: "input_required"
      readonly statusMessage: string
      readonly since: string | null
      readonly inputRequests: Readonly<Record<string, unknown>>
    }
  | { readonly status: "completed"; readonly since: string | null; readonly result: CallToolResult }

export const working = (statusMessage: string, since: string | null): TaskState => ({
  status: "working",
  statusMessage,
  since
})

export const completed = (result: CallToolResult, since: string | null): TaskState => ({
  status: "completed",
  since,
  // The result of a tool says so itself, also within a task.
  result: { ...result, resultType: "complete" }
})

/** A task as the protocol tells it. It holds for as long as what it names, so it has no end of its own. */
export const shownTask = (task: NamedTask, { since, ...state }: TaskState) => {
  const createdAt = new Date(task.at).toISOString()
  return {
    taskId: taskIdOf(task),
    ...state,
    createdAt,
    lastUpdatedAt: since === null || since < createdAt ? createdAt : since,
    ttlMs: null,
    pollIntervalMs
  }
}

/** The answer of a tool that goes on as a task. */
export const handleOf = (task: NamedTask): CallToolResult => ({
  resultType: "task",
  // The package gives every result of a tool a content.
  content: [],
  ...shownTask(task, { status: "working", statusMessage: "The work has begun.", since: null })
})
