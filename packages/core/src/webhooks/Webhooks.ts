import { fn } from "@reins/base/base/Traced"
import { EventId, newId, WebhookEndpointId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest, StatePageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { fromNow, now } from "@reins/base/domain/Timestamp"
import { Vault } from "@reins/base/secrets/Vault"
import { Context, Effect, Layer, Redacted } from "effect"
import { Access, type Denied, type ScopeMissing } from "../access/Access.js"
import { FollowerStore } from "../events/FollowerStore.js"
import { WorkspaceEvents } from "../events/WorkspaceEvents.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { secretContext } from "./SealedSecrets.js"
import { newSecret } from "./Signature.js"
import {
  type AttemptedWebhookDelivery,
  type WebhookDelivery,
  type WebhookDeliveryState,
  type WebhookEndpoint,
  type WebhookEndpointWithSecret,
  webhookTest
} from "./Webhook.js"
import { type EndpointRow, followerName, WebhookStore } from "./WebhookStore.js"
import type {
  SecretRotationInput,
  WebhookEndpointInput,
  WebhookEndpointPatch,
  WebhookRetries,
  WebhookRetryInput
} from "./WebhooksApi.js"

/** The principal may not see it, or may not manage webhooks. */
export type WebhookDenied = Denied | ScopeMissing

/** The most endpoints of a workspace. */
export const maxEndpoints = 20

/**
 * Endpoints that the events of a workspace are sent to. Only an owner of the workspace with the scope `admin` sees and changes them, because
 * they carry what happens in it to other places.
 */
export class Webhooks extends Context.Tag("@reins/core/webhooks/Webhooks")<
  Webhooks,
  {
    /** The endpoints of a workspace, newest first. */
    readonly list: (
      principal: Principal,
      workspaceId: string,
      page: PageRequest
    ) => Effect.Effect<Page<WebhookEndpoint>, WebhookDenied | ReinsError<"invalid_cursor">>
    /**
     * A new endpoint, which gets the events from now on. Its secret is given this once and kept sealed. Fails with `quota_exhausted` when the
     * workspace has 20 of them.
     */
    readonly create: (
      principal: Principal,
      workspaceId: string,
      input: WebhookEndpointInput
    ) => Command<WebhookEndpointWithSecret, WebhookDenied | ReinsError<"quota_exhausted">>
    readonly get: (principal: Principal, endpointId: string) => Effect.Effect<WebhookEndpoint, WebhookDenied>
    /** Changes what is given. An endpoint that is enabled again goes on at once with what has waited for it. */
    readonly update: (
      principal: Principal,
      endpointId: string,
      patch: WebhookEndpointPatch
    ) => Command<WebhookEndpoint, WebhookDenied>
    /** Removes an endpoint with its deliveries. An attempt that is on its way may still arrive. */
    readonly remove: (principal: Principal, endpointId: string) => Command<WebhookEndpoint, WebhookDenied>
    /** Replaces the secret. Deliveries carry two signatures until the overlap ends. */
    readonly rotate: (
      principal: Principal,
      endpointId: string,
      input: SecretRotationInput
    ) => Command<WebhookEndpointWithSecret, WebhookDenied>
    /** The deliveries of an endpoint, newest first. */
    readonly deliveries: (
      principal: Principal,
      endpointId: string,
      page: StatePageRequest<WebhookDeliveryState>
    ) => Effect.Effect<Page<WebhookDelivery>, WebhookDenied | ReinsError<"invalid_cursor">>
    readonly delivery: (
      principal: Principal,
      deliveryId: string
    ) => Effect.Effect<AttemptedWebhookDelivery, WebhookDenied>
    /** Delivers again by hand, whatever became of it; one that waits for its retry is attempted at once. */
    readonly retry: (principal: Principal, deliveryId: string) => Command<WebhookDelivery, WebhookDenied>
    /** Delivers again what was made in a time and has ended like this, in the order of its positions. */
    readonly retryAll: (
      principal: Principal,
      endpointId: string,
      input: WebhookRetryInput
    ) => Command<WebhookRetries, WebhookDenied>
    /**
     * A delivery of a test, which leaves before all others and has one attempt. Its success ends the back-off of what waits, and its failure
     * is none of the endpoint's. Fails with `invalid_transition` for a disabled endpoint.
     */
    readonly test: (
      principal: Principal,
      endpointId: string
    ) => Command<WebhookDelivery, WebhookDenied | ReinsError<"invalid_transition">>
  }
>() {
  static readonly layer = Layer.effect(
    Webhooks,
    Effect.map(
      Effect.suspend(() => makeParts()),
      (on) => Webhooks.of({ ...readsOf(on), ...commandsOf(on), ...deliveryCommandsOf(on), ...secretCommandsOf(on) })
    )
  )
}

/** The services, with the checks that every method begins with. */
const makeParts = () =>
  Effect.gen(function* () {
    const access = yield* Access
    const events = yield* WorkspaceEvents
    const journal = yield* Journal
    const positions = (yield* FollowerStore)(followerName)
    const store = yield* WebhookStore
    const vault = yield* Vault

    const readable = Effect.fnUntraced(function* (principal: Principal, id: string) {
      const row = yield* store.find(id)
      yield* access.manage(principal, row.workspace_id)
      return row
    })
    const locked = Effect.fnUntraced(function* (principal: Principal, id: string) {
      const row = yield* store.lock(id)
      yield* access.manage(principal, row.workspace_id)
      return row
    })
    return { access, events, journal, locked, positions, readable, store, vault }
  })

type Parts = Effect.Effect.Success<ReturnType<typeof makeParts>>
type Methods = Webhooks["Type"]

const readsOf = ({ access, readable, store }: Parts): Pick<Methods, "deliveries" | "delivery" | "get" | "list"> => ({
  list: fn("Webhooks.list")(function* (principal, workspaceId, page) {
    yield* access.manage(principal, workspaceId)
    return yield* store.list(workspaceId, page)
  }),
  get: fn("Webhooks.get")((principal, id) => Effect.flatMap(readable(principal, id), store.toEndpoint)),
  deliveries: fn("Webhooks.deliveries")(function* (principal, id, page) {
    const endpoint = yield* readable(principal, id)
    return yield* store.deliveries(endpoint.id, page)
  }),
  delivery: fn("Webhooks.delivery")(function* (principal, id) {
    const found = yield* store.findDelivery(id)
    yield* readable(principal, found.endpoint_id)
    return { ...found, attempts: yield* store.attempts(found.id) }
  })
})

const commandsOf = ({ journal, locked, positions, readable, store }: Parts): Pick<Methods, "remove" | "update"> => ({
  update: (principal, id, patch) =>
    journal.command(
      "Webhooks.update",
      { by: principal, about: { type: "webhook_endpoint", id: id } },
      Effect.gen(function* () {
        const before = yield* locked(principal, id)
        const { state = before.state, types, ...rest } = patch
        const isTurned = state !== before.state
        yield* store.update(before.id, {
          ...rest,
          ...(types !== undefined && { types: textOf(types) }),
          ...(isTurned && {
            state,
            disabled_reason: state === "disabled" ? "by_hand" : null,
            failing_since: null,
            paused_until: null
          }),
          updated_at: yield* now
        })
        if (isTurned && state === "enabled") yield* store.endWaits(before.id)
        yield* positions.wake(before.id)
        return yield* Effect.flatMap(store.find(before.id), store.toEndpoint)
      })
    ),
  remove: (principal, id) =>
    journal.command(
      "Webhooks.remove",
      { by: principal, about: { type: "webhook_endpoint", id: id } },
      Effect.gen(function* () {
        const row = yield* readable(principal, id)
        const removed = yield* store.toEndpoint(row)
        // Before the endpoint, as a courier locks them too.
        yield* positions.end(row.id)
        yield* locked(principal, id)
        yield* store.remove(row.id)
        yield* positions.wake(row.id)
        return removed
      })
    )
})

/** The commands that have something delivered now. They end the pause of the endpoint, because a person wants to see what it says. */
const deliveryCommandsOf = ({
  journal,
  locked,
  positions,
  store
}: Parts): Pick<Methods, "retry" | "retryAll" | "test"> => ({
  retry: (principal, id) =>
    journal.command(
      "Webhooks.retry",
      { by: principal, about: { type: "webhook_delivery", id: id } },
      Effect.gen(function* () {
        const found = yield* store.findDelivery(id)
        yield* locked(principal, found.endpoint_id)
        yield* store.again(found.id)
        yield* store.update(found.endpoint_id, { paused_until: null })
        yield* positions.wake(found.endpoint_id)
        return yield* store.findDelivery(id)
      })
    ),
  retryAll: (principal, id, { since, state = "failed", until }) =>
    journal.command(
      "Webhooks.retryAll",
      { by: principal, about: { type: "webhook_endpoint", id: id } },
      Effect.gen(function* () {
        const endpoint = yield* locked(principal, id)
        const count = yield* store.allAgain(endpoint.id, { since, state, until })
        yield* store.update(endpoint.id, { paused_until: null })
        yield* positions.wake(endpoint.id)
        return { count }
      })
    ),
  test: (principal, id) =>
    journal.command(
      "Webhooks.test",
      { by: principal, about: { type: "webhook_endpoint", id: id } },
      Effect.gen(function* () {
        const endpoint = yield* locked(principal, id)
        if (endpoint.state === "disabled") return yield* isDisabled
        const event_id = yield* newId(EventId)
        const nowhere = { session_id: null, seq: null, position: null }
        const delivery = yield* store.insertDelivery(endpoint.id, { event_id, type: webhookTest, ...nowhere })
        yield* store.update(endpoint.id, { paused_until: null })
        yield* positions.wake(endpoint.id)
        return delivery
      })
    )
})

/** The commands that make a secret and show it once. */
const secretCommandsOf = ({
  events,
  journal,
  locked,
  access,
  positions,
  store,
  vault
}: Parts): Pick<Methods, "create" | "rotate"> => ({
  create: (principal, workspaceId, input) =>
    journal.prepared(
      "Webhooks.create",
      { by: principal, about: { type: "workspace", id: workspaceId } },
      Effect.gen(function* () {
        yield* access.manage(principal, workspaceId)
        const { head } = yield* events.ends(workspaceId)
        return Effect.gen(function* () {
          const used = yield* store.count(workspaceId)
          if (used >= maxEndpoints) return yield* tooMany(used)
          const id = yield* newId(WebhookEndpointId)
          const workspace_id = WorkspaceId.make(workspaceId)
          const secret = newSecret()
          const at = yield* now
          const row: EndpointRow = {
            id,
            workspace_id,
            url: input.url,
            description: input.description ?? null,
            types: textOf(input.types),
            project_id: input.project_id ?? null,
            label: input.label ?? null,
            state: "enabled",
            disabled_reason: null,
            failing_since: null,
            paused_until: null,
            secret: yield* vault.seal(secret, secretContext({ id, workspace_id })),
            previous_secret: null,
            previous_until: null,
            created_at: at,
            updated_at: at
          }
          yield* store.insert(row)
          yield* positions.begin(id, head)
          yield* positions.wake(id)
          return { ...(yield* store.toEndpoint(row)), secret: Redacted.value(secret) }
        })
      })
    ),
  rotate: (principal, id, { overlap_seconds = 86_400 }) =>
    journal.command(
      "Webhooks.rotate",
      { by: principal, about: { type: "webhook_endpoint", id: id } },
      Effect.gen(function* () {
        const before = yield* locked(principal, id)
        const secret = newSecret()
        yield* store.update(before.id, {
          secret: yield* vault.seal(secret, secretContext(before)),
          previous_secret: overlap_seconds === 0 ? null : before.secret,
          previous_until: overlap_seconds === 0 ? null : yield* fromNow(overlap_seconds * 1000),
          updated_at: yield* now
        })
        const endpoint = yield* Effect.flatMap(store.find(before.id), store.toEndpoint)
        return { ...endpoint, secret: Redacted.value(secret) }
      })
    )
})

const textOf = (types: WebhookEndpointInput["types"]): string | null =>
  types === undefined || types === null ? null : JSON.stringify(types)

const isDisabled = new ReinsError({
  code: "invalid_transition",
  message: "The endpoint is disabled, and is sent nothing. PATCH it with state: enabled first.",
  details: { resource: "webhook_endpoint", from: "disabled" }
})

const tooMany = (used: number) =>
  new ReinsError({
    code: "quota_exhausted",
    message: `This workspace has ${used} webhook endpoints, and ${maxEndpoints} are the most. Remove one that is not needed.`,
    details: { quota: "webhook_endpoints", used, limit: maxEndpoints }
  })
