import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { Effect } from "effect"
import { HookListeners } from "./HookListeners.js"
import { HookReceiving } from "./HookReceiving.js"
import { HookRegistrations } from "./HookRegistrations.js"
import { HookStore } from "./HookStore.js"
import { Hooks } from "./Hooks.js"
import * as operations from "./Operations.js"
import { forgetJob, registerJob } from "./RegisterJob.js"
import * as SealedHooks from "./SealedHooks.js"

/** Addresses that the world calls, with secrets that prove a call, and the receipts of what came in. */
export const hooks = {
  name: "hooks",
  layer: oneByOne(Hooks.layer, HookRegistrations.layer, HookReceiving.layer).pipe(
    onTopOf(oneByOne(HookStore.layer, HookListeners.layer))
  ),
  operations,
  tables: ["hooks", "hook_receipts"],
  jobs: [registerJob, forgetJob],
  sealed: SealedHooks.hookRecords,
  sweeps: { "hook receipts": Effect.map(HookStore, ({ purge }) => purge) }
} as const
