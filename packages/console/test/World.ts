import { startBrowser } from "@reins/testing/browser/Browser"
import { remote, token } from "@reins/testing/changes/Fixture"
import { manifestsWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { type Caller, newCaller, password } from "@reins/testing/process/Caller"
import { inMemory, placeForEachTest } from "@reins/testing/process/Place"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { Effect, Exit, Scope } from "effect"
import type { BrowserContext, Page } from "playwright-core"
import { afterEach, beforeEach } from "vitest"

/** The surroundings of the console in a test: a published server with the small agent, a scripted gateway, a forge, and Chromium. */
export interface World {
  readonly place: ReturnType<typeof placeForEachTest>
  readonly server: ServerProcess
  readonly env: Readonly<Record<string, string>>
  readonly context: BrowserContext
  /** A repository on a stand-in of Gitea. */
  readonly forge: Effect.Effect.Success<ReturnType<typeof remote>>
  readonly forgeToken: string
  /** A caller with a key, of an account whose password is `password`, with a connection to the gateway. */
  readonly newCaller: () => Promise<Caller>
  /** An empty page; one with fingers has a browser context of its own. */
  readonly newPage: (size?: Size, hasTouch?: boolean) => Promise<Page>
  /** A page of the console that is logged in. */
  readonly loggedIn: (path?: string, size?: Size) => Promise<Page>
}

export interface Size {
  readonly width: number
  readonly height: number
}

/** A desk and a phone. */
export const desk: Size = { width: 1280, height: 800 }
export const phone: Size = { width: 390, height: 844 }

/** The owner of the installation of a test. */
export const owner = { email: "owner@example.com", password }

/** Makes a world for each test of the file. */
export const worldForEachTest = (): World => {
  const place = placeForEachTest(inMemory)
  let scope: Scope.CloseableScope
  let forge: World["forge"]
  let server: ServerProcess
  let browser: Awaited<ReturnType<typeof startBrowser>>
  let env: Record<string, string>
  beforeEach(async () => {
    scope = await Effect.runPromise(Scope.make())
    forge = await Effect.runPromise(Scope.extend(remote("gitea"), scope))
    env = {
      REINS_MANIFESTS_DIR: manifestsWithSmallAgent(place.directory),
      REINS_ALLOW_PRIVATE_HOSTS: "127.0.0.1,localhost",
      REINS_LEASE_SECONDS: "3",
      REINS_HEARTBEAT_SECONDS: "1"
    }
    const [started, opened] = await Promise.all([startServer({ dataDir: place.dataDir, env }), startBrowser()])
    server = started
    browser = opened
  })
  afterEach(async () => {
    await browser.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })
  const newPage: World["newPage"] = async (size = desk, hasTouch = false) => {
    const own = hasTouch
      ? await browser.context.browser()?.newContext({ hasTouch, isMobile: true, viewport: size })
      : undefined
    const page = await (own ?? browser.context).newPage()
    page.setDefaultTimeout(30_000)
    await page.setViewportSize(size)
    return page
  }
  return {
    place,
    get server() {
      return server
    },
    get env() {
      return env
    },
    get context() {
      return browser.context
    },
    get forge() {
      return forge
    },
    forgeToken: token,
    newCaller: () => newCaller(server, place.dataDir, place.gateway, env),
    newPage,
    loggedIn: async (path = "", size = desk) => {
      const page = await newPage(size)
      await page.goto(`${server.url}/ui${path === "" ? "" : `/${path}`}`)
      await logIn(page)
      return page
    }
  }
}

/** Logs in where the page asks for it. */
export const logIn = async (page: Page, { email, password } = owner): Promise<void> => {
  await page.getByLabel("E-mail address").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Log in" }).click()
  await page.locator("#main").waitFor()
}
