import { failpoint } from "@reins/base/base/Failpoint"
import type { WorkspaceId } from "@reins/base/domain/Ids"
import { Effect, FiberMap, Layer } from "effect"
import { Bell, followersTopic, followerTopic, workspaceTopic } from "../store/Bell.js"
import type { Commit } from "../store/Commit.js"
import * as Loop from "../store/Loop.js"
import { isWanted, type WorkspaceEntry, type WorkspaceFilter } from "../store/WorkspaceLog.js"
import { isNamed } from "./EventTypes.js"
import { FollowerStore, HoldLost, holdMs, type Positions } from "./FollowerStore.js"
import { WorkspaceEvents } from "./WorkspaceEvents.js"

/** A key that a follower follows for, as the id of a webhook endpoint, and the workspace whose log it reads. */
export interface Followed {
  readonly key: string
  readonly workspaceId: WorkspaceId
}

/** Picks some events. `types` are types, and prefixes like `turn.*`. A field that is undefined picks all. */
export interface FollowerFilter extends Omit<WorkspaceFilter, "types"> {
  readonly types?: ReadonlyArray<string> | undefined
}

/** Commits a command while this process holds the key. */
export type HeldCommit = <A, E>(command: Effect.Effect<A, E, Commit>) => Effect.Effect<A, E | HoldLost>

/** The work of one round for a key. It is begun anew after each read of the log. */
export interface Round {
  readonly filter: FollowerFilter
  /**
   * Writes what follows from some events, in the order of their positions, in the commit that moves the position behind them. So that is written
   * once for each event. There are none where the filter has picked none.
   */
  readonly take: (events: ReadonlyArray<WorkspaceEntry>) => Effect.Effect<void, HoldLost, Commit>
  /**
   * Does what calls the network or takes long, after the log was read and while the hold is kept. A round that was interrupted comes again. Gives the
   * time until the next one, if that is not to wait for new events.
   */
  readonly work?: (commit: HeldCommit) => Effect.Effect<Loop.Pause | undefined, HoldLost>
}

/**
 * A durable reader of the logs of workspaces. `FollowerStore` has its positions: a key is followed for from its `begin` to its `end`. Processes share
 * the keys, and each takes over the keys of one that is gone.
 */
export interface Follower {
  /** The name of its rows, which never changes. */
  readonly name: string
  /** The keys that it follows for now. */
  readonly list: Effect.Effect<ReadonlyArray<Followed>>
  /** Begins a round for a key; undefined when there is nothing to do for it. */
  readonly begin: (key: string) => Effect.Effect<Round | undefined>
}

/** The longest time in milliseconds by which a lost ring delays an event. */
const longestWaitMs = 5_000
/** The longest time in milliseconds by which a lost ring delays a new key. */
const listMs = 15_000
/** The time between two renewals of a hold during a round, in milliseconds. */
const renewMs = holdMs / 4
/** The events that are taken in one commit. */
const batch = 500

/** Runs followers until the layer ends. Each key has a loop of its own, so that a slow one holds up no other. */
export const layerOf = <E, R>(followers: ReadonlyArray<Effect.Effect<Follower, E, R>>) =>
  Layer.scopedDiscard(Effect.forEach(followers, (follower) => Effect.flatMap(follower, follow), { discard: true }))

const follow = Effect.fnUntraced(function* (follower: Follower) {
  const { list, name } = follower
  const bell = yield* Bell
  const positions = (yield* FollowerStore)(name)
  const events = yield* WorkspaceEvents
  const readers = yield* FiberMap.make<string>()

  const reader = ({ key, workspaceId }: Followed) =>
    Loop.run({
      failure: `the events of a workspace cannot be followed by ${name}`,
      topics: [workspaceTopic(workspaceId), followerTopic(name, key)],
      everyMs: longestWaitMs,
      round: roundOf({ events, follower, positions }, { key, workspaceId })
    }).pipe(
      Effect.ensuring(Effect.ignoreLogged(Effect.sandbox(positions.release(key)))),
      Effect.annotateLogs({ follower: name, key }),
      Effect.provideService(Bell, bell)
    )

  const startReaders = Effect.gen(function* () {
    const followed = yield* list
    const keys = new Set(followed.map(({ key }) => key))
    for (const [key] of readers) if (!keys.has(key)) yield* FiberMap.remove(readers, key)
    for (const each of followed) yield* FiberMap.run(readers, each.key, reader(each), { onlyIfMissing: true })
  })
  yield* Loop.start({
    failure: `the keys of ${name} cannot be listed`,
    topics: [followersTopic(name)],
    everyMs: listMs,
    round: startReaders
  })
})

interface Following {
  readonly events: WorkspaceEvents["Type"]
  readonly follower: Follower
  readonly positions: Positions
}

/** One round for a key, while the hold on it is renewed. It does nothing while another process holds the key. */
const roundOf = Effect.fnUntraced(
  function* (on: Following, followed: Followed) {
    const { hold } = on.positions
    const position = yield* hold(followed.key)
    if (position === undefined) return
    const commit: HeldCommit = (command) => on.positions.commit(followed.key, command)
    const work = Effect.flatMap(
      read(on, followed, position),
      (round) => round?.work?.(commit) ?? Effect.succeed(undefined)
    )
    const renew = Effect.filterOrFail(
      Effect.delay(hold(followed.key), renewMs),
      (kept) => kept !== undefined,
      () => new HoldLost()
    )
    return yield* Effect.raceFirst(work, Effect.forever(renew))
  },
  Effect.catchTag("HoldLost", () => Effect.succeed(undefined))
)

/**
 * Reads the log from a position on, has the round take each event that it wants, and gives the last round. The round is begun after the events were
 * read, so a change of the key counts for all events that came after it.
 */
const read = Effect.fnUntraced(function* (
  { events, follower, positions }: Following,
  { key, workspaceId }: Followed,
  position: number
) {
  const { first_position } = yield* events.ends(workspaceId)
  if (position < first_position - 1)
    yield* Effect.logWarning("events that were to be followed are no longer kept", { after: position, first_position })
  let from = position
  while (true) {
    const slice = yield* events.read(workspaceId, Math.max(from, first_position - 1), batch)
    const round = yield* follower.begin(key)
    const to = slice.events.at(-1)?.seq
    if (round === undefined || to === undefined) return round
    yield* failpoint("follower.read")
    yield* positions.commit(key, round.take(slice.events.filter((entry) => picks(round.filter, entry))), { from, to })
    yield* failpoint("follower.took")
    from = to
    if (slice.isWhole) return round
  }
})

const picks = ({ types, ...filter }: FollowerFilter, entry: WorkspaceEntry): boolean =>
  (types === undefined || types.some((name) => isNamed(name, entry.type))) && isWanted(filter, entry)
