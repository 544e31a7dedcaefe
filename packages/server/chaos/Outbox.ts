import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const mailsTo = (dataDir: string, email: string): ReadonlyArray<string> => {
  try {
    const outbox = join(dataDir, "outbox")
    return readdirSync(outbox)
      .filter((name) => name.endsWith(".eml"))
      .sort()
      .map((name) => readFileSync(join(outbox, name), "utf8"))
      .filter((text) => text.includes(`\r\nTo: ${email}\r\n`))
  } catch {
    return []
  }
}

/** The latest of `count` mails to an address, once the server has written as many. Fails after a minute. */
export const mailTo = async (dataDir: string, email: string, count = 1): Promise<string> => {
  for (const until = Date.now() + 60_000; Date.now() < until; ) {
    const mails = mailsTo(dataDir, email)
    const last = mails[count - 1]
    if (last !== undefined) return last
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`There are not ${count} mails to ${email}`)
}

/** The page that a mail links to. */
export const linkIn = (mail: string): string => {
  const link = /^https?:\/\/[^/]+\/(?:verify|reset|join)\?[\w-]{43}(?=\r$)/m.exec(mail)?.[0]
  if (link === undefined) throw new Error(`There is no link in:\n${mail}`)
  return link
}
