import * as fc from "fast-check"
import type { Locator, Page } from "playwright-core"
import { assert, beforeAll, describe, it } from "vitest"
import { desk, worldForFile } from "./World.js"

const world = worldForFile()

interface Standing {
  readonly name: string
  readonly value: string
}

/** Reads the fields of a form that are enabled, and the choices that are made. */
const standingIn = (form: Locator): Promise<ReadonlyArray<Standing>> =>
  form.evaluate((element) =>
    element instanceof HTMLFormElement
      ? [...new FormData(element)].map(([name, value]) => ({ name, value: String(value) }))
      : []
  )

interface Field extends Standing {
  readonly kind: string
  readonly options: ReadonlyArray<string>
}

/** The fields that a person can change. */
const fieldsIn = (form: Locator): Promise<ReadonlyArray<Field>> =>
  form.evaluate((element) =>
    [...element.querySelectorAll<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>("[name]")]
      .filter((field) => !field.disabled && field.checkVisibility())
      .map((field) => ({
        name: field.name,
        value: field.value,
        kind: field.getAttribute("role") ?? (field instanceof HTMLSelectElement ? "select" : field.type),
        options: field instanceof HTMLSelectElement ? [...field.options].map(({ value }) => value) : []
      }))
  )

type Wanted = Readonly<Record<string, string>>

/** Gives each field of the form a value: the wanted one, else another choice, else a word that nothing else has. */
const fill = async (form: Locator, wanted: Wanted, seed: number): Promise<void> => {
  const done = new Set<string>()
  for (;;) {
    const next = (await fieldsIn(form)).find(({ name }) => !done.has(name))
    if (next === undefined) return
    done.add(next.name)
    const field = form.locator(`[name="${next.name}"]:visible`)
    const value = wanted[next.name]
    if (next.kind === "select") {
      const choices = next.options.filter((option) => option !== "")
      const choice = value ?? choices[seed % Math.max(1, choices.length)]
      if (choice !== undefined) await field.selectOption(choice)
    } else if (next.kind === "number") await field.fill(value ?? String((seed % 7) + 2))
    else if (["text", "textarea", "search", "password", "url"].includes(next.kind))
      await field.fill(value ?? `word-${next.name}-${seed}`)
  }
}

const leavesOf = (value: unknown): ReadonlyArray<string> =>
  value === null || value === undefined
    ? []
    : typeof value === "object"
      ? Object.entries(value).flatMap(([, each]) => leavesOf(each))
      : [String(value)]

/** Presses the button, and gives the body that the page sends to the path. The server never gets it. */
const sentBy = async (page: Page, button: Locator, path: RegExp): Promise<Record<string, unknown>> => {
  const asked = page.waitForRequest(
    (request) => request.method() !== "GET" && path.test(new URL(request.url()).pathname)
  )
  await page.route(
    (url) => path.test(url.pathname),
    (route) => (route.request().method() === "GET" ? route.continue() : route.abort())
  )
  await button.click()
  return JSON.parse((await asked).postData() ?? "null")
}

/** Fails unless what stands in the form is in the body, and the body has nothing else. */
const compare = (
  standing: ReadonlyArray<Standing>,
  body: unknown,
  {
    besides = [],
    notSent = []
  }: { readonly besides?: ReadonlyArray<string>; readonly notSent?: ReadonlyArray<string> } = {}
): void => {
  const text = JSON.stringify(body)
  const isIn = (value: string) =>
    value.split(/[=\s,]+/).every((part) => text.includes(JSON.stringify(part).slice(1, -1)))
  const lost = standing.filter(({ name, value }) => value !== "" && !notSent.includes(name) && !isIn(value))
  assert.deepStrictEqual(lost, [], `fields that are not in ${text}`)
  const invented = leavesOf(body).filter(
    (leaf) => !besides.includes(leaf) && !standing.some(({ value }) => value !== "" && value.includes(leaf))
  )
  assert.deepStrictEqual(invented, [], `what is in ${text} and in no field`)
}

