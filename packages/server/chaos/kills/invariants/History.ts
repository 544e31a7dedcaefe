import type { TypedEvent } from "@reins/client"
import { Schema } from "effect"
import { assert } from "vitest"
import type { Installation } from "../Installation.js"

const Stated = Schema.Struct({ id: Schema.String, state: Schema.String })
const SessionRow = Schema.Struct({
  id: Schema.String,
  event_watermark: Schema.Number,
  lifecycle: Schema.String,
  lease_id: Schema.NullOr(Schema.String),
  lease_state: Schema.String
})

/** The log of every session has the numbers 1 to N, and says of every resource what the resource says of itself. */
export class History {
  /** The position up to which each session was read. */
  private readonly read = new Map<string, number>()
  private readonly ids = new Set<string>()
  /** The state that was told last of each resource. */
  private readonly told = new Map<string, string>()
  /** The number of times that each event was told that can happen once only. */
  private readonly times = new Map<string, number>()

  constructor(private readonly installation: Installation) {}

  /** Reads on where it was left, and compares. */
  async holds(): Promise<void> {
    const sessions = await this.installation.records.all(
      SessionRow,
      "select sessions.id, event_watermark, lifecycle, leases.id as lease_id, coalesce(leases.state, 'none') as lease_state from sessions left join leases on session_id = sessions.id"
    )
    for (const session of sessions) {
      await this.readOn(session.id, session.event_watermark)
      this.agrees(session.id, session.lifecycle)
      if (session.lease_id !== null) this.agrees(session.lease_id, session.lease_state)
    }
    for (const table of ["turns", "changesets", "deliveries", "merge_requests", "delegations", "applications"]) {
      for (const { id, state } of await this.installation.records.all(Stated, `select id, state from ${table}`))
        this.agrees(id, state)
    }
    const repeated = [...this.times].filter(([, times]) => times > 1)
    assert.deepStrictEqual(repeated, [], "what can happen once only")
  }

  private agrees(id: string, state: string): void {
    assert.strictEqual(this.told.get(id), state, `what was told last of ${id}`)
  }

  private async readOn(session_id: string, watermark: number): Promise<void> {
    let after = this.read.get(session_id) ?? 0
    while (after < watermark) {
      const { items } = await this.installation.api.sessions.listEvents({ session_id, after, limit: 1000 })
      for (const event of items) {
        assert.strictEqual(event.seq, ++after, `the events of ${session_id}`)
        this.note(event)
      }
      assert.isNotEmpty(items, `the events of ${session_id} end before ${watermark}`)
    }
    assert.strictEqual(after, watermark, `the events of ${session_id}`)
    this.read.set(session_id, after)
  }

  private note(event: TypedEvent): void {
    assert.isFalse(this.ids.has(event.id), `the event ${event.id} is there twice`)
    this.ids.add(event.id)
    for (const [id, state] of statesIn(event)) this.told.set(id, state)
    const once = onceOf(event)
    if (once !== undefined) this.times.set(once, (this.times.get(once) ?? 0) + 1)
  }
}

/** The states of resources that an event tells. */
const statesIn = (event: TypedEvent): ReadonlyArray<readonly [string, string]> => {
  switch (event.type) {
    case "session.created":
    case "session.updated":
    case "session.archived":
    case "session.unarchived":
    case "session.closed":
      return [[event.session_id, event.payload.lifecycle]]
    case "turn.queued":
    case "turn.preparing":
    case "turn.started":
    case "turn.cancel_requested":
    case "turn.succeeded":
    case "turn.failed":
    case "turn.cancelled":
    case "turn.interrupted":
      return [[event.payload.turn.id, event.payload.turn.state]]
    case "executor.allocating":
    case "executor.ready":
    case "executor.quiescing":
    case "executor.released":
    case "executor.lost":
      return [[event.payload.lease_id, event.type.slice("executor.".length)]]
    case "changeset.capture_requested":
    case "changeset.ready":
    case "changeset.failed":
      return [[event.changeset_id ?? "", event.payload.state]]
    case "delivery.requested":
    case "delivery.progressed":
    case "delivery.succeeded":
    case "delivery.failed":
    case "delivery.blocked":
    case "delivery.cancelled":
      return [[event.delivery_id ?? "", event.payload.state]]
    case "merge_request.requested":
    case "merge_request.opened":
    case "merge_request.merged":
    case "merge_request.closed":
    case "merge_request.failed":
      return [[event.payload.merge_request_id, event.payload.state]]
    case "delegation.created":
    case "delegation.active":
    case "delegation.succeeded":
    case "delegation.failed":
    case "delegation.cancelled":
      return [[event.delegation_id ?? "", event.payload.state]]
    case "workspace.applied":
    case "workspace.apply_conflicted":
    case "workspace.apply_failed":
      return [[event.payload.application_id, event.payload.state]]
    default:
      return []
  }
}

/** Names what an event reports, where that can happen once only. */
const onceOf = (event: TypedEvent): string | undefined => {
  switch (event.type) {
    case "session.created":
    case "session.closed":
      return `${event.type} ${event.session_id}`
    case "message.accepted":
    case "message.completed":
      return `${event.type} ${event.payload.message.id}`
    case "message.delivered":
      return `${event.type} ${event.payload.message_id}`
    case "turn.started":
    case "turn.acknowledged":
      return `${event.type} ${event.payload.turn.id}`
    case "turn.succeeded":
    case "turn.failed":
    case "turn.cancelled":
    case "turn.interrupted":
      return `the end of ${event.payload.turn.id}`
    case "executor.allocating":
    case "executor.ready":
    case "executor.released":
    case "executor.lost":
      return `${event.type} ${event.payload.lease_id}`
    case "changeset.capture_requested":
    case "changeset.ready":
    case "changeset.failed":
      return `${event.type} ${event.changeset_id}`
    case "delivery.succeeded":
      return `${event.type} ${event.delivery_id}`
    case "merge_request.opened":
    case "merge_request.merged":
      return `${event.type} ${event.payload.merge_request_id}`
    case "merge_request.care_began":
    case "merge_request.care_delivered":
      return `${event.type} ${event.payload.attention_id}`
    case "delegation.created":
    case "delegation.active":
    case "delegation.succeeded":
    case "delegation.failed":
    case "delegation.cancelled":
      return `${event.type} ${event.delegation_id}`
    case "delegation.result_published":
      return `${event.type} ${event.payload.result_id}`
    case "delegation.wait_satisfied":
    case "delegation.wait_expired":
      return `the end of ${event.payload.wait_id}`
    case "workspace.applied":
      return `${event.type} ${event.payload.application_id}`
    default:
      return undefined
  }
}
