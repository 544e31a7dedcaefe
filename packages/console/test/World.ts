import { join } from "node:path"
import { newPushKey } from "@reins/core/push/VapidKeys"
import { type Browser, picture, startBrowser } from "@reins/testing/browser/Browser"
import { remote, token } from "@reins/testing/changes/Fixture"
import { installedFrom, registry } from "@reins/testing/harness/Registry"
import { manifestsWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { type Caller, newCaller, password } from "@reins/testing/process/Caller"
import { inMemory, type Moments, type Place, placeForEachTest, placeForFile } from "@reins/testing/process/Place"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Exit, Scope } from "effect"
import type { BrowserContext, Locator, Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest"

/** The agents of a world: the small one, one that calls tools of the service, or the real ones. A small one can also come from a registry. */
export type Agents = "small" | "calling" | "real" | "to_install"

/** The surroundings of the console in a test: a published server, a scripted gateway, a forge, and Chromium. */
export interface World {
  readonly place: Place
  readonly server: ServerProcess
  readonly env: Readonly<Record<string, string>>
  readonly context: BrowserContext
  /** A repository on a stand-in of Gitea. */
  readonly forge: Effect.Effect.Success<ReturnType<typeof remote>>
  readonly forgeToken: string
  /** The registry that agents are installed from, where the world has one. */
  readonly registry: Effect.Effect.Success<typeof registry>
  /** The caller with a key of the owner, who has a connection to the gateway. It is made once for a server. */
  readonly caller: () => Promise<Caller>
  /** Starts the server, where it is not started by itself. */
  readonly start: (agents: Agents) => Promise<void>
  /** An empty page; one with fingers, or of a stranger, has a browser context of its own. */
  readonly newPage: (size?: Size, options?: PageOptions) => Promise<Page>
  /** A page of the console that is logged in as the owner. */
  readonly loggedIn: (path?: string, size?: Size, options?: PageOptions) => Promise<Page>
}

export interface Size {
  readonly width: number
  readonly height: number
}

interface PageOptions {
  readonly hasTouch?: boolean
  readonly isStranger?: boolean
}

/** A desk and a phone. */
export const desk: Size = { width: 1280, height: 800 }
export const phone: Size = { width: 390, height: 844 }

/** The owner of the installation of a test. */
export const owner = { email: "owner@example.com", password }

/** Makes a world for each test of the file, in which nothing is started yet. */
export const emptyWorldForEachTest = (): World =>
  worldBetween({ before: beforeEach, after: afterEach }, placeForEachTest(inMemory), undefined)

/** Makes one world for all tests of the file, whose server has further settings. */
export const worldForFile = (agents: Agents = "small", more: Readonly<Record<string, string>> = {}): World =>
  worldBetween({ before: beforeAll, after: afterAll }, placeForFile(inMemory), agents, more)

const worldBetween = (
  { after, before }: Moments,
  place: Place,
  agents: Agents | undefined,
  more: Readonly<Record<string, string>> = {}
): World => {
  let scope: Scope.CloseableScope
  let forge: World["forge"]
  let packages: World["registry"]
  let server: ServerProcess
  let browser: Browser
  let env: Record<string, string>
  let caller: Promise<Caller> | undefined
  const inScope = <A>(effect: Effect.Effect<A, unknown, Scope.Scope>) => Effect.runPromise(Scope.extend(effect, scope))
  const start: World["start"] = async (wanted) => {
    env = { ...settings, ...more, ...(await agentsOf(wanted)) }
    server = await startServer({ dataDir: place.dataDir, env })
  }
  const agentsOf = async (wanted: Agents): Promise<Record<string, string>> => {
    if (wanted === "real") return {}
    if (wanted === "small" || wanted === "calling")
      return { REINS_MANIFESTS_DIR: manifestsWithSmallAgent(place.directory, { callsTools: wanted === "calling" }) }
    packages = await inScope(registry)
    const { install } = installedFrom(packages.packages).runtime
    return {
      REINS_MANIFESTS_DIR: manifestsWithSmallAgent(place.directory, { install }),
      REINS_NPM_REGISTRY: packages.url,
      REINS_CACHE_DIR: join(place.directory, "cache")
    }
  }
  before(async () => {
    scope = await Effect.runPromise(Scope.make())
    caller = undefined
    forge = await inScope(remote("gitea"))
    await Promise.all([
      agents && start(agents),
      startBrowser().then((started) => {
        browser = started
      })
    ])
  })
  after(async () => {
    await browser.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })
  // The last sight of a failed test is kept with the other pictures. Hooks run in the order against that of their making.
  afterEach(async ({ task }) => {
    const contexts = new Set([browser.context, ...(browser.context.browser()?.contexts() ?? [])])
    for (const [index, page] of [...contexts].flatMap((each) => each.pages()).entries()) {
      const name = task.name.replaceAll(/\W+/g, "-").slice(0, 60)
      if (task.result?.state === "fail") await picture(page, `failed-${name}-${index}`)
      if (index > 0) await page.close()
    }
  })
  const newPage: World["newPage"] = async (size = desk, { hasTouch = false, isStranger = false } = {}) => {
    const own =
      hasTouch || isStranger
        ? await browser.context.browser()?.newContext({ hasTouch, isMobile: hasTouch, viewport: size })
        : undefined
    const page = await (own ?? browser.context).newPage()
    page.setDefaultTimeout(180_000)
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
    get registry() {
      return packages
    },
    forgeToken: token,
    start,
    caller: () => {
      caller ??= newCaller(server, place.dataDir, place.gateway, env)
      return caller
    },
    newPage,
    loggedIn: async (path = "", size = desk, options = {}) => {
      const page = await newPage(size, options)
      await page.goto(`${server.url}/ui${path === "" ? "" : `/${path}`}`)
      const entry = page.getByRole("heading", { name: "Log in" })
      await page.locator("#main").or(entry).first().waitFor()
      if (await entry.isVisible()) await logIn(page)
      return page
    }
  }
}

/** Turns of lost workers are taken over soon. The servers of the test may be called, and browsers may be told while no page is open. */
const settings = {
  REINS_PUSH_KEY: newPushKey(),
  REINS_ALLOW_PRIVATE_HOSTS: "127.0.0.1,localhost",
  REINS_LEASE_SECONDS: "3",
  REINS_HEARTBEAT_SECONDS: "1"
}

/** Logs in where the page asks for it. */
export const logIn = async (page: Page, { email, password } = owner): Promise<void> => {
  await page.getByLabel("E-mail address").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Log in" }).click()
  await page.locator("#main").waitFor()
}

/** Waits until a field has a value. What a person sees of an action may come before its answer, which empties the field. */
export const holds = (field: Locator, value: string): Promise<unknown> =>
  eventually(`a field that holds "${value}"`, async () => (await field.inputValue()) === value)

/** The harness of sessions with the small agent. Beta can be steered. */
export const harness = { provider_id: "alpha", model: "scripted-1" } as const
export const talkative = { provider_id: "beta", model: "scripted-1" } as const
