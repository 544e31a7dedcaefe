import { cutText } from "@reins/base/base/CutText"
import { once } from "@reins/base/base/Once"
import { HookId, HookReceiptId, newId, WorkspaceId } from "@reins/base/domain/Ids"
import { stranger } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { now, toMillis } from "@reins/base/domain/Timestamp"
import { Vault } from "@reins/base/secrets/Vault"
import { Context, Effect, Layer, Redacted } from "effect"
import type { Commit } from "../store/Commit.js"
import { Journal } from "../store/Journal.js"
import { newSecret } from "../webhooks/Signature.js"
import type { HookAnswer, UnreadReason } from "./Hook.js"
import { HookListeners, noEffects, toldBy } from "./HookListeners.js"
import {
  deliveryIdOf,
  eventOf,
  type HookCall,
  HookMac,
  headersProve,
  proofOf,
  signsBodyAlone
} from "./HookSignatures.js"
import { type HookRow, HookStore, type NewReceipt, toldOf } from "./HookStore.js"
import { jsonOf } from "./JsonText.js"
import { hookBodyContext, hookSecretContext } from "./SealedHooks.js"

/** The call is of no hook, or nothing proves it: both are answered alike, after the same work. */
export type HookRefused = ReinsError<"not_found" | "unsupported_media_type">

/** The largest body that is kept for a replay. */
const keptBytes = 64 * 1024

/** Receives what the world calls hooks with. Nobody who calls has an account, so a signature decides. */
export class HookReceiving extends Context.Tag("@reins/core/hooks/HookReceiving")<
  HookReceiving,
  {
    /** True for an enabled hook. It proves nothing of a call, and keeps what is held for strangers small. */
    readonly isKnown: (hookId: string) => Effect.Effect<boolean>
    /**
     * Writes the receipt of a delivery with the runs that come of it. A delivery that has a receipt is a `duplicate`, and does nothing more. So is a
     * body that was signed alone and came a short time before under another id. Fails with `unsupported_media_type` for a body that is no JSON, once its
     * signature is right, and leaves a receipt of that too.
     */
    readonly receive: (
      hookId: string,
      call: HookCall & { readonly isJson?: boolean }
    ) => Effect.Effect<HookAnswer, HookRefused>
    /**
     * Writes the receipt of a call whose body was not read. Nothing is written of an unknown hook, and of a call with a wrong secret. A call that nothing
     * proves leaves a receipt that says so.
     */
    readonly leaveUnread: (
      hookId: string,
      call: Pick<HookCall, "header"> & { readonly size: number },
      reason: UnreadReason
    ) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    HookReceiving,
    Effect.gen(function* () {
      const store = yield* HookStore
      const leaveUnread = yield* makeLeaveUnread
      const receive = yield* makeReceive
      return HookReceiving.of({
        isKnown: (hookId) => Effect.map(store.find(hookId), (row) => row?.state === "enabled"),
        receive: (hookId, call) =>
          Effect.filterOrFail(
            receive(hookId, call),
            ({ outcome }) => outcome !== "unread",
            () => noJson(call.header("content-type") ?? "")
          ),
        leaveUnread
      })
    })
  )
}

const byStranger = (hookId: string) => ({ by: stranger, about: { type: "hook", id: hookId } })

/** Gives the command that receives a call whose body is there. */
const makeReceive = Effect.gen(function* () {
  const journal = yield* Journal
  const vault = yield* Vault
  const prove = yield* makeProve
  const write = yield* makeWrite
  const writeUnread = yield* makeWriteUnread

  return (hookId: string, call: Parameters<HookReceiving["Type"]["receive"]>[1]) =>
    journal.prepared(
      "HookReceiving.receive",
      byStranger(hookId),
      Effect.gen(function* () {
        const proven = yield* prove(hookId, call)
        if (proven === undefined) return yield* notFound()
        const { delivery_id, digest, hook } = proven
        const json = call.isJson === false ? undefined : jsonOf(call.body)
        const size = call.body.length
        const receipt = { hook_id: hook.id, delivery_id, event: eventOf(hook.kind, call, json?.value), size, digest }
        if (json === undefined) return writeUnread({ ...receipt, digest: "", body: null }, "no_json", true)
        const body = size > keptBytes ? null : yield* vault.seal(Redacted.make(json.text), hookBodyContext(hook))
        return write({ ...receipt, body }, json.value)
      })
    )
})

/** The hook that a call is compared with. */
type Candidate = Pick<HookRow, "id" | "kind" | "secret" | "workspace_id">

/** Gives the function that opens the secrets of a hook which are good now. `nobody` stands for one that there is not, if the work has to be the same. */
const makeSecretsOf = Effect.gen(function* () {
  const vault = yield* Vault
  const open = ({ secret, ...of }: Candidate) => Effect.orDie(vault.unseal(secret, hookSecretContext(of)))

  return Effect.fnUntraced(function* (hook: HookRow | undefined, nobody?: Candidate) {
    const isOverlapping = hook?.previous_until != null && hook.previous_until > (yield* now)
    const previous = isOverlapping && hook.previous_secret !== null ? { ...hook, secret: hook.previous_secret } : nobody
    return yield* Effect.forEach(
      [hook ?? nobody, previous].filter((each) => each !== undefined),
      open
    )
  })
})

/**
 * Gives the function that finds the hook which a call proves to be for. An unknown id and a disabled hook stand for a hook with secrets that nobody has. Each
 * refusal then costs the same statements, openings of secrets and digests.
 */
