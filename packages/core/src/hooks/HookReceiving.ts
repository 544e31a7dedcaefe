import { createHash } from "node:crypto"
import { Context, Effect, Layer, Redacted } from "effect"
import { cutText } from "../base/CutText.js"
import { once } from "../base/Once.js"
import { HookId, newId, WorkspaceId } from "../domain/Ids.js"
import { stranger } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { now, toMillis } from "../domain/Timestamp.js"
import { Vault } from "../secrets/Vault.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { Journal } from "../store/Journal.js"
import { newSecret } from "../webhooks/Signature.js"
import type { HookAnswer } from "./Hook.js"
import { HookListeners } from "./HookListeners.js"
import { eventOf, type HookCall, HookMac, proofOf } from "./HookSignatures.js"
import { type HookRow, HookStore } from "./HookStore.js"
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
    /**
     * Writes the receipt of a delivery with the runs that come of it. A delivery that has a receipt is a `duplicate`, and does nothing more. Fails with
     * `unsupported_media_type` for a body that is no JSON, once its signature is right.
     */
    readonly receive: (hookId: string, call: HookCall) => Command<HookAnswer, HookRefused>
  }
>() {
  static readonly layer = Layer.effect(
    HookReceiving,
    Effect.gen(function* () {
      const journal = yield* Journal
      const vault = yield* Vault
      const prove = yield* makeProve
      const write = yield* makeWrite

      return HookReceiving.of({
        receive: (hookId, call) =>
          journal.prepared(
            "HookReceiving.receive",
            { by: stranger, about: { type: "hook", id: hookId } },
            Effect.gen(function* () {
              const proven = yield* prove(hookId, call)
              if (proven === undefined) return yield* notFound()
              const { delivery_id, hook } = proven
              const json = jsonOf(call.body)
              if (json === undefined) return yield* noJson(call.header("content-type") ?? "")
              const size = call.body.length
              const receipt = {
                hook_id: hook.id,
                delivery_id,
                event: eventOf(hook.kind, call, json.value),
                size,
                digest: createHash("sha256").update(call.body).digest("hex"),
                body: size > keptBytes ? null : yield* vault.seal(Redacted.make(json.text), hookBodyContext(hook))
              }
              return write(receipt, json.value)
            })
          )
      })
    })
  )
}

/** The hook that a call is compared with. */
type Candidate = Pick<HookRow, "id" | "kind" | "secret" | "workspace_id">

/**
 * Gives the function that finds the hook which a call proves to be for. An unknown id and a disabled hook stand for a hook with secrets that nobody has. Each
 * refusal then costs the same statements, openings of secrets and digests.
 */
const makeProve = Effect.gen(function* () {
  const store = yield* HookStore
  const vault = yield* Vault
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
  const open = ({ secret, ...of }: Candidate) => Effect.orDie(vault.unseal(secret, hookSecretContext(of)))

  return Effect.fnUntraced(function* (hookId: string, call: HookCall) {
    const nobody = yield* decoy
    const row = yield* store.find(hookId)
    const at = yield* now
    const hook: HookRow | undefined = row?.state === "enabled" ? row : undefined
    const isOverlapping = hook?.previous_until != null && hook.previous_until > at
    const previous = isOverlapping && hook.previous_secret !== null ? { ...hook, secret: hook.previous_secret } : nobody
    const secrets = [yield* open(hook ?? nobody), yield* open(previous)]
    const proof = proofOf((hook ?? nobody).kind, secrets, call, toMillis(at), mac)
    return hook === undefined || proof === undefined ? undefined : { ...proof, hook }
  })
})

/** Gives the commit of a delivery. */
const makeWrite = Effect.gen(function* () {
  const store = yield* HookStore
  const listeners = yield* HookListeners

  return Effect.fnUntraced(function* (
    receipt: Parameters<HookStore["Type"]["insertReceipt"]>[0],
    body: unknown
  ): Effect.fn.Return<HookAnswer, ReinsError<"not_found">, Commit> {
    const hook = yield* store.lock(receipt.hook_id)
    const known = yield* store.receiptOf(hook.id, receipt.delivery_id)
    if (known !== undefined) return { receipt_id: known.id, outcome: "duplicate" }
    const { id } = yield* store.insertReceipt(receipt)
    const { delivery_id, event } = receipt
    const { looks, runs } = yield* listeners.rung({ hook, delivery_id, event, body, at: yield* now })
    const outcome = runs + looks > 0 ? "accepted" : "ignored"
    yield* store.settle(id, outcome, runs)
    return { receipt_id: id, outcome }
  })
})

const noJson = (contentType: string) =>
  new ReinsError({
    code: "unsupported_media_type",
    message: "The body is no JSON in UTF-8, or nests deeper than 100 levels. Have the caller send application/json.",
    details: { content_type: cutText(contentType, 100) }
  })