describe("what stands in a form is in its request, and nothing else", () => {
  let projectId: string
  beforeAll(async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    projectId = (await client.projects.create({ workspace_id: caller.workspaceId, name: "Shop", slug: "shop" })).id
  })

  const cases = fc.sample(
    fc.record({
      seed: fc.nat(1000),
      project: fc.boolean(),
      repository: fc.boolean(),
      chosen: fc.constantFrom("before", "after", "never"),
      more: fc.boolean()
    }),
    { numRuns: 12, seed: 42 }
  )

  it.each(cases)("a new session: %o", async ({ chosen, more, project, repository, seed }) => {
    const page = await world.loggedIn("new", desk)
    page.setDefaultTimeout(8_000)
    const form = page.locator("form").filter({ has: page.getByRole("button", { name: "Start the session" }) })
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>("[name=model]")?.value === "scripted-1")
    if (more) await page.getByText("More", { exact: true }).click()
    const agent = async () => {
      await form.getByRole("combobox", { name: "Agent", exact: true }).fill("beta")
      await page.getByRole("listbox").getByRole("option").first().click()
      await form.getByRole("combobox", { name: "Model", exact: true }).fill(`model-${seed}`)
      await page.keyboard.press("Escape")
    }
    if (chosen === "before") await agent()
    if (project) await form.locator("[name=project_id]").selectOption(projectId)
    if (chosen === "after") await agent()
    await fill(
      form,
      {
        message: `Task ${seed}`,
        project_id: project ? projectId : "",
        repository: repository ? world.forge.url : "",
        base_ref: "main",
        labels: `team=t${seed}`
      },
      seed
    )
    const standing = await standingIn(form)
    const held = Object.fromEntries(standing.map(({ name, value }) => [name, value]))
    assert.strictEqual("base_ref" in held, repository)
    if (chosen !== "never") assert.deepInclude(held, { provider_id: "beta", model: `model-${seed}` })
    else if (project) assert.strictEqual(held["provider_id"], "")
    const body = await sentBy(page, page.getByRole("button", { name: "Start the session" }), /\/sessions$/)
    compare(standing, body, { besides: [`Task ${seed}`], notSent: ["git_connection_id"] })
    if (repository && more) assert.deepInclude(body["repository"], { connection_id: null })
  })

  interface Shown {
    readonly name: string
    readonly path: string
    /** The button that opens the form, and the one that sends it. */
    readonly opens?: string
    readonly sends: string
    /** The path that it is sent to. */
    readonly to: RegExp
    readonly wanted?: Wanted
    /** Words of the body that stand for a choice. */
    readonly besides?: ReadonlyArray<string>
    /** Choices that stand in the body in other words. */
    readonly notSent?: ReadonlyArray<string>
    readonly before?: (form: Locator) => Promise<unknown>
  }

  const shown: ReadonlyArray<Shown> = [
    {
      name: "a project with a repository",
      path: "projects",
      opens: "New project",
      sends: "Create the project",
      to: /\/projects$/,
      wanted: { slug: "word-slug", url: "https://github.com/acme/shop.git" }
    },
    {
      name: "a project without one",
      path: "projects",
      opens: "New project",
      sends: "Create the project",
      to: /\/projects$/,
      wanted: { slug: "word-slug", url: "" }
    },
    {
      name: "an endpoint for some events",
      path: "webhooks",
      opens: "New endpoint",
      sends: "Create the endpoint",
      to: /\/webhook-endpoints$/,
      wanted: { url: "https://example.com/hook", label: "team=web", types: "turn.failed delegation.*" },
      notSent: ["which"],
      before: (form) => form.getByLabel("some events").check()
    },
    {
      name: "an endpoint for all events",
      path: "webhooks",
      opens: "New endpoint",
      sends: "Create the endpoint",
      to: /\/webhook-endpoints$/,
      wanted: { url: "https://example.com/hook", label: "team=web" },
      notSent: ["which"]
    },
    {
      name: "a key with a budget",
      path: "keys",
      opens: "New key",
      sends: "Create the key",
      to: /\/api-keys$/,
      wanted: { where: "all", scope: "read" },
      notSent: ["where"],
      before: (form) => form.getByText("Budget", { exact: true }).click()
    },
    {
      name: "a gateway",
      path: "connections",
      opens: "New connection",
      sends: "Create the connection",
      to: /\/connections$/,
      besides: ["gateway"],
      before: (form) => form.getByLabel("Kind").selectOption("gateway")
    },
    {
      name: "a login for git",
      path: "connections",
      opens: "New connection",
      sends: "Create the connection",
      to: /\/connections$/,
      besides: ["git"],
      wanted: { origin: "https://git.example.com" },
      before: (form) => form.getByLabel("Kind").selectOption("git")
    },
    {
      name: "an automation by the clock",
      path: "automations",
      opens: "New automation",
      sends: "Make the automation",
      to: /\/automations$/,
      wanted: { expression: "5 4 * * *", timezone: "Europe/Berlin", project_id: "" },
      notSent: ["when", "where", "deliver"],
      besides: ["new_session", "schedule"],
      before: (form) => form.getByText("More", { exact: true }).click()
    },
    {
      name: "an automation of a project",
      path: "automations",
      opens: "New automation",
      sends: "Make the automation",
      to: /\/automations$/,
      wanted: { expression: "5 4 * * *", timezone: "Europe/Berlin" },
      notSent: ["when", "where"],
      besides: ["new_session", "schedule"]
    }
  ]

  it.each(shown)("$name", async ({ before, besides, notSent, opens, path, sends, to, wanted = {} }) => {
    const page = await world.loggedIn(path, desk)
    if (opens !== undefined) await page.getByRole("button", { name: opens }).first().click()
    const button = page.getByRole("button", { name: sends })
    const form = page.locator("form").filter({ has: button })
    await form.waitFor()
    await before?.(form)
    await fill(form, wanted, 5)
    const standing = await standingIn(form)
    const body = await sentBy(page, button, to)
    compare(standing, body, { ...(besides && { besides }), ...(notSent && { notSent }) })
  })
})
