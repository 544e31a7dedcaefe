import type { Boot } from "@reins/base/base/Boot"
import type { CoreConfig } from "@reins/base/base/CoreConfig"
import type { KeyRing } from "@reins/base/secrets/KeyRing"
import type { Bench } from "@reins/machine/bench/Bench"
import type { Executors } from "@reins/machine/executor/Executors"
import type { ForgeKind } from "@reins/machine/forge/Forge"
import type { HarnessDriver } from "@reins/machine/harness/HarnessDriver"
import type { Manifests } from "@reins/machine/harness/Manifests"
import { Data, Effect, type Layer } from "effect"
import type { ConnectionKind } from "./connections/ConnectionKind.js"
import type { Mailer } from "./identity/Mailer.js"
import type { Nodes } from "./placement/Nodes.js"
import type { Placements } from "./placement/Placements.js"
import type { Bell } from "./store/Bell.js"
import type { Database } from "./store/Database.js"
import { Journal } from "./store/Journal.js"
import { Oversight } from "./store/Oversight.js"

/** The services that given layers may need: the place where Reins runs, and its database. */
export type Given = CoreConfig | Boot | Database | Bell

/**
 * The parts of Reins that a program may replace, each as a plain value or a layer. A part that is left out is the same as in a server. `E` is
 * the type of the layers' failures.
 */
export interface Layers<E = unknown> {
  /** The providers, which `Manifests.layerOf` makes of manifests. The default is those in `manifests/`. */
  readonly manifests?: Layer.Layer<Manifests, E, Given>
  /** The ways to run agents, which `Executors.layerOf` makes of a list. The first of the list is its default. The default is `bubblewrap` where it works, and `local` elsewhere. */
  readonly executors?: Layer.Layer<Executors, E, Given>
  /** The ways to speak with agents, each a `HarnessDriver` of `harness/HarnessDriver`. The default is `builtInDrivers`. */
  readonly drivers?: ReadonlyArray<HarnessDriver>
  /** The kinds of forge, each a `ForgeKind` of `forge/Forge`. The default is `builtInForges`. */
  readonly forges?: ReadonlyArray<ForgeKind>
  /**
   * The kinds of connection besides `git` and those of forges, each a `ConnectionKind` of `connections/ConnectionKind`. The default is
   * `builtInGateways`.
   */
  readonly connectionKinds?: ReadonlyArray<ConnectionKind>
  /** The default sends mails through the SMTP server of the configuration, or writes them to files in the outbox when it names none. */
  readonly mailer?: Layer.Layer<Mailer, E, Given>
  /** The keys that seal credentials. The default is the key file of the configuration, which is made when it does not exist. */
  readonly keyRing?: Layer.Layer<KeyRing, E, Given>
  /** The machines of the installation, and which of them has the files of each session. The default is this machine alone. */
  readonly nodes?: Layer.Layer<Nodes | Placements, E, Given>
  /** The machine of the sessions: their files and their agents. The default is this process. */
  readonly bench?: Layer.Layer<Bench, E, Given>
  /** The policy and the audit of every command. The default allows all and writes nothing. */
  readonly oversight?: Layer.Layer<Oversight, E, Given>
  /** The database with its bell. Without it the core requires both, as `store/Sqlite` or `store/Postgres` give them. */
  readonly database?: Layer.Layer<Database | Bell, E, CoreConfig | Boot>
}

const names: Readonly<Record<keyof Layers, true>> = {
  manifests: true,
  executors: true,
  drivers: true,
  forges: true,
  connectionKinds: true,
  mailer: true,
  keyRing: true,
  nodes: true,
  bench: true,
  oversight: true,
  database: true
}

/** A part was given that nothing would use. */
export class PartUnused extends Data.TaggedError("PartUnused")<{
  /** The name of the part. */
  readonly part: string
  /** A sentence that says why nothing would use it, and what to do instead. */
  readonly reason: string
}> {
  override get message() {
    return `The part ${JSON.stringify(this.part)} would not be used: ${this.reason}`
  }
}

/** Fails for a part of a name that there is not. */
export const requireKnown = (layers: Layers): Effect.Effect<void, PartUnused> => {
  const part = Object.keys(layers).find((name) => !Object.hasOwn(names, name))
  return part === undefined
    ? Effect.void
    : new PartUnused({ part, reason: `there is none of that name. There are: ${Object.keys(names).join(", ")}.` })
}

/**
 * Fails where an `Oversight` is in sight that the journal does not ask. The layers of nodes make the journal first, and everything shares it, so one that
 * another part brings would see no command.
 */
export const requireOversight: Effect.Effect<void, PartUnused, Journal> = Effect.gen(function* () {
  const given = yield* Oversight
  if ((yield* Journal).oversight === given) return
  const reason = 'the commands of this core ask another one. Give it as "oversight" of Core.layerWith.'
  return yield* new PartUnused({ part: "oversight", reason })
})

/** The failures of the layers that are given. */
export type FailureOf<L> = {
  [K in keyof L]: L[K] extends Layer.Layer<infer _A, infer E, infer _R> ? E : never
}[keyof L]
