import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Core from "@reins/core/Core"
import { CoreConfig } from "@reins/core/CoreConfig"
import type { Config } from "@reins/server/Config"
import { Effect, Layer, Schedule } from "effect"
import { quiet, service } from "./Service.js"

/** The whole service with its jobs worked, so that mails are sent: they end up in the outbox. */
export const serviceWithMails = (change: Partial<Config> = {}, logs?: Layer.Layer<never>) =>
  Layer.provideMerge(Core.worker, service(change, logs)).pipe(Layer.provide(logs ?? quiet))

const mailsTo = (email: string) =>
  Effect.map(CoreConfig, ({ dataDir }) => {
    const outbox = join(dataDir, "outbox")
    try {
      return readdirSync(outbox)
        .filter((name) => name.endsWith(".eml"))
        .sort()
        .map((name) => readFileSync(join(outbox, name), "utf8"))
        .filter((text) => text.includes(`\r\nTo: ${email}\r\n`))
    } catch {
      return []
    }
  })

/** The latest of `count` mails to an address, once there are as many. */
export const mailTo = (email: string, count = 1) =>
  Effect.repeat(mailsTo(email), {
    until: (mails) => mails.length >= count,
    schedule: Schedule.spaced("10 millis")
  }).pipe(
    Effect.zipRight(mailsTo(email)),
    Effect.map((mails) => mails.at(-1) ?? "")
  )

/** The path with the token that a mail links to. */
export const linkIn = (mail: string): string =>
  /^https?:\/\/[^/]+(\/(?:verify|reset|join)\?[\w-]{43})\r$/m.exec(mail)?.[1] ?? "no link"

export const tokenIn = (mail: string): string => linkIn(mail).split("?")[1] ?? "no token"
