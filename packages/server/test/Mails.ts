import { CoreConfig } from "@reins/base/base/CoreConfig"
import * as Core from "@reins/core/Core"
import type { Config } from "@reins/server/Config"
import * as Outbox from "@reins/testing/process/Outbox"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Layer } from "effect"
import { quiet, service } from "./Service.js"

/** The whole service with its jobs worked, so that mails are sent: they end up in the outbox. */
export const serviceWithMails = (change: Partial<Config> = {}, logs?: Layer.Layer<never>) =>
  Layer.provideMerge(Core.worker, service(change, logs)).pipe(Layer.provide(logs ?? quiet))

/** The latest of `count` mails to an address, once there are as many. */
export const mailTo = (email: string, count = 1) =>
  Effect.flatMap(CoreConfig, ({ dataDir }) =>
    Effect.promise(() =>
      eventually(`${count} mails to ${email}`, () => {
        const mails = Outbox.mailsTo(dataDir, email)
        return mails.length >= count && mails.at(-1)
      })
    )
  )

/** The path with the token that a mail links to. */
export const linkIn = (mail: string): string => {
  const { pathname, search } = new URL(Outbox.linkIn(mail) ?? "none:")
  return pathname + search
}

export const tokenIn = (mail: string): string => linkIn(mail).split("?")[1] ?? "no token"
