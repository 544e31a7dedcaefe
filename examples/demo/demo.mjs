#!/usr/bin/env node
// The main job of Reins in front of you: from a message to a pushed branch and its merge, on the real agent. `-- --keep` leaves the server up.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Reins } from "@reins/client"
import { addCiTest, startForge } from "./forge.mjs"
import { untilMerged } from "./loop.mjs"
import { bold, diff, dim, eventPrinter, green, line, step, summary } from "./terminal.mjs"
import { browserFetch, chooseGateway, makeRemote, runProjectTest, startServer, tokenFromOutbox } from "./world.mjs"

const keep = process.argv.includes("--keep")
const directory = mkdtempSync(join(tmpdir(), "reins-demo-"))
const dataDir = join(directory, "data")
const undo = [() => rmSync(directory, { recursive: true, force: true })]
const cleanUp = async () => {
  for (const work of undo.splice(0).reverse()) await work()
}

/** Ctrl-C in the midst leaves nothing behind either. */
let isStopped = false
const stopEarly = () => {
  isStopped = true
  line("\nThe demo ends, and removes what it has made.")
  void cleanUp().finally(() => process.exit(130))
}
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stopEarly)

const openAccount = async (url) => {
  const person = new Reins({ baseUrl: url, fetch: browserFetch() })
  const email = "you@example.com"
  const password = crypto.randomUUID()
  await person.accounts.register({ email, password, display_name: "You" })
  await person.accounts.verifyEmail({ token: await tokenFromOutbox(dataDir) })
  await person.accounts.login({ email, password })
  const key = await person.apiKeys.create({ name: "demo", scopes: ["admin"] })
  const { workspaces } = await person.accounts.getMe()
  line(
    `  registered ${email}, verified it with the mail in the outbox, logged in, made the API key ${key.prefix}...${key.last4}`
  )
  return { apiKey: key.secret, workspaceId: workspaces[0].id }
}

