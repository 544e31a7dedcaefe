import { inOrder } from "@reins/base/base/Layered"
import { secrets } from "@reins/base/secrets/Room"
import { agents } from "@reins/machine/agents/Room"
import { bench } from "@reins/machine/bench/Room"
import { files } from "@reins/machine/files/Room"
import { git } from "@reins/machine/git/Room"
import { outbound } from "@reins/machine/outbound/Room"
import { relay } from "@reins/machine/relay/Room"
import { Effect, type Layer, type Types } from "effect"
import { access } from "./access/Room.js"
import { artifacts } from "./artifacts/Room.js"
import { automations } from "./automations/Room.js"
import { budgets } from "./budgets/Room.js"
import { care } from "./care/Room.js"
import { catalog } from "./catalog/Room.js"
import { changes } from "./changes/Room.js"
import { connections } from "./connections/Room.js"
import { delegations } from "./delegations/Room.js"
import { deletion } from "./deletion/Room.js"
import { deliveries } from "./deliveries/Room.js"
import type { Follower } from "./events/Follower.js"
import { events } from "./events/Room.js"
import { execution } from "./execution/Room.js"
import { exports } from "./exports/Room.js"
import { hooks } from "./hooks/Room.js"
import { identity } from "./identity/Room.js"
import type { JobKind } from "./jobs/JobKind.js"
import { jobs } from "./jobs/Room.js"
import { logins } from "./logins/Room.js"
import { mcp } from "./mcp/Room.js"
import { oauth } from "./oauth/Room.js"
import { projects } from "./projects/Room.js"
import { push } from "./push/Room.js"
import { requests } from "./requests/Room.js"
import { sessions } from "./sessions/Room.js"
import { shares } from "./shares/Room.js"
import { store } from "./store/Room.js"
import type { SealedValues } from "./store/SealedValues.js"
import { tools } from "./tools/Room.js"
import { traces } from "./traces/Room.js"
import { webhooks } from "./webhooks/Room.js"
import { work } from "./work/Room.js"
import { worktrees } from "./worktrees/Room.js"

/** A room of the core shows in its `Room.ts` the things that it owns. The lists beside the rooms are made of these. */
export interface Room {
  /** The folder. */
  readonly name: string
  /** The services of the room, which need those of lower floors only. */
  readonly layer?: Layer.Layer<never, unknown, unknown>
  /** The tables whose rows have ids. New ids begin above the stored ones. */
  readonly tables?: ReadonlyArray<string>
  /** Reads every sealed value of the room's tables, so that a change of keys seals it anew. */
  readonly sealed?: SealedValues
  /** The operations of the room, by the group of their endpoints. */
  readonly operations?: Readonly<Record<string, Effect.Effect<object, never, unknown>>>
  /** The kinds of jobs that a worker runs; undefined for one that the installation has no use for. */
  readonly jobs?: ReadonlyArray<Effect.Effect<JobKind | undefined, unknown, unknown>>
  /** The durable readers of the logs of workspaces. */
  readonly followers?: ReadonlyArray<Effect.Effect<Follower, unknown, unknown>>
  /** The sweeps that delete records of no more use, by the word for the records. */
  readonly sweeps?: Readonly<Record<string, Effect.Effect<Effect.Effect<unknown>, unknown, unknown>>>
}

/** The rooms with services, by floor. */
export const rooms = [
  secrets,
  store,
  outbound,
  files,
  access,
  budgets,
  events,
  jobs,
  identity,
  git,
  connections,
  oauth,
  relay,
  agents,
  catalog,
  projects,
  logins,
  bench,
  sessions,
  work,
  tools,
  traces,
  webhooks,
  hooks,
  worktrees,
  push,
  mcp,
  changes,
  deliveries,
  requests,
  artifacts,
  care,
  execution,
  delegations,
  exports,
  shares,
  automations,
  deletion
] as const satisfies ReadonlyArray<Room>

type Having<Field extends keyof Room> = Extract<(typeof rooms)[number], { readonly [F in Field]: unknown }>

const roomsWith = <Field extends keyof Room>(field: Field): ReadonlyArray<Having<Field>> =>
  rooms.filter((room): room is Having<Field> => field in room)

type LayerOfRoom = Having<"layer">["layer"]

/** Every service, on what a program may replace. */
export const services = inOrder(roomsWith("layer").map(({ layer }): LayerOfRoom => layer))

/** Every sealed value of the installation that is not an answer to a request. */
export const sealedValues: SealedValues = (db) =>
  Effect.map(
    Effect.forEach(roomsWith("sealed"), ({ sealed }) => sealed(db)),
    (all) => all.flat()
  )

/** Every table whose rows have ids. */
export const tables: ReadonlyArray<string> = roomsWith("tables").flatMap(({ tables }): ReadonlyArray<string> => tables)

type OperationsOfRoom = Having<"operations">["operations"]

type GroupsOf<R> = R extends unknown ? keyof R : never

type GroupOf<R, Name> = R extends { readonly [N in Name & string]: Effect.Effect<infer A, infer _E, infer _R> }
  ? A
  : never

type AllOperations = {
  readonly [Name in GroupsOf<OperationsOfRoom>]: Types.UnionToIntersection<GroupOf<OperationsOfRoom, Name>>
}

type NeedsOf<R> =
  R extends Readonly<Record<string, infer Operations>>
    ? Operations extends Effect.Effect<infer _A, infer _E, infer Needs>
      ? Needs
      : never
    : never

/**
 * Every operation that needs no more of a request than its caller and its parts, by group. A door adds the few that do: logins and passwords,
 * streams, a wait, and its own version.
 */
export const operations = Effect.forEach(
  roomsWith("operations").flatMap(({ operations }) =>
    Object.entries<Effect.Effect<object, never, NeedsOf<OperationsOfRoom>>>(operations)
  ),
  ([group, make]) => Effect.map(make, (operations) => [group, operations] as const)
).pipe(
  Effect.map((all) => {
    const groups: Record<string, object> = {}
    for (const [group, operations] of all) groups[group] = { ...groups[group], ...operations }
    // Boundary: the compiler does not follow that the rooms have all of these.
    return groups as AllOperations
  })
)

type JobOfRoom = Having<"jobs">["jobs"][number]

/** Every kind of job. */
export const jobKinds: ReadonlyArray<JobOfRoom> = roomsWith("jobs").flatMap(
  ({ jobs }): ReadonlyArray<JobOfRoom> => jobs
)

type FollowerOfRoom = Having<"followers">["followers"][number]

/** Every durable reader of the logs of workspaces. */
export const followers: ReadonlyArray<Effect.Effect<Follower, never, Effect.Effect.Context<FollowerOfRoom>>> =
  roomsWith("followers").flatMap(({ followers }): ReadonlyArray<FollowerOfRoom> => followers)

type SweepsOf<R> = R extends { readonly sweeps: infer Sweeps } ? Sweeps[keyof Sweeps] : never

type Sweep = Effect.Effect<Effect.Effect<void>, never, Effect.Effect.Context<SweepsOf<Having<"sweeps">>>>

/** Every sweep that deletes old records, with the word for the records. */
export const sweeps: ReadonlyArray<readonly [string, Sweep]> = roomsWith("sweeps").flatMap(
  ({ sweeps }): ReadonlyArray<readonly [string, Sweep]> => Object.entries(sweeps)
)
