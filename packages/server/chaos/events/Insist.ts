import type { Source } from "./EventReaders.js"

/** Sends a change until it is answered, always with the same key: it is made once, however often the server dies at it. */
export const insist = async (source: Source, method: string, path: string, body: object): Promise<void> => {
  const key = crypto.randomUUID()
  for (;;) {
    const response = await fetch(`${source.baseUrl}/api/sessions/${source.sessionId}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${source.apiKey}`,
        "content-type": "application/json",
        "idempotency-key": key
      },
      body: JSON.stringify(body)
    }).catch(() => undefined)
    const text = await response?.text().catch(() => undefined)
    if (response?.ok === true && text !== undefined) return
    if (response !== undefined && response.status !== 409 && response.status < 500 && text !== undefined)
      throw new Error(`${method} ${path}: ${response.status} ${text}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
