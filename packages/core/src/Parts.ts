import { join } from "node:path"
import { Effect, Layer } from "effect"
import { CoreConfig } from "./base/CoreConfig.js"
import { oneByOne, onTopOf } from "./base/Layered.js"
import { Installed } from "./catalog/Installed.js"
import { builtInGateways, ConnectionKinds } from "./connections/ConnectionKinds.js"
import { webhookTypes } from "./Events.js"
import { Executors } from "./executor/Executors.js"
import { SidePrograms } from "./executor/SidePrograms.js"
import { builtInForges, Forges } from "./forge/Forges.js"
import { builtInDrivers, Harness } from "./harness/Harness.js"
import { HarnessInstall } from "./harness/Install.js"
import { Manifests } from "./harness/Manifests.js"
import * as OutboxMailer from "./identity/OutboxMailer.js"
import * as SmtpMailer from "./identity/SmtpMailer.js"
import type { Layers } from "./Layers.js"
import { outbound } from "./outbound/Room.js"
import { oneMachine } from "./placement/Placements.js"
import { KeyRing } from "./secrets/KeyRing.js"
import { fileLocks } from "./worktrees/SessionLock.js"

const fromConfig = <A, E, R>(make: (config: CoreConfig["Type"]) => Layer.Layer<A, E, R>) =>
  Layer.unwrapEffect(Effect.map(CoreConfig, make))

const keyFile = fromConfig((config) => KeyRing.layerFile(config.keyFile))

const configuredMailer = fromConfig((config) =>
  config.smtpUrl === null
    ? OutboxMailer.layer(join(config.dataDir, "outbox"))
    : SmtpMailer.layer(config.smtpUrl, config.mailFrom)
)

/** The parts that a program may replace, as given or built in, with the lists of installed names. Some of them wait for something. */
export const replaceableParts = <E>({
  bench,
  connectionKinds,
  drivers,
  executors,
  forges,
  keyRing,
  mailer,
  manifests,
  nodes
}: Layers<E>) =>
  Installed.layerOf(webhookTypes).pipe(
    onTopOf(ConnectionKinds.layerOf(connectionKinds ?? builtInGateways)),
    onTopOf(
      oneByOne(
        fromConfig((config) => HarnessInstall.layer(config.cacheDir, config.egress)),
        Harness.layerOf(drivers ?? builtInDrivers),
        SidePrograms.layer,
        Forges.layerOf(forges ?? builtInForges)
      )
    ),
    onTopOf(
      Layer.mergeAll(
        manifests ?? Manifests.layer,
        executors ?? Executors.layer,
        keyRing ?? keyFile,
        mailer ?? configuredMailer,
        nodes ?? oneMachine,
        bench ?? Layer.empty,
        fileLocks,
        outbound.layer
      )
    )
  )
