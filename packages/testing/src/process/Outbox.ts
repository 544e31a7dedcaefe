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

/** The page that a mail links to, if it is one of that name. */
export const linkIn = (mail: string, page = "verify|reset|join"): string | undefined =>
  new RegExp(`^https?://[^/]+/(?:${page})\\?[\\w-]{43}(?=\\r$)`, "m").exec(mail)?.[0]

/** The link to a page in the newest mail to an address that has one, once there is one. */
export const linkFor = (dataDir: string, email: string, page: "verify" | "reset" | "join"): Promise<string> =>
  eventually(`a mail to ${email} with a link to /${page}`, () =>
    mailsTo(dataDir, email)
      .map((mail) => linkIn(mail, page))
      .findLast((link) => link !== undefined)
  )

/** The token in the newest such link. */
export const tokenFor = async (dataDir: string, email: string, page: "verify" | "reset" | "join"): Promise<string> =>
  (await linkFor(dataDir, email, page)).split("?")[1] ?? ""
