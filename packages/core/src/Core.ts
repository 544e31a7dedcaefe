import type { Boot } from "@reins/base/base/Boot"
import type { CoreConfig } from "@reins/base/base/CoreConfig"
import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { Vault } from "@reins/base/secrets/Vault"
import { Effect, Layer } from "effect"
import { type FailureOf, type Given, type Layers, requireKnown, requireOversight } from "./Layers.js"
import { replaceableParts } from "./Parts.js"
import { sealedValues, services, tables } from "./Rooms.js"
import type { Bell } from "./store/Bell.js"
import { Database } from "./store/Database.js"
import * as NewestIds from "./store/NewestIds.js"
import { KeyRotation, requireKeys } from "./upkeep/KeyRotation.js"

export { builtInForges } from "@reins/machine/forge/Forges"
export { builtInDrivers } from "@reins/machine/harness/Harness"
export { builtInGateways } from "./connections/ConnectionKinds.js"
export { type FailureOf, type Given, type Layers, PartUnused } from "./Layers.js"
// The lists of what is part of Reins, for programs that add to them.
export { worker } from "./Worker.js"

/** The things that are looked at before anything else of the database: its keys, and the newest ids. */
const checked = oneByOne(onTopOf(Vault.layer)(requireKeys(sealedValues)), NewestIds.layerOf(tables))

/** Lets every service above the database tell the time by its clock, because other machines compare what is due and what has expired. */
const onTheClockOfIt = Layer.unwrapEffect(
  Effect.map(Database, ({ clock }) => (clock.ofProcess === null ? Layer.empty : Layer.setClock(clock.ofProcess)))
)

const compose = <E>(layers: Layers<E>) => {
  // The database is taken from the surroundings of the core when none is given.
  const database: Layer.Layer<Database | Bell, E, Given> = layers.database ?? Layer.context<Database | Bell>()
  // Below the parts, because those of nodes make the journal.
  const overseen = onTopOf(onTopOf(database)(onTheClockOfIt))(layers.oversight ?? Layer.empty)
  return oneByOne(KeyRotation.layerOf(sealedValues), Layer.effectDiscard(requireOversight)).pipe(
    onTopOf(services),
    onTopOf(checked),
    onTopOf(replaceableParts(layers)),
    onTopOf(oneByOne(Layer.effectDiscard(requireKnown(layers)), overseen))
  ) satisfies Layer.Layer<never, unknown, Given>
}

type Composed<E> = ReturnType<typeof compose<E>>

type Needs<L> = CoreConfig | Boot | (L extends { readonly database: object } ? never : Database | Bell)

/**
 * Every service of Reins, with parts of one's own in the place of ours:
 *
 *     Core.layerWith({ forges: [...Core.builtInForges, myForge], mailer: myMailer })
 *
 * It needs a `CoreConfig`, a `Boot` and, unless one is given, a `Database` with its `Bell`. It opens no port and starts no work of its
 * own. Fails as the given layers do, with `KeysMissing` or `KeyRingForeign` when the key ring is not that of the database, and with
 * `ProviderUndriven` or `ConnectionKindMissing` when a manifest names a driver or a kind of connection that is not there. Fails with
 * `PartUnused` where a given part would do nothing.
 */
export const layerWith = <const L extends Layers>(
  layers: L
): Layer.Layer<Layer.Layer.Success<Composed<never>>, Layer.Layer.Error<Composed<FailureOf<L>>>, Needs<L>> =>
  // Boundary: the compiler does not follow that the layers fail as their types say, and that a given database is needed no more.
  compose(layers as Layers<FailureOf<L>>) as Layer.Layer<
    Layer.Layer.Success<Composed<never>>,
    Layer.Layer.Error<Composed<FailureOf<L>>>,
    Needs<L>
  >

/** Every service of Reins, as a server has them: `layerWith` without anything of one's own. */
export const layer = layerWith({})
