import { Observer } from "@reins/base/base/Observer"
import { Vault } from "@reins/base/secrets/Vault"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { Effect } from "effect"
import * as Memberships from "../access/Memberships.js"
import { EventLog } from "../events/EventLog.js"
import type { Follower, FollowerFilter } from "../events/Follower.js"
import { webhookMailTo } from "../identity/MailJob.js"
import { JobStore } from "../jobs/JobStore.js"
import { Database } from "../store/Database.js"
import type { WorkspaceEntry } from "../store/WorkspaceLog.js"
import { type Couriering, send } from "./Courier.js"
import { DeliveryQueue } from "./DeliveryQueue.js"
import type { WebhookDisabledReason } from "./Webhook.js"
import { type EndpointRow, followerName, type NewWebhookDelivery, WebhookStore } from "./WebhookStore.js"

/** The attempts that a process makes at the same time, for all endpoints. */
const places = 128

/** Sends the events of workspaces to their webhook endpoints. The key is the id of an endpoint. */
export const couriers = Effect.gen(function* () {
  const store = yield* WebhookStore
  const on: Couriering = {
    log: yield* EventLog,
    observer: yield* Observer,
    outbound: yield* Outbound,
    queue: yield* DeliveryQueue,
    vault: yield* Vault,
    places: yield* Effect.makeSemaphore(places),
    tellOwners: yield* tellOwners
  }
  return {
    name: followerName,
    list: store.enabled,
    begin: Effect.fnUntraced(function* (key) {
      const endpoint = yield* store.findEnabled(key)
      return (
        endpoint && {
          filter: filterOf(endpoint),
          take: (events) => on.queue.add(endpoint.id, events.map(deliveryOf)),
          work: (commit) => send(on, endpoint, commit)
        }
      )
    })
  } satisfies Follower
})

const filterOf = ({ label, project_id, types }: EndpointRow): FollowerFilter => {
  const end = label?.indexOf("=") ?? 0
  return {
    types: types === null ? undefined : JSON.parse(types),
    projectId: project_id ?? undefined,
    label: label === null ? undefined : { name: label.slice(0, end), value: label.slice(end + 1) }
  }
}

const deliveryOf = ({ envelope, seq, type }: WorkspaceEntry): NewWebhookDelivery => {
  const event = JSON.parse(envelope)
  return { event_id: event.id, position: seq, seq: event.seq, session_id: event.session_id, type }
}

/** Has a mail sent to each owner of the workspace of an endpoint that was disabled. */
const tellOwners = Effect.gen(function* () {
  const db = yield* Database
  const jobs = yield* JobStore
  return Effect.fnUntraced(function* (endpoint: EndpointRow, reason: WebhookDisabledReason) {
    const owners = yield* Memberships.ownersOf(db, endpoint.workspace_id)
    yield* Effect.forEach(
      owners,
      (accountId) =>
        jobs.enqueue(webhookMailTo(accountId, { id: endpoint.id, host: new URL(endpoint.url).host, reason })),
      { discard: true }
    )
  })
})
