import { randomUUID } from "node:crypto"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import * as Embedded from "@reins/core/Embedded"
import type { ProjectSpec } from "@reins/core/projects/Project"
import { Projects } from "@reins/core/projects/Projects"
import { MergeRequestLooks } from "@reins/core/requests/looks/MergeRequestLooks"
import { MergeRequests } from "@reins/core/requests/MergeRequests"
import type { MergeRequest } from "@reins/core/requests/rows/MergeRequest"
import { eventOf, forgeConnection, remote, workspace } from "@reins/testing/changes/Fixture"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { within } from "@reins/testing/MachineTime"
import { Effect, Schedule } from "effect"

/** True when a look that did not begin before a time has ended, and the next one is not due. */
export const isAtRest = ({ next_look_at, observed_at }: MergeRequest, from: string): boolean =>
  observed_at !== null &&
  observed_at >= from &&
  (next_look_at === null || Date.parse(next_look_at) - Date.now() > 1_000)

export const until = <E, R>(get: Effect.Effect<MergeRequest, E, R>, isSo: (request: MergeRequest) => boolean) =>
  Effect.repeat(get, { schedule: Schedule.spaced("25 millis"), until: isSo }).pipe(within(30))

const projectOf = Effect.fnUntraced(function* (spec?: ProjectSpec) {
  if (spec === undefined) return {}
  const { principal, workspaceId } = yield* Embedded.owner
  const slug = `p${randomUUID()}`
  const { id } = yield* (yield* Projects).create(principal, workspaceId, { slug, name: slug, spec })
  return { project_id: id }
})

/** An open merge request that was looked at once. Its session is of a project if a spec is given. */
export const watched = (kind: KnownForge, spec?: ProjectSpec) =>
  Effect.gen(function* () {
    const origin = yield* remote(kind)
    const { change, principal, session } = yield* workspace(origin.url, yield* projectOf(spec))
    const connection = yield* forgeConnection(kind, origin.base)
    const changeset = yield* change({ "a.txt": "ONE\n" })
    const answer = yield* (yield* Deliveries).request(principal, changeset.id, { connection_id: connection.id })
    yield* eventOf(session.id, answer.event_watermark, "delivery.succeeded")
    const delivery = yield* (yield* Deliveries).get(principal, answer.delivery.id)
    const requests = yield* MergeRequests
    const looks = yield* MergeRequestLooks
    const { event_watermark: after, merge_request } = yield* requests.open(principal, delivery.id, { draft: false })
    yield* eventOf(session.id, after, "merge_request.opened")
    const { id } = merge_request
    const get = requests.get(principal, id)
    /** Has it looked at, and gives it once that look has ended. */
    const look = Effect.gen(function* () {
      const { asked_at } = yield* looks.look(principal, id)
      yield* until(get, (request) => request.state !== "open" || isAtRest(request, asked_at))
      return yield* get
    })
    const head = delivery.commit ?? ""
    return { change, connection, delivery, get, head, id, look, looks, origin, principal, session }
  })
