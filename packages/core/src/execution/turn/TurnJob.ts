import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Effect } from "effect"
import { loadedJob } from "../../jobs/LoadedWork.js"
import { turnJobKind } from "../../sessions/turns/TurnQueue.js"

/** The time that the workspace, the stop of the agent and the capture may take besides the turn, in milliseconds. */
const overheadMs = 30 * 60_000

/** Runs turns. */
export const turnJob = Effect.flatMap(CoreConfig, ({ maxRunningTurns, turnDeadlineMs }) =>
  loadedJob(
    {
      kind: turnJobKind,
      beginsWork: true,
      concurrency: maxRunningTurns,
      deadlineMs: turnDeadlineMs + overheadMs
    },
    () => import("./TurnRunner.js").then(({ turnWork }) => turnWork)
  )
)
