// One coding session from the outside, with nothing but the SDK: start it, talk to the agent, watch it work, read the diff, deliver it.
//
//   REINS_URL=http://127.0.0.1:4000 REINS_API_KEY=rk_... node session.mjs <project_id> "Add a test for the parser"
//
// The project says which repository and which agent; see README.md.

import { Reins, ReinsApiError, ReinsConnectionError, ReinsValidationError } from "@reins/client"

const fail = (message) => {
  console.error(message)
  process.exit(1)
}

const { REINS_API_KEY, REINS_URL } = process.env
const [projectId, task] = process.argv.slice(2)
if (!REINS_URL) fail("REINS_URL is missing. Set it to where the server is, such as http://127.0.0.1:4000.")
if (!/^https?:\/\//.test(REINS_URL)) fail("REINS_URL must be an http or https URL, such as http://127.0.0.1:4000.")
if (!REINS_API_KEY) fail("REINS_API_KEY is missing. Create a key with POST /api/api-keys, with the scope `write`.")
if (!projectId || !task) fail('Usage: node session.mjs <project_id> "<what the agent should do>"')

/** Prints what the agent says as it says it, and each tool that it has used. */
const show = (event) => {
  switch (event.type) {
    case "message.part_added":
    case "message.part_updated":
      if (event.payload.part.kind === "text") process.stdout.write(event.payload.part.content)
      break
    case "tool.completed":
      console.log(`\n[${event.payload.kind}] ${event.payload.title}: ${event.payload.state}`)
      break
  }
}

const main = async () => {
  const reins = new Reins({ baseUrl: REINS_URL, apiKey: REINS_API_KEY })

  // A session belongs to the workspace of its project and takes repository and agent from it.
  const project = await reins.projects.get({ project_id: projectId })
  const session = await reins.sessions.create({
    workspace_id: project.workspace_id,
    project_id: project.id,
    title: task.slice(0, 80)
  })
  console.log(`Session ${session.id} on ${project.name}`)

  // `run` sends the message, and its loop ends with the turn. It comes through lost connections and server restarts.
  const run = reins.run({ session_id: session.id, content: task })
  for await (const event of run) show(event)
  const { turn } = await run.final()
  if (turn.state !== "succeeded")
    fail(`\nThe turn ${turn.state}: ${turn.reason_message ?? turn.reason ?? "no reason was given"}`)

  // The same events can be read at any time, from any point of the log. This loop would go on for as long as the session lives.
  const { event_watermark } = await reins.sessions.get({ session_id: session.id })
  const counts = {}
  for await (const event of reins.sessions.stream({ session_id: session.id })) {
    counts[event.type] = (counts[event.type] ?? 0) + 1
    if (event.seq >= event_watermark) break
  }
  console.log("\n\nEvents:", counts)

  // A capture seals what the agent changed, so that what you read is what is delivered.
  const { changeset, operation } = await reins.sessions.capture({ session_id: session.id })
  const captured = await reins.jobs.wait(operation)
  if (captured.state !== "succeeded")
    fail(`The capture ${captured.state}: ${captured.error?.message ?? "no reason was given"}`)
  const { diff } = await reins.changesets.getDiff({ changeset_id: changeset.id })
  if (diff === "") return console.log("The agent changed nothing.")
  console.log(diff)

  // Without a transport of its own the delivery is made as the project says: a branch that is pushed, or a patch.
  const requested = await reins.changesets.deliver({ changeset_id: changeset.id, title: task.slice(0, 80) })
  await reins.jobs.wait(requested)
  const delivery = await reins.deliveries.get({ delivery_id: requested.delivery.id })
  if (delivery.state !== "succeeded")
    fail(`The delivery is ${delivery.state}: ${delivery.reason_message ?? delivery.reason}`)
  console.log(
    delivery.transport === "patch"
      ? "Delivered as a patch."
      : `Delivered to ${delivery.target_ref} as ${delivery.commit}`
  )
}

main().catch((error) => {
  if (error instanceof ReinsValidationError) fail(error.message)
  if (error instanceof ReinsConnectionError) fail(`${error.message}\nIs the server at ${REINS_URL} running?`)
  if (error instanceof ReinsApiError)
    fail(`${error.code} (HTTP ${error.status}): ${error.message}\nRequest ${error.requestId}`)
  throw error
})
