import { mkdir, open, readdir, rename } from "node:fs/promises"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { fn } from "@reins/base/base/Traced"
import { Clock, Effect, Layer } from "effect"
import { Mailer, MailRefused } from "./Mailer.js"
import { closed, envelope, library, mailCode } from "./MailLibrary.js"

/**
 * Writes every mail as a file `<time>-<number>-<key>.eml` into a directory, for an installation without a mail server. Names sort by
 * time; a mail whose file is there is not written again. The files hold one-time tokens by their nature: their mode is 0600, that of the directory 0700.
 */
export const layer = (dir: string, from = "Reins <reins@localhost>") =>
  Layer.sync(Mailer, () => {
    let written = 0
    return Mailer.of({
      send: fn("Mailer.send")(function* (mail, key) {
        const at = new Date(yield* Clock.currentTimeMillis)
        const number = String(written++).padStart(6, "0")
        const path = join(dir, `${at.toISOString().replaceAll(/[-:.]/g, "")}-${number}-${key}.eml`)
        yield* Effect.tryPromise({
          try: async () => {
            await mkdir(dir, { recursive: true, mode: 0o700 })
            if ((await readdir(dir)).some((name) => name.endsWith(`-${key}.eml`))) return
            const { message } = await (await composer()).sendMail({ ...envelope(mail, key, from), date: at })
            await writeWhole(path, Buffer.isBuffer(message) ? message : await buffer(message))
          },
          catch: (cause) => new MailRefused({ code: mailCode(cause), retryable: true })
        })
        yield* Effect.logInfo("a mail was written to the outbox", { path })
      })
    })
  })

const composer = async () => {
  const made = (await library()).createTransport({ streamTransport: true, buffer: true, newline: "windows", ...closed })
  // These files are read as they stand, by people and scripts: a link that is folded into two lines leads nowhere.
  made.use("stream", ({ message }, done) => {
    message.getTransferEncoding = () => "8bit"
    done()
  })
  return made
}

/** A file that is there whole or not at all. */
const writeWhole = async (path: string, content: Buffer): Promise<void> => {
  const temporary = `${path}.tmp`
  const file = await open(temporary, "wx", 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
}
