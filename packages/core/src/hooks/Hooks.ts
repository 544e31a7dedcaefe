import { fn } from "@reins/base/base/Traced"
import { HookId, newId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { fromNow, now } from "@reins/base/domain/Timestamp"
import { Vault } from "@reins/base/secrets/Vault"
import { Context, Effect, Layer, Redacted } from "effect"
import { Access, type Denied, type ScopeMissing } from "../access/Access.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { newSecret } from "../webhooks/Signature.js"
import type { Hook, HookReceipt, HookWithSecret, Told } from "./Hook.js"
import { HookListeners, toldBy } from "./HookListeners.js"
import { type HookRow, HookStore, type ReceiptRow, toldOf, toReceipt } from "./HookStore.js"
import type { HookInput, HookPatch, HookRotationInput } from "./HooksApi.js"
import { jsonOf } from "./JsonText.js"
import { makeRegistering } from "./Registering.js"
import { hookBodyContext, hookSecretContext } from "./SealedHooks.js"

/** The principal may not see it, or may not manage hooks. */
export type HookDenied = Denied | ScopeMissing

/** The content of a delivery: the forge's name of its event, null for none, and its body as JSON. */
export interface Delivered {
  readonly workspace_id: string
  readonly event: string | null
  readonly body: unknown
}

/** The most hooks of a workspace. */
export const maxHooks = 20

/**
 * Hooks of a workspace. Only an owner of it with the scope `admin` sees and changes them, because whoever has a secret of one can start work there.
 */
export class Hooks extends Context.Tag("@reins/core/hooks/Hooks")<
  Hooks,
  {
    /** The hooks of a workspace, newest first. */
    readonly list: (
      principal: Principal,
      workspaceId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Hook>, HookDenied | ReinsError<"invalid_cursor">>
    readonly get: (principal: Principal, hookId: string) => Effect.Effect<Hook, HookDenied>
    /** A new hook. Its secret is given this once and kept sealed. Fails with `quota_exhausted` when the workspace has 20 of them. */
    readonly create: (
      principal: Principal,
      workspaceId: string,
      input: HookInput
    ) => Command<HookWithSecret, HookDenied | ReinsError<"quota_exhausted">>
    /** Changes what is given. */
    readonly update: (principal: Principal, hookId: string, patch: HookPatch) => Command<Hook, HookDenied>
    /** Removes a hook with its receipts. Automations that it rings are paused. */
    readonly remove: (principal: Principal, hookId: string) => Command<Hook, HookDenied>
    /** Replaces the secret. Both are good until the overlap ends. */
    readonly rotate: (
      principal: Principal,
      hookId: string,
      input: HookRotationInput
    ) => Command<HookWithSecret, HookDenied>
    /** The calls of the last 7 days, newest first. */
    readonly receipts: (
      principal: Principal,
      hookId: string,
      page: PageRequest
    ) => Effect.Effect<Page<HookReceipt>, HookDenied | ReinsError<"invalid_cursor">>
    /** A delivery that came, for those who try a filter on it. Fails as `replay` does. */
    readonly delivered: (
      principal: Principal,
      receiptId: string
    ) => Effect.Effect<Delivered, HookDenied | ReinsError<"invalid_transition">>
    /**
     * Rings again with what came in. An automation that has a run of the delivery gets no second one. Fails with `invalid_transition` when the body is not
     * kept.
     */
    readonly replay: (
      principal: Principal,
      receiptId: string
    ) => Command<HookReceipt, HookDenied | ReinsError<"invalid_transition">>
  }
>() {
  static readonly layer = Layer.effect(
    Hooks,
    Effect.map(
      Effect.suspend(() => makeParts()),
      (on) => Hooks.of({ ...readsOf(on), ...commandsOf(on), ...secretCommandsOf(on), ...replayOf(on) })
    )
  )
}

/** The services, with the checks that every method begins with. */
const makeParts = () =>
  Effect.gen(function* () {
    const access = yield* Access
    const journal = yield* Journal
    const listeners = yield* HookListeners
    const store = yield* HookStore
    const vault = yield* Vault

    const readable = Effect.fnUntraced(function* (principal: Principal, id: string) {
      const row = yield* store.find(id)
      if (row === undefined) return yield* notFound()
      yield* access.manage(principal, row.workspace_id)
      return row
    })
    const locked = Effect.fnUntraced(function* (principal: Principal, id: string) {
      const row = yield* store.lock(id)
      yield* access.manage(principal, row.workspace_id)
      return row
    })
    const show = (row: HookRow) => store.toHook(row)
    const registering = yield* makeRegistering
    return { access, journal, listeners, locked, readable, registering, show, store, vault }
  })

type Parts = Effect.Effect.Success<ReturnType<typeof makeParts>>
type Methods = Hooks["Type"]

const about = (principal: Principal, id: string) => ({ by: principal, about: { type: "hook", id } })

const readsOf = ({ access, readable, show, store }: Parts): Pick<Methods, "get" | "list" | "receipts"> => ({
  list: fn("Hooks.list")(function* (principal, workspaceId, page) {
    yield* access.manage(principal, workspaceId)
    return yield* store.list(workspaceId, page)
  }),
  get: fn("Hooks.get")((principal, id) => Effect.flatMap(readable(principal, id), show)),
  receipts: fn("Hooks.receipts")(function* (principal, id, page) {
    const hook = yield* readable(principal, id)
    return yield* store.receipts(hook.id, page)
  })
})

const commandsOf = ({
  journal,
  listeners,
  locked,
  registering,
  show,
  store
}: Parts): Pick<Methods, "remove" | "update"> => ({
  update: (principal, id, { label, state }) =>
    journal.command(
      "Hooks.update",
      about(principal, id),
      Effect.gen(function* () {
        const before = yield* locked(principal, id)
        const changes = {
          ...(label !== undefined && { label }),
          ...(state !== undefined && { state }),
          updated_at: yield* now
        }
        yield* store.update(before.id, changes)
        return yield* show({ ...before, ...changes })
      })
    ),
  remove: (principal, id) =>
    journal.command(
      "Hooks.remove",
      about(principal, id),
      Effect.gen(function* () {
        const row = yield* locked(principal, id)
        const removed = yield* show(row)
        yield* listeners.removed(row.id)
        yield* registering.forget(row)
        yield* store.remove(row.id)
        return removed
      })
    )
})

/** The commands that make a secret and show it once. */
const secretCommandsOf = ({
  journal,
  locked,
  access,
  registering,
  show,
  store,
  vault
}: Parts): Pick<Methods, "create" | "rotate"> => ({
  create: (principal, workspaceId, { kind, label }) =>
    journal.command(
      "Hooks.create",
      { by: principal, about: { type: "workspace", id: workspaceId } },
      Effect.gen(function* () {
        yield* access.manage(principal, workspaceId)
        const used = yield* store.count(workspaceId)
        if (used >= maxHooks) return yield* tooMany(used)
        const id = yield* newId(HookId)
        const workspace_id = WorkspaceId.make(workspaceId)
        const secret = newSecret()
        const at = yield* now
        const row: HookRow = {
          id,
          workspace_id,
          kind,
          label,
          state: "enabled",
          secret: yield* vault.seal(secret, hookSecretContext({ id, workspace_id })),
          previous_secret: null,
          previous_until: null,
          registration: null,
          created_at: at,
          updated_at: at
        }
        yield* store.insert(row)
        return { ...(yield* show(row)), secret: Redacted.value(secret) }
      })
    ),
  rotate: (principal, id, { overlap_seconds = 86_400 }) =>
    journal.command(
      "Hooks.rotate",
      about(principal, id),
      Effect.gen(function* () {
        const before = yield* locked(principal, id)
        const secret = newSecret()
        const changes = {
          secret: yield* vault.seal(secret, hookSecretContext(before)),
          previous_secret: overlap_seconds === 0 ? null : before.secret,
          previous_until: overlap_seconds === 0 ? null : yield* fromNow(overlap_seconds * 1000),
          ...(yield* registering.again(before)),
          updated_at: yield* now
        }
        yield* store.update(before.id, changes)
        return { ...(yield* show({ ...before, ...changes })), secret: Redacted.value(secret) }
      })
    )
})

const replayOf = ({
  journal,
  listeners,
  locked,
  readable,
  store,
  vault
}: Parts): Pick<Methods, "delivered" | "replay"> => ({
  delivered: fn("Hooks.delivered")(function* (principal, receiptId) {
    const receipt = yield* store.findReceipt(receiptId)
    if (receipt === undefined) return yield* notFound()
    const hook = yield* readable(principal, receipt.hook_id)
    const { workspace_id } = hook
    return { workspace_id, event: receipt.event, body: yield* bodyOf(vault, hook, receipt) }
  }),
  replay: (principal, receiptId) =>
    journal.command(
      "Hooks.replay",
      { by: principal, about: { type: "hook_receipt", id: receiptId } },
      Effect.gen(function* () {
        const found = yield* store.findReceipt(receiptId)
        if (found === undefined) return yield* notFound()
        const hook = yield* locked(principal, found.hook_id)
        const receipt = yield* store.findReceipt(receiptId)
        if (receipt === undefined) return yield* notFound()
        const body = yield* bodyOf(vault, hook, receipt)
        const { delivery_id, event } = receipt
        const made = yield* listeners.rung({ hook, delivery_id, event, body, at: yield* now })
        const before = toldOf(receipt)
        const latest = toldBy(made)
        const told: Told = {
          ...latest,
          outcome: latest.outcome === "ignored" ? before.outcome : latest.outcome,
          dropped: made.dropped + (before.dropped ?? 0),
          reason: latest.reason ?? before.reason,
          reason_message: latest.reason_message ?? before.reason_message
        }
        yield* store.settle(receipt, told, receipt.runs + made.runs)
        const settled = yield* store.findReceipt(receipt.id)
        return toReceipt(settled ?? receipt)
      })
    )
})

/** Opens the body of a delivery. */
const bodyOf = Effect.fnUntraced(function* (vault: Vault["Type"], hook: HookRow, { body }: ReceiptRow) {
  const opened = body === null ? undefined : yield* Effect.option(vault.unseal(body, hookBodyContext(hook)))
  if (opened === undefined || opened._tag === "None") return yield* notKept
  return jsonOf(new TextEncoder().encode(Redacted.value(opened.value)))?.value
})

const notKept = new ReinsError({
  code: "invalid_transition",
  message:
    "The body of this delivery is not kept: it was larger than 64 KiB, it could not be read, or the key that sealed it is gone. Have the caller send it again.",
  details: { resource: "hook_receipt" }
})

const tooMany = (used: number) =>
  new ReinsError({
    code: "quota_exhausted",
    message: `This workspace has ${used} hooks, and ${maxHooks} are the most. Remove one that is not needed.`,
    details: { quota: "hooks", used, limit: maxHooks }
  })
