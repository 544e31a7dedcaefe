import type { HarnessEvent, HarnessUsage } from "../HarnessEvent.js"

type Tokens = Pick<HarnessUsage, "input_tokens" | "output_tokens" | "cached_tokens" | "reasoning_tokens">

const names = ["input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"] as const satisfies ReadonlyArray<
  keyof Tokens
>

/**
 * Makes the usage of turns of what an agent counts over its whole process. It takes the differences, so it lives as long as the process, and
 * one turn at a time uses it.
 */
export class UsageMeter {
  private counted: Tokens = { input_tokens: null, output_tokens: null, cached_tokens: null, reasoning_tokens: null }

  /** The event with the usage of the turn, if it is about the process; every other event as it is. */
  readonly read = (event: HarnessEvent): HarnessEvent => {
    if (event._tag !== "usage" || event.scope !== "process") return event
    const since = Object.fromEntries(names.map((name) => [name, difference(event[name], this.counted[name])]))
    this.counted = event
    return { ...event, ...since, scope: "turn" }
  }
}

/** The figure since the last one. A figure below the last one has begun anew. */
const difference = (now: number | null, before: number | null): number | null =>
  now === null ? null : before === null || before > now ? now : now - before
