import { join } from "node:path"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { KeyRing } from "@reins/base/secrets/KeyRing"
import { Executors } from "@reins/machine/executor/Executors"
import { SidePrograms } from "@reins/machine/executor/SidePrograms"
import { builtInForges, Forges } from "@reins/machine/forge/Forges"
import { builtInDrivers, Harness } from "@reins/machine/harness/Harness"
import { HarnessInstall } from "@reins/machine/harness/Install"
import { Manifests } from "@reins/machine/harness/Manifests"
import { outbound } from "@reins/machine/outbound/Room"
import { Effect, Layer } from "effect"
import { Installed } from "./catalog/Installed.js"
import { builtInGateways, ConnectionKinds } from "./connections/ConnectionKinds.js"
import { webhookTypes } from "./Events.js"
import * as OutboxMailer from "./identity/OutboxMailer.js"
import * as SmtpMailer from "./identity/SmtpMailer.js"
import type { Layers } from "./Layers.js"
import { oneMachine } from "./placement/Placements.js"
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
