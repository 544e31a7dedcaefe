import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Event, type EventType } from "@reins/base/domain/Event"
import { ErrorEnvelope } from "@reins/base/domain/ReinsError"
import { AutomationInput, AutomationPatch } from "@reins/core/automations/AutomationsApi"
import { ConnectionPatch } from "@reins/core/connections/ConnectionsApi"
import { DeliveryInput } from "@reins/core/deliveries/DeliveriesApi"
import { allEvents } from "@reins/core/Events"
import { HookRegistrationInput } from "@reins/core/hooks/HooksApi"
import { CareInput } from "@reins/core/projects/CarePolicy"
import { MergeConditionsInput } from "@reins/core/projects/MergeTerms"
import { ProjectVersionInput } from "@reins/core/projects/ProjectsApi"
import { VerdictInput } from "@reins/core/requests/conditions/ChangesetVerdict"
import { SessionInput } from "@reins/core/sessions/creation/SessionsApi"
import { load } from "@reins/server/Config"
import { HTTPValidationError } from "@reins/server/http/validation/Validation"
import { packagesOfCore } from "@reins/testing/Sources"
import { Effect, Schema } from "effect"
import { assert, describe, expect, it } from "vitest"
import { draw, recorded } from "../../../../scripts/picture.mjs"
import { agentPage, differences } from "./AgentPage.js"
import { type Block, blocksOf, pages, root } from "./Blocks.js"
import { connections, kinds } from "./ConnectionPage.js"
import { events } from "./EventPage.js"
import { configuration, errors } from "./Pages.js"
import { recording } from "./Recorded.js"
import { otherVariables, settingTexts } from "./Settings.js"

describe("the pages that are made from the code are what the code says; `npm run docs` writes them", () => {
  const made: Readonly<Record<string, () => Promise<string> | string>> = {
    "docs/agents.md": () => Effect.runPromise(agentPage),
    "docs/configuration.md": configuration,
    "docs/connections.md": () => Effect.runPromise(connections),
    "docs/errors.md": errors,
    "docs/events.md": events,
    "docs/run.svg": () => draw(recorded())
  }
  it.each(Object.keys(made))("%s", async (page) => {
    await expect(await made[page]?.()).toMatchFileSnapshot(join(root, page))
  })
})

const schemas: ReadonlyMap<string, Schema.Schema.AnyNoContext> = new Map(
  Object.entries({
    AutomationInput,
    AutomationPatch,
    CareInput,
    ConnectionPatch,
    DeliveryInput,
    ErrorEnvelope,
    Event,
    HTTPValidationError,
    HookRegistrationInput,
    MergeConditionsInput,
    ProjectVersionInput,
    SessionInput,
    VerdictInput
  })
)

/** Reads JSON by the schema that the page names. Fails where the schema does not take it. */
const read = (name: string, json: string): Promise<unknown> => {
  const schema = schemas.get(name)
  if (schema !== undefined) return Schema.decodeUnknownPromise(schema, { onExcessProperty: "error" })(JSON.parse(json))
  if (name === "reins.json") {
    const settings = Object.entries(JSON.parse(json)).map(([key, value]) => [key, String(value)])
    return Effect.runPromise(load(Object.fromEntries(settings), {}, "/"))
  }
  const kind = /^credential of (\w+)$/.exec(name)?.[1] ?? ""
  return Effect.runPromise(
    Effect.flatMap(kinds, (known) => {
      const found = known.find(kind)
      return found === undefined
        ? Effect.dieMessage(`There is no schema "${name}"`)
        : found.credential(JSON.parse(json))
    })
  )
}

