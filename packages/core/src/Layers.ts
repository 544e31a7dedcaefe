import type { Layer } from "effect"
import type { Boot } from "./base/Boot.js"
import type { CoreConfig } from "./base/CoreConfig.js"
import type { Bench } from "./bench/Bench.js"
import type { ConnectionKind } from "./connections/ConnectionKind.js"
import type { Executors } from "./executor/Executors.js"
import type { ForgeKind } from "./forge/Forge.js"
import type { HarnessDriver } from "./harness/HarnessDriver.js"
import type { Manifests } from "./harness/Manifests.js"
import type { Mailer } from "./identity/Mailer.js"
import type { Nodes } from "./placement/Nodes.js"
import type { Placements } from "./placement/Placements.js"
import type { KeyRing } from "./secrets/KeyRing.js"
import type { Bell } from "./store/Bell.js"
import type { Database } from "./store/Database.js"

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
  /** The database with its bell. Without it the core requires both, as `store/Sqlite` or `store/Postgres` give them. */
  readonly database?: Layer.Layer<Database | Bell, E, CoreConfig | Boot>
}

/** The failures of the layers that are given. */
export type FailureOf<L> = {
  [K in keyof L]: L[K] extends Layer.Layer<infer _A, infer E, infer _R> ? E : never
}[keyof L]
