import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type BrowserContext, chromium, type Page } from "playwright-core"

const quiet = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

export interface BrowserOptions {
  readonly javaScript?: boolean
  readonly dark?: boolean
  /** True for a browser that refuses all cookies, and with them everything that a page would keep. */
  readonly refusesCookies?: boolean
  /** A name that leads to this machine. A page that comes from there over plain http is no secure context. */
  readonly name?: string
}

export interface Browser {
  readonly context: BrowserContext
  readonly close: () => Promise<void>
}

/** A Chromium of the system with a profile of its own. */
export const startBrowser = async ({
  dark = false,
  javaScript = true,
  name,
  refusesCookies = false
}: BrowserOptions = {}): Promise<Browser> => {
  const profile = mkdtempSync(join(tmpdir(), "reins-browser-"))
  if (refusesCookies) {
    mkdirSync(join(profile, "Default"))
    const refused = { profile: { default_content_setting_values: { cookies: 2 } } }
    writeFileSync(join(profile, "Default/Preferences"), JSON.stringify(refused))
  }
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium",
    args: name === undefined ? quiet : [...quiet, `--host-resolver-rules=MAP ${name} 127.0.0.1`],
    javaScriptEnabled: javaScript,
    colorScheme: dark ? "dark" : "light",
    timeout: 120_000
  })
  context.setDefaultTimeout(180_000)
  return {
    context,
    close: async () => {
      await context.close()
      rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    }
  }
}

/** The requests of a page and its complaints. */
export interface Witness {
  readonly requests: Array<string>
  readonly complaints: Array<string>
}

export const watch = (page: Page): Witness => {
  const witness: Witness = { requests: [], complaints: [] }
  page.on("request", (request) => witness.requests.push(request.url()))
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") witness.complaints.push(message.text())
  })
  page.on("pageerror", (error) => witness.complaints.push(String(error)))
  return witness
}

/** Keeps a picture of a page where REINS_SCREENSHOTS names a directory. */
export const picture = async (page: Page, name: string, fullPage = false): Promise<void> => {
  const directory = process.env["REINS_SCREENSHOTS"]
  if (directory !== undefined) await page.screenshot({ path: join(directory, `${name}.png`), fullPage })
}