const main = async () => {
  line(bold("Reins: one API for every coding agent"))
  const { forge, remote } = await step("A small forge with a project whose test fails", async () => {
    const made = makeRemote(directory)
    const before = runProjectTest(join(directory, "project"))
    const started = await startForge(made.url)
    undo.push(() => started.close())
    line(`  ${started.repository}`)
    for (const row of before.output) line(dim(`  ${row.trim()}`))
    if (before.passed) throw new Error("the test of the project should fail before the work")
    return { forge: started, remote: made }
  })

  const gateway = await chooseGateway()
  undo.push(() => gateway.close())
  line(
    gateway.scripted
      ? `\n${bold("The language model is scripted.")} The agent, the server, git and everything else are real. To use a real model, set\nREINS_DEMO_BASE_URL, REINS_DEMO_API_KEY and REINS_DEMO_MODEL (an OpenAI-compatible chat gateway).`
      : `\nThe language model is ${bold(gateway.model)} at ${gateway.url}.`
  )

  const server = await step("The server, on a free port with its own SQLite data directory", async () => {
    const started = await startServer(dataDir, [new URL(gateway.url).host, new URL(forge.url).host])
    undo.push(() => started.stop())
    line(`  ${started.url}`)
    return started
  })

  const { apiKey, workspaceId } = await step("An account and an API key", () => openAccount(server.url))
  const reins = new Reins({ baseUrl: server.url, apiKey })

  const session = await step("Connections, a project with a published version, and a session", async () => {
    await reins.connections.create({
      workspace_id: workspaceId,
      kind: "alpha_gateway",
      label: "demo gateway",
      credential: { base_url: gateway.url, api_key: gateway.apiKey }
    })
    const connection = await reins.connections.create({
      workspace_id: workspaceId,
      kind: "gitea",
      label: "demo forge",
      credential: { base_url: forge.url, token: forge.token }
    })
    const hook = await reins.hooks.create({ workspace_id: workspaceId, kind: "gitea", label: "demo forge" })
    forge.callHook({ url: `${server.url}${hook.path}`, secret: hook.secret })
    const project = await reins.projects.create({ workspace_id: workspaceId, slug: "cart", name: "Cart" })
    const version = await reins.projects.publish({
      project_id: project.id,
      spec: {
        repository: { url: forge.repository, base_ref: "main" },
        harness: { provider_id: "alpha", model: gateway.model },
        connection_ids: [connection.id],
        // A red check gets a turn, and the merge request is merged once all of them are green.
        delivery: { care: { checks: "fix" }, merge_conditions: { checks: "all" } }
      }
    })
    const created = await reins.sessions.create({
      workspace_id: workspaceId,
      project_id: project.id,
      title: "Count every piece of an item"
    })
    line(`  project ${project.slug} version ${version.ordinal}, session ${created.id}`)
    return created
  })

  await step("A message, and the real agent at work (events as they are streamed)", async () => {
    const run = reins.run({
      session_id: session.id,
      content: "The test of this project fails. Find out why and make it pass."
    })
    const print = eventPrinter()
    for await (const event of run) print(event)
    const { turn } = await run.final()
    if (turn.state !== "succeeded") throw new Error(`the turn ended ${turn.state}: ${turn.reason_message}`)
  })

  const changeset = await step("The sealed changeset", async () => {
    const {
      items: [captured]
    } = await reins.sessions.listChangesets({ session_id: session.id })
    const view = await reins.changesets.getDiff({ changeset_id: captured.id })
    line(`  ${captured.id} ${dim(view.subject_digest)}`)
    diff(view.diff)
    return captured
  })

  const delivered = await step("The delivery, and the proof on the remote", async () => {
    const requested = await reins.changesets.deliver({ changeset_id: changeset.id })
    await reins.jobs.wait({ job_id: requested.operation.job_id })
    const delivery = await reins.deliveries.get({ delivery_id: requested.delivery.id })
    for (const { kind, outcome } of delivery.steps) line(`  ${kind} ${outcome}`)
    if (delivery.state !== "succeeded")
      throw new Error(`the delivery ended ${delivery.state}: ${delivery.reason_message}`)
    line(`  branch ${delivery.target_ref}`)
    const checkout = join(directory, "proof")
    remote.clone(delivery.target_ref, checkout)
    const after = runProjectTest(checkout)
    for (const row of after.output) line(dim(`  ${row.trim()}`))
    if (!after.passed) throw new Error("the test still fails on the delivered branch")
    line(green("  the project's test passes on the delivered branch"))
    return delivery
  })

  await step("The merge request: red in the CI, a turn of care, green, merged", async () => {
    await untilMerged(reins, { deliveryId: delivered.id, sessionId: session.id })
    const checkout = join(directory, "merged")
    remote.clone("main", checkout)
    addCiTest(checkout)
    const after = runProjectTest(checkout)
    for (const row of after.output) line(dim(`  ${row.trim()}`))
    if (!after.passed) throw new Error("a test fails on main after the merge")
    line(green("  main has the fix, and passes the test of the CI too"))
  })

  await step("A delegation: the agent gives work to another agent, in a session of its own", async () => {
    const run = reins.run({
      session_id: session.id,
      content: "Have another agent write notes on this project, wait for it, and read its changes."
    })
    const print = eventPrinter()
    for await (const event of run) print(event)
    const { turn } = await run.final()
    if (turn.state !== "succeeded") throw new Error(`the turn ended ${turn.state}: ${turn.reason_message}`)
    const { items } = await reins.sessions.listDelegations({ session_id: session.id })
    for (const { child_session_id, role, state } of items) {
      line(`  ${role} ${state}, session ${child_session_id}`)
      const changesets = await reins.sessions.listChangesets({ session_id: child_session_id })
      for (const { id } of changesets.items) diff((await reins.changesets.getDiff({ changeset_id: id })).diff)
    }
    if (!items.some(({ state }) => state === "succeeded")) throw new Error("no delegation has succeeded")
  })

  summary()
  line(`\n${bold("What to try next")}`)
  line("  npm run demo -- --keep   leaves this server up, with its address and an API key")
  line("  npm start                serves on http://127.0.0.1:7117 with its own data")
  line("  examples/sdk             the same in your own program;  examples/embed  without any server")
  if (keep) {
    line(`\n${bold("The server stays up")}: ${server.url}   Ctrl-C ends it and removes its data.`)
    line(`  export REINS_URL=${server.url} REINS_API_KEY=${apiKey}`)
    line('  curl -H "Authorization: Bearer $REINS_API_KEY" $REINS_URL/api/me')
    await new Promise((resolve) => {
      for (const signal of ["SIGINT", "SIGTERM"]) process.off(signal, stopEarly).once(signal, resolve)
    })
  }
}

try {
  await main()
} catch (error) {
  // What was stopped in the midst has failed for no other reason.
  if (!isStopped) line(`\nThe demo stopped: ${error.message}`)
  process.exitCode = 1
} finally {
  await cleanUp()
}
