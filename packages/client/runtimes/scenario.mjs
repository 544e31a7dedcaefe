/**
 * A walk through all that a client does with its surroundings: requests with keys and retries, lists, errors, streams that are cut, signals, and
 * the proof of a webhook, as text and as bytes, from the headers of `fetch`.
 * Gives back what it saw, as plain data.
 */
export const walk = async (client, baseUrl) => {
  const reins = new client.Reins({ baseUrl, apiKey: "rk_runtime" })
  const session = await reins.sessions.create({ workspace_id: "wsp_1", title: "é😀" })

  const listed = []
  for await (const { id } of reins.sessions.list({ workspace_id: "wsp_1" })) listed.push(id)

  const refused = await reins.sessions.get({ session_id: "sess_gone" }).catch((error) => error)

  const seqs = []
  for await (const event of reins.sessions.stream({ session_id: session.id })) {
    seqs.push(event.seq)
    if (event.type === "turn.succeeded") break
  }

  const run = reins.run({ session_id: session.id, content: "Hello." })
  const types = []
  for await (const event of run) types.push(event.type)
  const text = await run.text()

  const controller = new AbortController()
  const silent = reins.sessions.stream({ session_id: "sess_silent" }, { signal: controller.signal })
  const next = silent.next().catch((reason) => reason)
  controller.abort("enough")

  const delivered = []
  for (const read of ["text", "bytes"]) {
    const request = await fetch(`${baseUrl}/delivery`)
    const body = read === "text" ? await request.text() : new Uint8Array(await request.arrayBuffer())
    const { data } = await client.webhooks.verify(body, request.headers, request.headers.get("x-secret"))
    const forged = await client.webhooks
      .verify("{}", request.headers, request.headers.get("x-secret"))
      .catch((error) => error)
    delivered.push(data.payload.text, forged instanceof client.WebhookVerificationError)
  }

  return {
    delivered,
    session: session.title,
    listed,
    refused: {
      isApiError: refused instanceof client.ReinsApiError,
      code: refused.code,
      status: refused.status,
      details: refused.details,
      requestId: refused.requestId
    },
    seqs,
    types,
    text,
    aborted: await next
  }
}
