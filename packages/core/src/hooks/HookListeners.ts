import { Context, Effect, Layer } from "effect"
import { type Hearers, makeHearers } from "../base/Hearers.js"
import type { HookId } from "../domain/Ids.js"
import type { Timestamp } from "../domain/Timestamp.js"
import type { Commit } from "../store/Commit.js"
import type { HookRow } from "./HookStore.js"

/** A call of a hook whose signature was right. Everything in it but the ids is data of the caller, which nobody checked. */
export interface HookRing {
  readonly hook: Pick<HookRow, "id" | "kind" | "registration" | "workspace_id">
  readonly delivery_id: string
  readonly event: string | null
  /** The body as it was read from JSON. */
  readonly body: unknown
  readonly at: Timestamp
}

/** The work that a call of a hook has led to. */
export interface HookEffects {
  /** The runs of automations, those that were skipped among them. */
  readonly runs: number
  /** The looks of merge requests that the call has rung. */
  readonly looks: number
}

/** A room that does something when a hook is called. It may write in the commit of the receipt, and must not fail. */
export interface HookListener {
  /** It is called again for a replay, and makes no run for a delivery that has its run. */
  readonly rung: (ring: HookRing) => Effect.Effect<HookEffects, never, Commit>
  /** A hook is about to be removed. */
  readonly removed: (hookId: HookId) => Effect.Effect<void, never, Commit>
}

/** The rooms above that listen to hooks. They register here, so that hooks need not know them. */
export class HookListeners extends Context.Tag("@reins/core/hooks/HookListeners")<
  HookListeners,
  HookListener & Pick<Hearers<HookListener>, "register">
>() {
  static readonly layer = Layer.sync(HookListeners, () => {
    const { register, tell } = makeHearers<HookListener>()
    return HookListeners.of({
      register,
      rung: (ring) =>
        Effect.suspend(() => {
          const sum = { runs: 0, looks: 0 }
          const told = tell((listener) =>
            Effect.map(listener.rung(ring), ({ looks, runs }) => {
              sum.runs += runs
              sum.looks += looks
            })
          )
          return Effect.map(told, () => sum)
        }),
      removed: (hookId) => tell((listener) => listener.removed(hookId))
    })
  })
}
