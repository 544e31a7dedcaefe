import type { Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert } from "vitest"
import { harness, type World } from "./World.js"

/** A delivered changeset with an open merge request. */
export const openRequest = async (
  world: World,
  given: {
    readonly title: string
    readonly files: Readonly<Record<string, string>>
    /** The repository on a forge, and the connection to it. */
    readonly url: string
    readonly connection: string
  }
) => {
  const { connection: connection_id, files, title, url } = given
  const caller = await world.caller()
  const client = caller.at(world.server)
  const { workspaceId: workspace_id } = caller
  const writes = Object.entries(files).map(([path, content]) => ({ tool: "write" as const, path, content }))
  const session = await client.sessions.create({
    workspace_id,
    harness,
    title,
    repository: { url },
    message: script(title, ...writes, { say: "It is written." })
  })
  await client.turns.wait(session)
  const { items } = await client.sessions.listChangesets({ session_id: session.id })
  const changeset_id = items[0]?.id ?? assert.fail("no changeset")
  const { delivery, operation } = await client.changesets.deliver({ changeset_id, title, connection_id })
  await client.jobs.wait(operation)
  const answer = await client.deliveries.openMergeRequest({ delivery_id: delivery.id, draft: false })
  await client.jobs.wait(answer.operation)
  const request = await client.mergeRequests.get({ merge_request_id: answer.merge_request.id })
  return { client, changeset_id, request, session_id: session.id, head: request.head_sha ?? "" }
}

export const lookNow = async (page: Page): Promise<void> => {
  const button = page.getByRole("button", { name: "Look now" })
  await button.click()
  await page.locator("button:not([disabled])", { hasText: "Look now" }).waitFor()
}
