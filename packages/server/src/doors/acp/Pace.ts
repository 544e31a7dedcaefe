import type { SessionUpdate } from "@agentclientprotocol/sdk"

/** Sends each change of a running tool at most so often, because each holds all of the output. The last one always goes. */
export class Pace {
  private readonly last = new Map<string, number>()
  private readonly waiting = new Map<string, { readonly timer: NodeJS.Timeout; update: SessionUpdate }>()

  constructor(
    private readonly send: (update: SessionUpdate) => void,
    private readonly everyMs = 250
  ) {}

  /** True when the update is held for later, or was replaced by one that is. */
  readonly holds = (update: SessionUpdate): boolean => {
    if (update.sessionUpdate !== "tool_call_update") return false
    const id = update.toolCallId
    if (update.status !== "in_progress") {
      this.forget(id)
      return false
    }
    const held = this.waiting.get(id)
    if (held !== undefined) {
      held.update = update
      return true
    }
    const sinceMs = performance.now() - (this.last.get(id) ?? Number.NEGATIVE_INFINITY)
    if (sinceMs >= this.everyMs) {
      this.last.set(id, performance.now())
      return false
    }
    const timer = setTimeout(() => this.release(id), this.everyMs - sinceMs)
    timer.unref()
    this.waiting.set(id, { timer, update })
    return true
  }

  readonly close = (): void => {
    for (const { timer } of this.waiting.values()) clearTimeout(timer)
    this.waiting.clear()
    this.last.clear()
  }

  private release(id: string): void {
    const held = this.waiting.get(id)
    this.waiting.delete(id)
    this.last.set(id, performance.now())
    if (held !== undefined) this.send(held.update)
  }

  private forget(id: string): void {
    clearTimeout(this.waiting.get(id)?.timer)
    this.waiting.delete(id)
    this.last.delete(id)
  }
}
