import type { RemoteObstacle, ViewMemory } from "@reins/machine/forge/ForgeView"
import type { RequestStanding } from "../rows/RequestStanding.js"
import type { LeftParts } from "./LeftOut.js"
import type { RefusedLooks } from "./Refusals.js"
import type { AskedWriters } from "./Writers.js"

/** The memory of a watch. It is good for one credential only. */
export interface WatchMemory {
  readonly credential?: string
  /** The account of the connection on the forge; null where the forge does not tell. */
  readonly self?: string | null
  readonly view?: ViewMemory
  /** `observed_at` as the look left it. Another time means that somebody else has read the forge since. */
  readonly seenAt?: string | null
  readonly conflicts?: RequestStanding["conflicts"]
  /** The word of the forge against the merge. */
  readonly obstacle?: RemoteObstacle
  /** The head at which the forge could not merge, while it may have been computing. */
  readonly suspected?: string
  /** The time at which the head was first seen. */
  readonly headSince?: number
  readonly head?: string
  readonly isFork?: boolean
  /** The time of the first of the looks in a row that could not read the checks of the base branch. */
  readonly baseUnreadSince?: number
  /** The looks in a row at which the forge did not show it. */
  readonly refused?: RefusedLooks
  readonly writers?: AskedWriters
  /** What the looks at this head have left out. */
  readonly left?: LeftParts
}