describe("the blocks of the pages", () => {
  const blocks: ReadonlyArray<Block> = pages.flatMap((page) => blocksOf(page))

  it("are run, or are read by their schema, or say why not", async () => {
    for (const { code, place, use } of blocks)
      if (use.kind === "schema") await expect(read(use.name, code), place).resolves.toBeDefined()
  })

  it("are left for these reasons alone", () => {
    const left = blocks.flatMap(({ place, use }) =>
      use.kind === "left" ? [`${place.replace(/:\d+/, "")}: ${use.reason}`] : []
    )
    assert.deepStrictEqual(left, [
      "README.md: .ci/run runs it by itself, on three of four releases of Node",
      "CONTRIBUTING.md: these are the checks themselves; .ci/run runs shares of them, and .ci/nightly all but the virtual machines and the last",
      "docs/assistants.md: the settings of an assistant",
      "docs/assistants.md: the settings of an assistant",
      "docs/assistants.md: the settings of an assistant",
      "docs/assistants.md: the settings of an assistant",
      "docs/assistants.md: the settings of an assistant",
      "docs/assistants.md: the settings of an assistant",
      "docs/assistants.md: addresses of a proxy",
      "docs/command-line.md: a person at a terminal is asked here; the README runs the same commands with all that they need",
      "docs/command-line.md: it changes the shell that reads it",
      "docs/command-line.md: it needs the server and the session of the reader",
      "docs/connections.md: it needs the key of an app of the reader",
      "docs/console.md: it prints another key each time",
      "docs/deliveries.md: it needs a delivered commit, and the name of your committer",
      "docs/deliveries.md: it waits until somebody merges the request",
      "docs/deliveries.md: it needs a merge request whose check has failed",
      "docs/editors.md: the settings of an editor",
      "docs/editors.md: the settings of an editor",
      "docs/projects.md: it needs the project of the reader",
      "docs/providers.md: it installs hundreds of megabytes",
      "docs/providers.md: it installs hundreds of megabytes",
      "docs/providers.md: the file is yours",
      "docs/providers.md: it takes minutes of an agent",
      "docs/providers.md: it takes minutes of an agent",
      "docs/scale.md: it needs machines of its own",
      "docs/scale.md: it needs Docker, and a domain whose address is that of the machine",
      "docs/scale.md: it needs a cluster, and a registry with the image",
      "docs/scale.md: it needs machines of its own; packages/server/cluster/Upgrade.test.ts does the same with a release of its own",
      "docs/self-hosting.md: it needs Docker, and a domain whose address is that of the machine",
      "docs/self-hosting.md: it changes the machine, and needs systemd as its service manager",
      "docs/self-hosting.md: it needs the user and the paths of the service above",
      "docs/self-hosting.md: it needs the user of the service above and a registry",
      "docs/self-hosting.md: it is a site with a certificate of its own; events/Nginx of the chaos suite runs the file that it includes",
      "docs/self-hosting.md: Caddy asks for a certificate of the domain; deploy/Caddy of the chaos suite runs the file without one",
      "docs/self-hosting.md: it needs a collector; the tests send to one of their own",
      "docs/tools.md: it needs the session and the artifact of the reader",
      "docs/tools.md: a part of the spec of a project version",
      "docs/tools.md: examples/sdk/functions.mjs is the whole program, and its test runs it",
      "docs/tools.md: it needs the server and the session of the reader",
      "docs/tools.md: a part of the spec of a project version",
      "docs/tools.md: a part of the spec of a project version",
      "docs/tools.md: a part of the spec of a project version",
      "docs/tools.md: it needs the server and the session of the reader",
      "docs/tools.md: a part of a manifest",
      "docs/traces.md: it needs a collector; the tests send to one of their own",
      "docs/traces.md: it needs Docker",
      "docs/traces.md: it needs an account of Langfuse",
      "docs/upgrading.md: it needs the client programs of PostgreSQL; lifecycle/BackupPostgres of the chaos suite runs the commands that reins itself prints",
      "docs/upgrading.md: there is no other release to upgrade to, and no service manager; the commands besides these two are run above and below",
      "docs/webhooks.md: there is no receiver at that address; packages/server/test/cli/Webhooks.test.ts runs these commands"
    ])
  })

  it("name no script of npm that is not there", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    const named = blocks.flatMap(({ code }) =>
      [...code.matchAll(/\bnpm run (\w+(?::\w+)*)/g)].map(([, name = ""]) => name)
    )
    assert.deepStrictEqual(
      named.filter((name) => !(name in scripts)),
      []
    )
  })
})

it("the README has 105 lines at most", () => {
  assert.isAtMost(readFileSync(join(root, "README.md"), "utf8").trimEnd().split("\n").length, 105)
})

it("the README shows of the agents what their evidence says", async () => {
  assert.include(readFileSync(join(root, "README.md"), "utf8"), await Effect.runPromise(differences))
})

it("links lead to what is there", () => {
  const broken = pages.flatMap((page) =>
    [...readFileSync(join(root, page), "utf8").matchAll(/\]\((?!https?:)([^)#\s]+)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !existsSync(join(root, dirname(page), target)))
      .map((target) => `${page}: ${target}`)
  )
  assert.deepStrictEqual(broken, [])
})

it("the recorded run holds the payloads that its types promise", () => {
  assert.deepStrictEqual(
    recording.map(({ seq }) => seq),
    recording.map((_, index) => index + 1)
  )
  for (const { payload, type } of recording) {
    assert.property(allEvents, type)
    const schema: Schema.Schema.AnyNoContext = allEvents[type as EventType].payload
    Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })(payload)
  }
})

const sourcesBelow = (directory: string): ReadonlyArray<string> =>
  readdirSync(join(root, directory), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(directory, name))

/** The variables that a source reads from its environment, by name or out of a list of names. */
const readIn = (file: string): ReadonlyArray<string> => {
  const text = readFileSync(join(root, file), "utf8")
  const named = [...text.matchAll(/(?:process\.env|environment)(?:\.([A-Z]\w+)|\["(\w+)"\])/g)].map(
    ([, one, other]) => one ?? other ?? ""
  )
  const destructured = [...text.matchAll(/const \{([^}]*)\} = process\.env/g)].flatMap(
    ([, names = ""]) => names.match(/\w+/g) ?? []
  )
  const fromLists = /process\.env\[[a-z]/.test(text)
    ? [...text.matchAll(/^(?:export )?const \w+ = \[([^\]]*)\]$/gm)].flatMap(
        ([, names = ""]) => names.match(/\w+/g) ?? []
      )
    : []
  return [...named, ...destructured, ...fromLists]
}

it("docs/configuration.md has every variable that the core and the server read", () => {
  const told = new Set([
    ...Object.keys(settingTexts).map((name) => `REINS_${name.toUpperCase()}`),
    ...Object.keys(otherVariables).flatMap((names) => names.split(", "))
  ])
  const found = [...packagesOfCore, "cli", "server"]
    .flatMap((name) => sourcesBelow(`packages/${name}/src`))
    .flatMap(readIn)
  assert.includeMembers(found, ["PATH", "XDG_CACHE_HOME", "REINS_PASSWORD", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"])
  assert.deepStrictEqual(
    found.filter((name) => !told.has(name.toUpperCase())),
    []
  )
})
