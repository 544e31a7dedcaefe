import { readdir, readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Effect } from "effect"

/** The mails that an installation without a mail server has written to files of this machine. */
export const outboxFiles = Effect.map(CoreConfig, ({ dataDir }) => {
  const outbox = join(dataDir, "outbox")
  const names = () => readdir(outbox).catch((): Array<string> => [])
  return {
    /** Removes the mails to an address, and those that tell others of it. It is in lower case. */
    removeOf: (address: string): Effect.Effect<void> =>
      Effect.promise(async () => {
        for (const name of await names()) {
          const mail = await readFile(join(outbox, name), "utf8").catch(() => "")
          if (mail.toLowerCase().includes(address)) await rm(join(outbox, name), { force: true })
        }
      }),

    /** Removes the mails that some jobs have sent. */
    removeBy: (jobIds: ReadonlyArray<string>): Effect.Effect<void> =>
      Effect.promise(async () => {
        const wanted = new Set(jobIds.map((id) => `-${id}.eml`))
        for (const name of await names())
          if (wanted.has(name.slice(name.lastIndexOf("-")))) await rm(join(outbox, name), { force: true })
      })
  }
})