const makeProve = Effect.gen(function* () {
  const store = yield* HookStore
  const vault = yield* Vault
  const secretsOf = yield* makeSecretsOf
  const mac = yield* HookMac

  const decoy = yield* once(
    Effect.gen(function* () {
      const id = yield* newId(HookId)
      const workspace_id = yield* newId(WorkspaceId)
      const secret = yield* vault.seal(newSecret(), hookSecretContext({ id, workspace_id }))
      const nobody: Candidate = { id, workspace_id, kind: "standard", secret }
      return nobody
    })
  )

  return Effect.fnUntraced(function* (hookId: string, call: HookCall) {
    const nobody = yield* decoy
    const row = yield* store.find(hookId)
    const at = yield* now
    const hook: HookRow | undefined = row?.state === "enabled" ? row : undefined
    const secrets = yield* secretsOf(hook, nobody)
    const proof = proofOf((hook ?? nobody).kind, secrets, call, toMillis(at), mac)
    return hook === undefined || proof === undefined ? undefined : { ...proof, hook }
  })
})

/** Gives the commit of a delivery. */
const makeWrite = Effect.gen(function* () {
  const store = yield* HookStore
  const listeners = yield* HookListeners

  return Effect.fnUntraced(function* (
    receipt: NewReceipt,
    body: unknown
  ): Effect.fn.Return<HookAnswer, ReinsError<"not_found">, Commit> {
    const hook = yield* store.lock(receipt.hook_id)
    const known = yield* store.receiptOf(hook.id, receipt.delivery_id)
    const isUnread = known !== undefined && toldOf(known).outcome === "unread"
    if (known !== undefined && !isUnread) return { receipt_id: known.id, outcome: "duplicate" }
    const copied = signsBodyAlone(hook.kind) ? yield* store.receiptLike(hook.id, receipt.digest) : undefined
    // The caller has sent again what could not be read before.
    if (known !== undefined) yield* store.removeReceipt(known.id)
    if (copied !== undefined) {
      // Without its digest it is no original, so copies do not prolong the time in which there are copies.
      const copy = yield* store.insertReceipt({ ...receipt, digest: "", body: null })
      yield* store.settle(copy, { ...toldBy(noEffects), outcome: "duplicate" }, 0)
      return { receipt_id: copy.id, outcome: "duplicate" }
    }
    const row = yield* store.insertReceipt(receipt)
    const { delivery_id, event } = receipt
    const made = yield* listeners.rung({ hook, delivery_id, event, body, at: yield* now })
    const told = toldBy(made)
    yield* store.settle(row, told, made.runs)
    const { proven: _, ...shown } = told
    return { receipt_id: row.id, runs: made.runs, ...shown }
  })
})

/** Gives the commit of a call whose body could not be read. A delivery that has a receipt keeps it. */
const makeWriteUnread = Effect.gen(function* () {
  const store = yield* HookStore
  return Effect.fnUntraced(function* (
    receipt: NewReceipt,
    reason: UnreadReason,
    proven: boolean
  ): Effect.fn.Return<HookAnswer, ReinsError<"not_found">, Commit> {
    const hook = yield* store.lock(receipt.hook_id)
    const known = yield* store.receiptOf(hook.id, receipt.delivery_id)
    if (known !== undefined) return { receipt_id: known.id, outcome: "unread" }
    const row = yield* store.insertReceipt(receipt)
    const told = {
      outcome: "unread" as const,
      proven,
      queued: 0,
      dropped: 0,
      reason,
      reason_message: unreadWords[reason]
    }
    yield* store.settle(row, told, 0)
    return { receipt_id: row.id, outcome: "unread" }
  })
})

/** Gives the effect that leaves a receipt of a call whose body was not read. */
const makeLeaveUnread = Effect.gen(function* () {
  const journal = yield* Journal
  const store = yield* HookStore
  const secretsOf = yield* makeSecretsOf
  const writeUnread = yield* makeWriteUnread

  return Effect.fnUntraced(function* (
    hookId: string,
    call: Pick<HookCall, "header"> & { readonly size: number },
    reason: UnreadReason
  ) {
    const hook = yield* store.find(hookId)
    if (hook?.state !== "enabled") return
    const isProven = headersProve(hook.kind, yield* secretsOf(hook), call)
    if (isProven === false) return
    const delivery_id = deliveryIdOf(hook.kind, call.header) ?? `unread:${yield* newId(HookReceiptId)}`
    const event = eventOf(hook.kind, call, undefined)
    const receipt = { hook_id: hook.id, delivery_id, event, size: call.size, digest: "", body: null }
    yield* Effect.ignore(
      journal.command("HookReceiving.leaveUnread", byStranger(hookId), writeUnread(receipt, reason, isProven === true))
    )
  })
})

const unreadWords: Readonly<Record<UnreadReason, string>> = {
  cut_off: "The connection ended before the whole body was there. Have the caller send it again.",
  no_json: "The body is no JSON in UTF-8, or nests deeper than 100 levels. Have the caller send application/json.",
  no_place: "Too many large bodies came at once. Have the caller send it again.",
  too_large: "The body has more than 5 MiB. Have the caller send less.",
  too_many: "More calls of this hook came within a minute than are taken. Have the caller send it again.",
  too_slow: "The body did not come within 10 seconds. Have the caller send it again."
}

const noJson = (contentType: string) =>
  new ReinsError({
    code: "unsupported_media_type",
    message: unreadWords.no_json,
    details: { content_type: cutText(contentType, 100) }
  })
