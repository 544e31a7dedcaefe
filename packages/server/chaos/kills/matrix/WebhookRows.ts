import http from "node:http"
import type { AddressInfo } from "node:net"
import { webhooks } from "@reins/client"
import { assert } from "vitest"
import type { Installation } from "../Installation.js"
import { newSession } from "../Scenes.js"
import type { Row } from "./Row.js"

/** A receiver that proves what it is sent, and answers with a status. */
const startReceiver = async (status: number) => {
  const receiver = { secret: "", seqs: [] as Array<number>, url: "", close: async () => {} }
  const server = http.createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    const { data } = await webhooks.verify(Buffer.concat(chunks), request.headers, receiver.secret)
    if ("seq" in data) receiver.seqs.push(data.seq)
    response.writeHead(status).end()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  receiver.close = () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return receiver
}

/** Makes an endpoint for what happens to one new session, and removes it afterwards: it would pass the points of the next row. */
const withEndpoint = async (
  { api, workspaceId }: Installation,
  sessionId: string,
  status: number,
  use: (endpointId: string, receiver: Awaited<ReturnType<typeof startReceiver>>) => Promise<void>
): Promise<void> => {
  const receiver = await startReceiver(status)
  const label = `only=${sessionId}`
  await api.sessions.update({ session_id: sessionId, labels: { only: sessionId } })
  const endpoint = await api.webhooks.createEndpoint({
    workspace_id: workspaceId,
    url: receiver.url,
    label,
    types: ["session.updated"]
  })
  receiver.secret = endpoint.secret
  try {
    await use(endpoint.id, receiver)
  } finally {
    await api.webhooks.removeEndpoint({ webhook_endpoint_id: endpoint.id })
    await receiver.close()
  }
}

/** Changes a label so many times, and gives the `seq` of the events. The title stays, because the audit knows the session by it. */
const relabel = async ({ api }: Installation, session_id: string, count: number): Promise<ReadonlyArray<number>> => {
  const { event_watermark: before } = await api.sessions.get({ session_id })
  for (let index = 0; index < count; index++)
    await api.sessions.update({ session_id, labels: { only: session_id, change: `${index}` } })
  return Array.from({ length: count }, (_, index) => before + index + 1)
}

/** Once but where the receiver took it and nobody lived to write that down: then the one delivery comes again. */
export const eventsArrive = (times: 1 | 2): Row => ({
  rule:
    times === 1
      ? "the events of a session arrive at a webhook endpoint once, in their order"
      : "a delivery that was taken before the kill comes again, before the next of its session",
  play: async (installation, crash) => {
    const session = await newSession(installation)
    await withEndpoint(installation, session.id, 204, async (webhook_endpoint_id, receiver) => {
      const seqs = await crash(() => relabel(installation, session.id, 3))
      await installation.until(async () => {
        const { items } = await installation.api.webhooks.listDeliveries({ webhook_endpoint_id, state: "succeeded" })
        return items.length === 3
      }, "the deliveries to get through")
      const [first = 0] = seqs
      assert.deepStrictEqual(receiver.seqs, times === 1 ? seqs : [first, ...seqs])
      const { items } = await installation.api.webhooks.listDeliveries({ webhook_endpoint_id })
      assert.deepStrictEqual(
        items.map(({ attempt_count }) => attempt_count),
        [1, 1, 1]
      )
    })
  }
})

export const endpointIsDisabledOnce: Row = {
  rule: "an endpoint that is gone is disabled, its owner is told by one mail, and what waits is kept",
  play: async (installation, crash) => {
    const { account } = await installation.api.accounts.getMe()
    const mails = () => installation.mail.mails.filter(({ to }) => to.includes(account.email))
    const before = mails().length
    const session = await newSession(installation)
    await withEndpoint(installation, session.id, 410, async (webhook_endpoint_id) => {
      await crash(() => relabel(installation, session.id, 1))
      const endpoint = () => installation.api.webhooks.getEndpoint({ webhook_endpoint_id })
      await installation.until(async () => (await endpoint()).state === "disabled", "the endpoint to be disabled")
      await installation.settled()
      assert.deepInclude(await endpoint(), { disabled_reason: "gone", pending: 1 })
      assert.lengthOf(mails(), before + 1)
    })
  }
}
