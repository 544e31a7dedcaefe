import { Effect } from "effect"
import { oneByOne, onTopOf } from "../base/Layered.js"
import { HookListeners } from "./HookListeners.js"
import { HookReceiving } from "./HookReceiving.js"
import { HookStore } from "./HookStore.js"
import { Hooks } from "./Hooks.js"
import * as operations from "./Operations.js"
import * as SealedHooks from "./SealedHooks.js"

/** Addresses that the world calls, with secrets that prove a call, and the receipts of what came in. */
export const hooks = {
  name: "hooks",
  layer: oneByOne(Hooks.layer, HookReceiving.layer).pipe(onTopOf(oneByOne(HookStore.layer, HookListeners.layer))),
  operations,
  tables: ["hooks", "hook_receipts"],
  sealed: SealedHooks.hookRecords,
  sweeps: { "hook receipts": Effect.map(HookStore, ({ purge }) => purge) }
} as const
