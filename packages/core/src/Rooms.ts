import type { Effect } from "effect"
import { catalog } from "./catalog/Room.js"
import { changes } from "./changes/Room.js"
import { connections } from "./connections/Room.js"
import { delegations } from "./delegations/Room.js"
import { deletion } from "./deletion/Room.js"
import type { EventKind } from "./domain/Event.js"
import type { Follower } from "./events/Follower.js"
import { events } from "./events/Room.js"
import { execution } from "./execution/Room.js"
import { identity } from "./identity/Room.js"
import type { JobKind } from "./jobs/JobKind.js"
import { jobs } from "./jobs/Room.js"
import { projects } from "./projects/Room.js"
import { sessions } from "./sessions/Room.js"
import { store } from "./store/Room.js"
import { webhooks } from "./webhooks/Room.js"
import { worktrees } from "./worktrees/Room.js"

/** A room of the core shows in its `Room.ts` the things that it owns. The lists beside the rooms are made of these. */
export interface Room {
  /** The folder. */
  readonly name: string
  /** The tables whose rows have ids. New ids begin above the stored ones. */
  readonly tables?: ReadonlyArray<string>
  readonly events?: Readonly<Record<string, EventKind>>
  /** The kinds of jobs that a worker runs; undefined for one that the installation has no use for. */
  readonly jobs?: ReadonlyArray<Effect.Effect<JobKind | undefined, unknown, unknown>>
  /** The durable readers of the logs of workspaces. */
  readonly followers?: ReadonlyArray<Effect.Effect<Follower, unknown, unknown>>
  /** The sweeps that delete records of no more use, by the word for the records. */
  readonly sweeps?: Readonly<Record<string, Effect.Effect<Effect.Effect<unknown>, unknown, unknown>>>
}

/** The rooms that own anything of that kind, by floor. */
export const rooms = [
  store,
  events,
  jobs,
  identity,
  connections,
  catalog,
  projects,
  sessions,
  webhooks,
  worktrees,
  changes,
  execution,
  delegations,
  deletion
] as const satisfies ReadonlyArray<Room>

type Having<Field extends keyof Room> = Extract<(typeof rooms)[number], { readonly [F in Field]: unknown }>

const having = <Field extends keyof Room>(field: Field): ReadonlyArray<Having<Field>> =>
  rooms.filter((room): room is Having<Field> => field in room)

/** Every table whose rows have ids. */
export const tables: ReadonlyArray<string> = having("tables").flatMap(({ tables }): ReadonlyArray<string> => tables)

type JobOfRoom = Having<"jobs">["jobs"][number]

/** Every kind of job. */
export const jobKinds: ReadonlyArray<JobOfRoom> = having("jobs").flatMap(({ jobs }): ReadonlyArray<JobOfRoom> => jobs)

type FollowerOfRoom = Having<"followers">["followers"][number]

/** Every durable reader of the logs of workspaces. */
export const followers: ReadonlyArray<FollowerOfRoom> = having("followers").flatMap(
  ({ followers }): ReadonlyArray<FollowerOfRoom> => followers
)

type SweepsOf<R> = R extends { readonly sweeps: infer Sweeps } ? Sweeps[keyof Sweeps] : never

type Sweep = Effect.Effect<Effect.Effect<void>, never, Effect.Effect.Context<SweepsOf<Having<"sweeps">>>>

/** Every sweep that deletes old records, with the word for the records. */
export const sweeps: ReadonlyArray<readonly [string, Sweep]> = having("sweeps").flatMap(
  ({ sweeps }): ReadonlyArray<readonly [string, Sweep]> => Object.entries(sweeps)
)
