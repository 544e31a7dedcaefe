import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Reins } from "@reins/client"
import { vouched } from "@reins/machine/harness/Manifests"
import { testExecutor } from "@reins/testing/executor/TestExecutor"
import { newCaller } from "@reins/testing/process/Caller"
import { inHome, placeForFile } from "@reins/testing/process/Place"
import { startServer } from "@reins/testing/process/ServerProcess"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, it } from "vitest"
import alpha from "../../../manifests/alpha.json" with { type: "json" }
import { git, makeProject, type Project } from "../test/cli/Cli.js"
import {
  type Assistant,
  type AssistantOptions,
  type Era,
  endAssistants,
  type Fields,
  openAssistant,
  overHttp
} from "../test/doors/Assistant.js"

/** The real agent of alpha, which asks before it runs a command. */
const askingAlpha = (directory: string): string => {
  const runtime = JSON.stringify(alpha.runtime).replaceAll(
    '"permission":{"*":"allow"}',
    '"permission":{"*":"allow","bash":"ask"}'
  )
  const manifest = vouched({
    ...alpha,
    capabilities: { ...alpha.capabilities, interactive_approval: "supported" },
    runtime: JSON.parse(runtime)
  })
  const manifests = join(directory, "manifests")
  mkdirSync(manifests)
  writeFileSync(join(manifests, "alpha.json"), JSON.stringify(manifest))
  return manifests
}

const place = placeForFile(inHome)
let at: { readonly url: string; readonly apiKey: string; readonly client: Reins; readonly project: Project }

beforeAll(async () => {
  const { dataDir, directory, gateway } = place
  const env = {
    REINS_MANIFESTS_DIR: askingAlpha(directory),
    REINS_EXECUTOR: testExecutor,
    REINS_ALLOW_LOCAL_REPOSITORIES: "true"
  }
  const server = await startServer({ dataDir, env })
  const caller = await newCaller(server, dataDir, gateway, env)
  at = { url: server.url, apiKey: caller.apiKey, client: caller.at(server), project: makeProject(directory) }
})
afterAll(endAssistants)

/** A program that speaks with Reins for a person. In 2025 a request over HTTP cannot ask the person, who then lets the program decide. */
const programs: Readonly<Record<Era, { readonly query: string; readonly options: AssistantOptions }>> = {
  "2025": { query: "?unattended=true", options: { era: "2025" } },
  "2026": {
    query: "",
    options: { era: "2026", person: (message) => (message.startsWith("An agent asks") ? "allow" : "deliver") }
  }
}

/** Waits as a model does, until the turn has ended or the agent asks. */
const follow = async ({ call }: Assistant, session_id: string, from = 0): Promise<Fields> => {
  const said: Array<string> = []
  for (let after = from; ; ) {
    const seen = await call("wait", { session_id, after, seconds: 40 })
    said.push(seen.said)
    after = seen.next_after
    if (seen.ended || seen.questions.length > 0) return { ...seen, said: said.join("\n") }
  }
}

for (const era of ["2025", "2026"] as const)
  it(`an assistant of ${era} has the real agent of alpha work over /mcp, answers it, reads its diff and delivers`, async () => {
    const { options, query } = programs[era]
    const allow: { id?: string } = {}
    const person = options.person
    const assistant = await openAssistant(overHttp(at.url, at.apiKey, query), {
      ...options,
      ...(person && { person: (message) => (person(message) === "allow" ? allow.id : "deliver") })
    })
    const { session_id } = await assistant.call("start_session", {
      repository_url: at.project.remote,
      provider_id: "alpha",
      model: "scripted-1",
      request_key: `start-${era}`,
      message: script(
        "Make the file.",
        { say: "I make it.", tool: "bash", cmd: `echo ${era} > made.txt` },
        { say: "It is made." }
      )
    })

    const asking = await follow(assistant, session_id)
    const [question] = asking.questions
    assert.isFalse(asking.ended)
    allow.id = question?.options.find(({ kind }) => kind === "allow_once")?.id ?? assert.fail(JSON.stringify(asking))
    // A program that decides by itself names what it has seen.
    const answered = {
      ...{ session_id, interaction_id: question?.interaction_id, option: allow.id },
      ...(person === undefined && { digest: question?.digest })
    }
    assert.strictEqual((await assistant.call("answer", answered)).state, "answered")

    const end = await follow(assistant, session_id)
    assert.strictEqual(end.turn.state, "succeeded", JSON.stringify(end))
    assert.match(end.said, /I make it\.[\s\S]*\[execute\] .*: done[\s\S]*It is made\./)
    assert.deepInclude(end.changeset, { files: 1, additions: 1 })
    const changeset_id = end.changeset.id
    assert.include((await assistant.call("read_diff", { changeset_id })).diff, `+${era}`)
    assert.strictEqual((await assistant.call("read_file", { session_id, path: "made.txt" })).content, `${era}\n`)

    const branch = `by-assistant-${era}`
    let delivered = await assistant.call("deliver", { changeset_id, branch })
    while (delivered.state === "executing") delivered = await assistant.call("deliver", { changeset_id, branch })
    assert.deepInclude(delivered, { state: "succeeded", branch })
    assert.strictEqual(git(at.project.remote, "show", `${branch}:made.txt`), era)

    // The same conversation goes on, and the model has the first message before it.
    const next = await assistant.call("send_message", {
      session_id,
      message: script("Go on.", { say: "Once more." })
    })
    const { said } = await follow(assistant, session_id, next.after)
    assert.strictEqual(said.trim(), "Once more.")
    const [asked] = place.gateway.requests.filter(({ messages }) => messages.at(-1)?.text.includes("Go on."))
    assert.include(asked?.messages.map(({ text }) => text).join("\n") ?? "", "Make the file.")
    const { items } = await at.client.interactions.list({ session_id })
    assert.lengthOf(items, 1)
  }, 600_000)
