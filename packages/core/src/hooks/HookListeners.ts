import { type Hearers, makeHearers } from "@reins/base/base/Hearers"
import type { HookId } from "@reins/base/domain/Ids"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import type { Commit } from "../store/Commit.js"
import type { Told } from "./Hook.js"
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
  /** Those that wait for the end of a run before. */
  readonly queued: number
  /** Those that were skipped, and the first reason with a sentence for people. */
  readonly dropped: number
  readonly reason: string | null
  readonly reason_message: string | null
  /** The looks of merge requests that the call has rung. */
  readonly looks: number
}

/** The effects of a call that leads to nothing. */
export const noEffects: HookEffects = { runs: 0, looks: 0, queued: 0, dropped: 0, reason: null, reason_message: null }

/** The fields of a receipt about the proven call that led to it. */
export const toldBy = ({ dropped, looks, queued, reason, reason_message, runs }: HookEffects): Told => ({
  outcome: runs - dropped + looks > 0 ? "accepted" : dropped > 0 ? "dropped" : "ignored",
  proven: true,
  queued,
  dropped,
  reason,
  reason_message
})

/** A room that does something when a hook is called. It may write in the commit of the receipt, and must not fail. */
export interface HookListener {
  /** It is called again for a replay, and makes no run for a delivery that has its run. */
  readonly rung: (ring: HookRing) => Effect.Effect<Partial<HookEffects>, never, Commit>
  /** A hook is about to be removed. */
  readonly removed: (hookId: HookId) => Effect.Effect<void, never, Commit>
}

/** The rooms above that listen to hooks. They register here, so that hooks need not know them. */
export class HookListeners extends Context.Tag("@reins/core/hooks/HookListeners")<
  HookListeners,
  Pick<HookListener, "removed"> &
    Pick<Hearers<HookListener>, "register"> & {
      /** Tells all listeners, and adds up what has come of it. */
      readonly rung: (ring: HookRing) => Effect.Effect<HookEffects, never, Commit>
    }
>() {
  static readonly layer = Layer.sync(HookListeners, () => {
    const { register, tell } = makeHearers<HookListener>()
    return HookListeners.of({
      register,
      rung: (ring) =>
        Effect.suspend(() => {
          let sum = noEffects
          const told = tell((listener) =>
            Effect.map(listener.rung(ring), (more) => {
              sum = {
                runs: sum.runs + (more.runs ?? 0),
                looks: sum.looks + (more.looks ?? 0),
                queued: sum.queued + (more.queued ?? 0),
                dropped: sum.dropped + (more.dropped ?? 0),
                reason: sum.reason ?? more.reason ?? null,
                reason_message: sum.reason_message ?? more.reason_message ?? null
              }
            })
          )
          return Effect.map(told, () => sum)
        }),
      removed: (hookId) => tell((listener) => listener.removed(hookId))
    })
  })
}
