import { join } from "node:path"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { SessionId } from "@reins/base/domain/Ids"
import { removeTree } from "@reins/machine/files/RemoveTree"
import { Effect } from "effect"
import { JobClaims } from "../jobs/JobClaims.js"
import { Nodes } from "../placement/Nodes.js"
import { NotOwner, Placements } from "../placement/Placements.js"
import * as SessionLock from "./SessionLock.js"

/** The locks by which processes take turns on the files of a session. They are on this machine, wherever the files are. */
export const sessionLocks = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const { isSilent, leaseMs } = yield* JobClaims
  const { bootId } = yield* Boot
  const directory = (id: SessionId) => join(dataDir, "sessions", id)
  /** Held while the files are made or removed. */
  const making = SessionLock.makeShared((id) => join(directory(id), "making.lock"))
  /** Held while a turn runs in the working tree, and while it is changed from outside or captured. */
  const inUse = SessionLock.makeShared((id) => join(directory(id), "in-use.lock"), { self: bootId, isSilent, leaseMs })
  return {
    making,
    inUse,
    owned: yield* makeOwn(making),
    /** Removes the locks of a session that nobody works on any more. */
    forget: (id: SessionId) => Effect.promise(() => removeTree(directory(id)))
  }
})

/**
 * Does something with the files of a session where this node has them. Files that are awaited here are brought first. One machine has those of every
 * session.
 */
const makeOwn = Effect.fnUntraced(function* (making: SessionLock.SessionLock) {
  const placements = yield* Placements
  const { holds, self } = yield* Nodes
  const alone: SessionLock.SessionLock = (_, effect) => effect
  if (self === null) return alone
  const { awaitedFiles } = yield* Effect.promise(() => import("./snapshots/AwaitedFiles.js"))
  const bring = yield* awaitedFiles
  const owned: SessionLock.SessionLock = (sessionId, effect) =>
    Effect.gen(function* () {
      const place = yield* placements.at(sessionId)
      if (place.kind !== "here" || !holds()) return yield* Effect.die(new NotOwner({ sessionId }))
      if (place.awaited) yield* making(sessionId, bring(sessionId))
      return yield* effect
    })
  return owned
})
