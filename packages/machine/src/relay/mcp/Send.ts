import type { ServerResponse } from "node:http"

/** The time after which the headers go ahead of an answer that is not there yet. */
const headersMs = 100

/**
 * Sends an answer. Each write costs a call of the kernel, so pieces of one moment go in one. The first has the headers, and the last the end.
 * Node 22 and 24 lose pieces of a response that is corked twice, so they are gathered here. Fails when the answer breaks off.
 */
export const sendAnswer = async (answer: Response, response: ServerResponse): Promise<void> => {
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  const late = setTimeout(() => response.flushHeaders(), headersMs)
  let gathered: Array<Uint8Array> = []
  const taken = (): Buffer => {
    const whole = Buffer.concat(gathered)
    gathered = []
    return whole
  }
  const write = () => {
    if (gathered.length > 0 && !response.destroyed) response.write(taken())
  }
  try {
    for await (const piece of answer.body ?? []) {
      if (response.destroyed) return
      gathered.push(piece)
      if (gathered.length === 1) setImmediate(write)
    }
    if (!response.destroyed) response.end(taken())
  } finally {
    clearTimeout(late)
  }
}
