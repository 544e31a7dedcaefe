import type { SessionUpdate } from "@agentclientprotocol/sdk"
import type { TypedEvent } from "@reins/client"
import { fenced, text } from "./ToolUpdates.js"

/** The preparation of a workspace as a tool call, since an editor would be silent meanwhile. */
export class Preparation {
  private output = ""
  private open: string | undefined

  /** `isPrepared` is true for a session that has its workspace, which only a setup is worth showing for. */
  constructor(private isPrepared: boolean) {}

  readonly take = (event: TypedEvent): ReadonlyArray<SessionUpdate> => {
    switch (event.type) {
      case "turn.preparing":
        return this.isPrepared || this.open !== undefined ? [] : this.begin(event.payload.turn.id)
      case "setup.progressed":
        if (this.open === undefined) return []
        this.output = `${this.output}${event.payload.output}`.slice(-keptOutput)
        return [this.update("in_progress")]
      case "executor.released":
      case "executor.lost":
        this.isPrepared = false
        return []
      case "turn.started":
        this.isPrepared = true
        return this.end("completed")
      case "setup.failed":
      case "turn.failed":
      case "turn.cancelled":
      case "turn.interrupted":
        return this.end("failed")
      case "turn.succeeded":
        return this.end("completed")
      default:
        return []
    }
  }

  private begin(turnId: string): ReadonlyArray<SessionUpdate> {
    this.open = `${turnId}:preparing`
    this.output = ""
    return [
      {
        sessionUpdate: "tool_call",
        toolCallId: this.open,
        title: "Preparing the workspace",
        kind: "other",
        status: "in_progress"
      }
    ]
  }

  private end(status: "completed" | "failed"): ReadonlyArray<SessionUpdate> {
    if (this.open === undefined) return []
    const update = this.update(status)
    this.open = undefined
    return [update]
  }

  private update(status: "in_progress" | "completed" | "failed"): SessionUpdate {
    return {
      sessionUpdate: "tool_call_update",
      toolCallId: this.open ?? "",
      status,
      ...(this.output !== "" && { content: [text(fenced(this.output))] })
    }
  }
}

/** The characters of a setup's output that are shown, from its end. */
const keptOutput = 16_384
