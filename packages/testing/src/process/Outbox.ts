import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { eventually } from "./Waiting.js"

/** The mails to an address that an installation without a mail server has written, oldest first. */
export const mailsTo = (dataDir: string, email: string): ReadonlyArray<string> => {
  const outbox = join(dataDir, "outbox")
  const names = existsSync(outbox) ? readdirSync(outbox).sort() : []
  return names
    .filter((name) => name.endsWith(".eml"))
    .map((name) => readFileSync(join(outbox, name), "utf8"))
    .filter((text) => text.includes(`\r\nTo: ${email}\r\n`))
}

/** The URL of a mail's link to the page of that name; undefined when there is none. */
export const linkIn = (mail: string, page = "verify|reset|join"): string | undefined =>
  new RegExp(`^https?://[^?\\s]+/(?:${page})\\?[\\w-]{43}(?=\\r$)`, "m").exec(mail)?.[0]

/** Waits for a mail to an address with a link to a page, and gives the link in the newest one. */
export const linkFor = (dataDir: string, email: string, page: "verify" | "reset" | "join"): Promise<string> =>
  eventually(`a mail to ${email} with a link to /${page}`, () =>
    mailsTo(dataDir, email)
      .map((mail) => linkIn(mail, page))
      .findLast((link) => link !== undefined)
  )

/** The token in the newest such link. */
export const tokenFor = async (dataDir: string, email: string, page: "verify" | "reset" | "join"): Promise<string> =>
  (await linkFor(dataDir, email, page)).split("?")[1] ?? ""
